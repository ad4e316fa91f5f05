"""A program that uses the API."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.test import Client

from backend.accounts import actions
from backend.accounts.permissions import Role, Scope
from backend.cast import Member
from backend.runs.tests.factories import NOW

ALL = frozenset(Scope)
PROBLEM = "application/problem+json"


def make_token(member: Member, *scopes: Scope, role: Role = Role.ADMIN) -> str:
    """The secret of a token, for all scopes unless some are named."""
    wanted = actions.NewToken(name="CI", role=role, scopes=frozenset(scopes) or ALL, life=timedelta(days=1))
    return actions.create_token(actor=member.user, organisation=member.organisation, wanted=wanted).secret


def at(seconds_ago: int) -> str:
    """An instant before NOW, as it stands in an address."""
    return quote((NOW - timedelta(seconds=seconds_ago)).isoformat())


class Program:
    """Calls the API with a token; `body` is sent as JSON."""

    def __init__(self, secret: str | None = None, client: Client | None = None) -> None:
        self.client = client or Client(raise_request_exception=False)
        self.headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """The answer. A header's underscores stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        where = path if path.startswith("/") else f"/api/v1/{path}"
        return self.client.generic(method, where, data, "application/json", headers=self.headers | named)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)


def problem_of(response: Any) -> dict[str, Any]:
    """The problem that an answer is."""
    assert response.headers["Content-Type"] == PROBLEM, (response.status_code, response.content[:300])
    found: dict[str, Any] = response.json()
    assert found["status"] == response.status_code
    return found
