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


# Recovery codes are no factor of their own: they stand in for these.
_FACTORS = {Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passkey:
    """What its owner calls it, since when it opens, and when it last did; None for never."""

    pk: int
    name: str
    since: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactor:
    """Since when a person is asked for codes of an app, None for never; their passkeys, the oldest first; and how many
    recovery codes are left.
    """

    app_since: datetime | None
    passkeys: tuple[Passkey, ...]
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
    factors = Authenticator.objects.filter(user=OuterRef("user"), type__in=_FACTORS)
    found = organisation.memberships.select_related("user").annotate(has_second_factor=Exists(factors))
    return list(found.order_by("user__email"))


def second_factor_of(user: User) -> SecondFactor | None:
    """None for who signs in with the password alone. One statement, and no secret is opened."""
    found = list(Authenticator.objects.filter(user=user).order_by("created_at", "pk"))
    by_type = {one.type: one for one in found}
    if not _FACTORS & by_type.keys():
        return None
    app, codes = by_type.get(Authenticator.Type.TOTP), by_type.get(Authenticator.Type.RECOVERY_CODES)
    return SecondFactor(
        app_since=app.created_at if app else None,
        passkeys=tuple(_passkey(one) for one in found if one.type == Authenticator.Type.WEBAUTHN),
        codes_left=app_settings.RECOVERY_CODE_COUNT - int(codes.data["used_mask"]).bit_count() if codes else 0,
    )


def _passkey(factor: Authenticator) -> Passkey:
    return Passkey(pk=factor.pk, name=factor.data["name"], since=factor.created_at, last_used_at=factor.last_used_at)


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
