"""Who asks, and whether they may: a token's program, or a person who is signed in."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from backend.accounts.actions import note_token_use
from backend.accounts.client_address import client_address
from backend.accounts.models import ApiToken, Organisation, User
from backend.accounts.permissions import Permission, Scope, check
from backend.accounts.queries import membership_at, token_by_secret
from backend.api.v1.limits import Policy, Standing, take
from backend.api.v1.problems import CSRF, FORBIDDEN, SCOPE_MISSING, UNAUTHENTICATED, ProblemError
from backend.safe_methods import SAFE_METHODS

if TYPE_CHECKING:
    from ninja.security.base import SecuritySchema

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks. `actor` is whom an act is put down to: the person, or who made the token. `key` names either."""

    key: str
    organisation: Organisation
    role: str
    actor: User | None
    token: ApiToken | None = None

    def has_any(self, scopes: Sequence[Scope]) -> bool:
        """A person has every scope: their role alone decides."""
        return self.token is None or any(scope in self.token.scopes for scope in scopes)


class ApiRequest(HttpRequest):
    """What a route sees. `out` are headers for the answer, `standings` what is left of the limits that count it."""

    caller: Caller
    request_id: str
    out: dict[str, str]
    standings: list[Standing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a route asks of its caller. One of the scopes is enough."""

    scopes: tuple[Scope, ...]
    permission: Permission
    policy: Policy | None = field(default=None)


class Bearer(AuthBase):
    """The `auth` of every route; made by `needs`. The door has found out who asks before this is called."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_security_schema: "SecuritySchema"

    def __init__(self, need: Need) -> None:
        super().__init__()
        self.need = need

    def __call__(self, request: HttpRequest) -> Caller:
        asked = cast(ApiRequest, request)
        _check(asked.caller, self.need)
        if self.need.policy is not None:
            asked.standings.append(take(self.need.policy, asked.caller))
        return asked.caller


def needs(*scopes: Scope, permission: Permission = Permission.READ, policy: Policy | None = None) -> Any:
    """The `auth=` of a route: any of the scopes, the permission, and a limit of its own beside the usual one."""
    return Bearer(Need(scopes=scopes, permission=permission, policy=policy))


# Of rules, incidents and what keeps them quiet.
READ_ALERTS = needs(Scope.READ, Scope.ALERTS)
CHANGE_ALERTS = needs(Scope.ALERTS, permission=Permission.EDIT_ALERTS)


def identify(request: HttpRequest) -> Caller:
    """Who asks. Raises ProblemError for nobody. A token goes before a session, so that a mistake in it is told."""
    given = request.headers.get("Authorization")
    return _person(request) if given is None else _program(request, given)


def _program(request: HttpRequest, given: str) -> Caller:
    scheme, _, secret = given.partition(" ")
    now = timezone.now()
    token = token_by_secret(secret.strip(), now=now) if scheme.lower() == "bearer" else None
    if token is None:
        raise ProblemError(
            UNAUTHENTICATED,
            "The token is unknown, revoked or has expired. An admin makes tokens on the page Tokens.",
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )
    note_token_use(token, address=client_address(request), now=now)
    return Caller(
        key=f"token:{token.pk}",
        organisation=token.organisation,
        role=token.role,
        actor=token.created_by,
        token=token,
    )


def _person(request: HttpRequest) -> Caller:
    if not isinstance(request.user, User):
        raise ProblemError(
            UNAUTHENTICATED,
            "Send `Authorization: Bearer` with a token. An admin makes tokens on the page Tokens.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    membership = membership_at(request)
    if membership is None:
        raise ProblemError(FORBIDDEN, "You belong to no organisation. Ask an owner or admin to make you a member.")
    if request.method not in SAFE_METHODS and check_csrf(request) is not None:
        raise ProblemError(CSRF)
    return Caller(
        # One person may work in several organisations; what they asked for in one is none of another's.
        key=f"user:{membership.user_id}:{membership.organisation_id}",
        organisation=membership.organisation,
        role=membership.role,
        actor=request.user,
    )


def _check(caller: Caller, need: Need) -> None:
    if not caller.has_any(need.scopes):
        wanted = " or ".join(f"`{scope.value}`" for scope in need.scopes)
        raise ProblemError(SCOPE_MISSING, f"This needs a token with the scope {wanted}.")
    try:
        check(caller.role, need.permission, whose="Your role" if caller.token is None else "The role of this token")
    except PermissionDenied as error:
        raise ProblemError(FORBIDDEN, str(error)) from error
