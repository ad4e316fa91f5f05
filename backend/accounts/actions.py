"""What changes people and organisations."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.text import slugify

from backend.accounts.audit import record
from backend.accounts.models import ApiToken, Membership, Organisation, Theme, User
from backend.accounts.permissions import Role, Scope
from backend.accounts.room import hold
from backend.accounts.tokens import digest, new_secret, shown_prefix
from backend.as_it_is import as_it_is
from backend.faults import FieldFaultError
from backend.texts import is_one_line

# 62 ** 20 is 119 bits: not to be guessed, and short enough to be typed once.
PASSWORD_CHARS = 20
MAX_MEMBERS = 1_000
# One for each program that uses the API; what one page can still show.
MAX_TOKENS = 100
LONGEST_TOKEN_LIFE = timedelta(days=366)
# Last use is for people who look for tokens nobody uses: to the minute is enough, and spares most requests a write.
USE_NOTED_AFTER = timedelta(minutes=1)


class LastOwnerError(ValueError):
    """An organisation without an owner could never be given one again."""

    def __init__(self) -> None:
        super().__init__("An organisation needs an owner. Make somebody else owner first.")


class MemberError(ValueError):
    """Nobody can be added so; the text is a sentence for people."""


class AlreadyMemberError(MemberError):
    """The address is a member already."""


class UnprovedError(MemberError):
    """There is an account with the address, and nothing shows that it is its owner's.

    Another organisation's admin may have made it and know its password: who made it would come in with it.
    """

    def __init__(self, email: str) -> None:
        super().__init__(
            f"{email} has an account already, which another organisation has made. Ask them to choose a new password by"
            " “Forgot your password?” on the sign-in page, and add them then: so it is sure that it is theirs."
        )


class ProfileError(FieldFaultError):
    """A person cannot be called so."""


class TokenError(ValueError):
    """No token can be made so; the text is a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """What a new token shall be good for."""

    name: str
    role: Role
    scopes: frozenset[Scope]
    life: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeToken:
    """A token and its secret, which nobody can be told again."""

    token: ApiToken
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """A new member. `password` is there once, when the account is new; None when the person had one already."""

    membership: Membership
    password: str | None


@transaction.atomic
def create_organisation(*, actor: User | None, name: str) -> Organisation:
    """An organisation, or the one that has this name's slug already."""
    slug = slugify(name)[:60] or "organisation"
    organisation, created = Organisation.objects.get_or_create(slug=slug, defaults={"name": name})
    if created:
        record("create_organisation", organisation, actor=actor, organisation=organisation)
    return organisation


@transaction.atomic
def add_member(*, actor: User | None, organisation: Organisation, email: str, role: Role) -> Invited:
    """Makes a person a member, and an account for them if they have none. Raises MemberError.

    An account that was there must have been proved to be its address's.
    """
    hold(organisation)
    if organisation.memberships.count() >= MAX_MEMBERS:
        raise MemberError(f"There are {MAX_MEMBERS} members; no more can be added.")
    user = User.objects.filter(email=email.lower()).first()
    if user is not None and organisation.memberships.filter(user=user).exists():
        raise AlreadyMemberError(f"{user.email} is a member already.")
    if user is not None and user.proved_at is None:
        raise UnprovedError(user.email)
    password = None if user else get_random_string(PASSWORD_CHARS)
    user = user or _new_user(email, password)
    membership = Membership.objects.create(user=user, organisation=organisation, role=role)
    record("add_member", membership, actor=actor, organisation=organisation, email=user.email, role=role.value)
    return Invited(membership=membership, password=password)


@transaction.atomic
def change_role(*, actor: User, membership: Membership, role: Role) -> Membership:
    """Gives a member another role. Raises LastOwnerError."""
    _keep_an_owner(membership, leaving=role is not Role.OWNER)
    membership = as_it_is(membership, "user", "organisation")
    before, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    detail = {"email": membership.user.email, "before": before, "after": role.value}
    record("change_role", membership, actor=actor, organisation=membership.organisation, **detail)
    return membership


@transaction.atomic
def remove_member(*, actor: User, membership: Membership) -> None:
    """Ends a membership; the account stays, it may belong to others. Raises LastOwnerError."""
    _keep_an_owner(membership, leaving=True)
    record("remove_member", membership, actor=actor, organisation=membership.organisation, email=membership.user.email)
    membership.delete()


@transaction.atomic
def create_token(*, actor: User | None, organisation: Organisation, wanted: NewToken) -> MadeToken:
    """A token for the API. Raises TokenError."""
    now = timezone.now()
    hold(organisation)
    _check_token(organisation, wanted)
    secret = new_secret()
    token = ApiToken.objects.create(
        organisation=organisation,
        name=wanted.name,
        prefix=shown_prefix(secret),
        digest=digest(secret),
        role=wanted.role,
        scopes=sorted(wanted.scopes),
        created_by=actor,
        created_at=now,
        expires_at=now + wanted.life,
    )
    record("create_token", token, actor=actor, organisation=organisation, name=token.name, scopes=token.scopes)
    return MadeToken(token=token, secret=secret)


@transaction.atomic
def revoke_token(*, actor: User | None, token: ApiToken) -> None:
    """Ends a token: the next request with it is refused."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        record("revoke_token", token, actor=actor, organisation=token.organisation, name=token.name)


def note_token_use(token: ApiToken, *, address: str | None, now: datetime) -> None:
    """When and from where a token was last used, to the minute. At most one statement."""
    if token.last_used_at is not None and now - token.last_used_at < USE_NOTED_AFTER:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_NOTED_AFTER)
    ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now, last_used_ip=address)


def forget_sessions(*, now: datetime) -> int:
    """Removes sessions that have expired; how many."""
    deleted, _ = Session.objects.filter(expire_date__lt=now).delete()
    return deleted


def change_profile(*, actor: User, name: str, time_zone: str) -> None:
    """What a person says of themselves. Raises ProfileError."""
    if not is_one_line(name):
        raise ProfileError("name", "The name must be one line without control characters.")
    User.objects.filter(pk=actor.pk).update(name=name, time_zone=time_zone)


def choose_theme(*, actor: User, theme: Theme) -> None:
    """A person's own taste: no audit."""
    User.objects.filter(pk=actor.pk).update(theme=theme)


def _new_user(email: str, password: str | None) -> User:
    """Raises UnprovedError where another organisation makes the account at this moment."""
    try:
        with transaction.atomic():
            return User.objects.create_user(email, password)
    except IntegrityError:
        raise UnprovedError(email.lower()) from None


def _keep_an_owner(membership: Membership, *, leaving: bool) -> None:
    # Locked, so that two owners cannot leave at once, each relying on the other.
    owners = membership.organisation.memberships.select_for_update().filter(role=Role.OWNER)
    if leaving and list(owners.values_list("pk", flat=True)) == [membership.pk]:
        raise LastOwnerError


def _check_token(organisation: Organisation, wanted: NewToken) -> None:
    if not wanted.name.strip():
        raise TokenError("Give the token a name: what will use it.")
    if not is_one_line(wanted.name):
        raise TokenError("The name of a token must be one line without control characters.")
    if not wanted.scopes:
        raise TokenError("Choose what the token is for.")
    if wanted.role is Role.OWNER:
        raise TokenError("A token cannot own an organisation; choose another role.")
    if not timedelta(0) < wanted.life <= LONGEST_TOKEN_LIFE:
        raise TokenError(f"A token lives at most {LONGEST_TOKEN_LIFE.days} days.")
    if organisation.tokens.filter(revoked_at=None).count() >= MAX_TOKENS:
        raise TokenError(f"There are {MAX_TOKENS} tokens; revoke one that is not used.")
