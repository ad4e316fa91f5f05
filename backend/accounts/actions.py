"""What changes people and organisations."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils.crypto import get_random_string
from django.utils.text import slugify

from backend.accounts.audit import record
from backend.accounts.models import Membership, Organisation, Theme, User
from backend.accounts.permissions import Role

# 62 ** 20 is 119 bits: not to be guessed, and short enough to be typed once.
PASSWORD_CHARS = 20
MAX_MEMBERS = 1_000


class LastOwnerError(ValueError):
    """An organisation without an owner could never be given one again."""

    def __init__(self) -> None:
        super().__init__("An organisation needs an owner. Make somebody else owner first.")


class MemberError(ValueError):
    """Nobody can be added so; the text is a sentence for people."""


class AlreadyMemberError(MemberError):
    """The address is a member already."""


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
    """Makes a person a member, and an account for them if they have none. Raises MemberError."""
    if organisation.memberships.count() >= MAX_MEMBERS:
        raise MemberError(f"There are {MAX_MEMBERS} members; no more can be added.")
    user = User.objects.filter(email=email.lower()).first()
    password = None if user else get_random_string(PASSWORD_CHARS)
    user = user or User.objects.create_user(email, password)
    membership, created = Membership.objects.get_or_create(
        user=user, organisation=organisation, defaults={"role": role}
    )
    if not created:
        raise AlreadyMemberError(f"{user.email} is a member already.")
    record("add_member", membership, actor=actor, organisation=organisation, email=user.email, role=role.value)
    return Invited(membership=membership, password=password)


@transaction.atomic
def change_role(*, actor: User, membership: Membership, role: Role) -> Membership:
    """Gives a member another role. Raises LastOwnerError."""
    _keep_an_owner(membership, leaving=role is not Role.OWNER)
    before, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    record(
        "change_role", membership, actor=actor, organisation=membership.organisation, before=before, after=role.value
    )
    return membership


@transaction.atomic
def remove_member(*, actor: User, membership: Membership) -> None:
    """Ends a membership; the account stays, it may belong to others. Raises LastOwnerError."""
    _keep_an_owner(membership, leaving=True)
    record("remove_member", membership, actor=actor, organisation=membership.organisation, email=membership.user.email)
    membership.delete()


def forget_sessions(*, now: datetime) -> int:
    """Removes sessions that have expired; how many."""
    deleted, _ = Session.objects.filter(expire_date__lt=now).delete()
    return deleted


def change_profile(*, actor: User, name: str, time_zone: str) -> None:
    """What a person says of themselves."""
    User.objects.filter(pk=actor.pk).update(name=name, time_zone=time_zone)


def choose_theme(*, actor: User, theme: Theme) -> None:
    """A person's own taste: no audit."""
    User.objects.filter(pk=actor.pk).update(theme=theme)


def _keep_an_owner(membership: Membership, *, leaving: bool) -> None:
    # Locked, so that two owners cannot leave at once, each relying on the other.
    owners = membership.organisation.memberships.select_for_update().filter(role=Role.OWNER)
    if leaving and list(owners.values_list("pk", flat=True)) == [membership.pk]:
        raise LastOwnerError
