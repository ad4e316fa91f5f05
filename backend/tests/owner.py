"""A site owner's program: calls the API with a token, and runs the command line of a pipeline."""

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from backend.tests.whole import EMAIL, ROOT, Whole

_TOKEN = f"""
from datetime import timedelta
from backend.accounts.actions import NewToken, create_token
from backend.accounts.models import Membership
from backend.accounts.permissions import Role, Scope
member = Membership.objects.select_related("user", "organisation").get(user__email="{EMAIL}")
wanted = NewToken(name="pipeline", role=Role.ADMIN, scopes=frozenset(Scope), life=timedelta(days=1))
print(create_token(actor=member.user, organisation=member.organisation, wanted=wanted).secret)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """`ask` gives the JSON of an answer; what is no success raises HTTPError."""

    url: str
    token: str

    def ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid4())
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=90) as answer:
            return json.loads(answer.read())

    def firstbyte(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command as a pipeline runs it."""
        environment = {"PATH": os.environ["PATH"], "FIRSTBYTE_URL": self.url, "FIRSTBYTE_TOKEN": self.token}
        command = [sys.executable, "-m", "workers.cli", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


def owner_of(whole: Whole) -> Owner:
    return Owner(url=whole.url, token=whole.script(_TOKEN).splitlines()[-1])
