"""Who asks: the first call of every new client."""

from datetime import datetime
from uuid import UUID

from ninja import Router

from backend.accounts.models import ApiToken
from backend.accounts.permissions import Permission, Scope, allows
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.shapes import Out

router = Router(tags=["Me"])


class Organisation(Out):
    id: UUID
    name: str
    slug: str
    created_at: datetime


class Token(Out):
    """The token that was sent; its secret is never told again."""

    id: UUID
    name: str
    prefix: str
    scopes: list[Scope]
    expires_at: datetime


class Me(Out):
    """`token` is null and `email` set for a person with a session; for a token it is the other way round."""

    organisation: Organisation
    role: str
    permissions: list[Permission]
    email: str | None
    token: Token | None


@router.get("/me", auth=needs(*Scope), response=Me)
def get_me(request: ApiRequest) -> Me:
    """Who asks, in which organisation, and what they may. Any scope is enough."""
    caller = request.caller
    home = caller.organisation
    return Me(
        organisation=Organisation(id=home.public_id, name=home.name, slug=home.slug, created_at=home.created_at),
        role=caller.role,
        permissions=[permission for permission in Permission if allows(caller.role, permission)],
        email=caller.actor.email if caller.token is None and caller.actor is not None else None,
        token=None if caller.token is None else _token(caller.token),
    )


def _token(token: ApiToken) -> Token:
    return Token(
        id=token.public_id,
        name=token.name,
        prefix=token.prefix,
        scopes=[Scope(scope) for scope in token.scopes],
        expires_at=token.expires_at,
    )
