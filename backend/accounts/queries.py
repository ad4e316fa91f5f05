"""What is read about people and organisations."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from backend.accounts.models import ApiToken, Membership, Organisation, User
from backend.accounts.tokens import digest, is_token

# The organisation that a person of several works in now; the session holds its public id.
SESSION_KEY = "organisation"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactor:
    """A person is asked for codes since then, and has so many recovery codes left."""

    since: datetime
    codes_left: int


def membership_at(request: HttpRequest) -> Membership | None:
    """The membership that somebody who is signed in acts with; None for who belongs to no organisation."""
    user = request.user
    return membership_of(user, _chosen(request)) if isinstance(user, User) else None


def membership_of(user: User, organisation_id: UUID | None) -> Membership | None:
    """The user's membership in the organisation, or in their first one when it is None or not theirs. One statement."""
    memberships = list(Membership.objects.filter(user=user).select_related("organisation", "user").order_by("pk"))
    chosen = (one for one in memberships if one.organisation.public_id == organisation_id)
    return next(chosen, memberships[0] if memberships else None)


def organisations_of(user: User) -> list[Organisation]:
    """Every organisation the user belongs to, by name."""
    return list(Organisation.objects.filter(memberships__user=user).order_by("name"))


def members(organisation: Organisation) -> list[Membership]:
    """The members with their users and `has_second_factor`, by address. One statement."""
    app = Authenticator.objects.filter(user=OuterRef("user"), type=Authenticator.Type.TOTP)
    found = organisation.memberships.select_related("user").annotate(has_second_factor=Exists(app))
    return list(found.order_by("user__email"))


def second_factor_of(user: User) -> SecondFactor | None:
    """None for who signs in with the password alone. One statement, and no secret is opened."""
    by_type = {one.type: one for one in Authenticator.objects.filter(user=user)}
    app = by_type.get(Authenticator.Type.TOTP)
    codes = by_type.get(Authenticator.Type.RECOVERY_CODES)
    if app is None:
        return None
    left = app_settings.RECOVERY_CODE_COUNT - int(codes.data["used_mask"]).bit_count() if codes else 0
    return SecondFactor(since=app.created_at, codes_left=left)


def token_by_secret(secret: str, *, now: datetime) -> ApiToken | None:
    """The valid token with this secret, with its organisation and maker. One statement, none for what is no token."""
    if not is_token(secret):
        return None
    valid = ApiToken.objects.filter(digest=digest(secret), revoked_at=None, expires_at__gt=now)
    return valid.select_related("organisation", "created_by").first()


def tokens(organisation: Organisation) -> list[ApiToken]:
    """Every token that was not revoked, also expired ones, the newest first."""
    kept = organisation.tokens.filter(revoked_at=None)
    return list(kept.select_related("created_by").order_by("-created_at", "-pk"))


def token(organisation: Organisation, public_id: UUID) -> ApiToken | None:
    """A token of the organisation that was not revoked."""
    return organisation.tokens.filter(revoked_at=None, public_id=public_id).select_related("organisation").first()


def _chosen(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.session.get(SESSION_KEY))
    except (TypeError, ValueError, AttributeError):
        return None
