"""The cast of the tests: alice owns, bob is a member, vera only looks, charlie belongs to another organisation."""

from dataclasses import dataclass

from backend.accounts.models import Membership, Organisation, User
from backend.accounts.permissions import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A person of the cast, and where they belong."""

    user: User
    organisation: Organisation
    membership: Membership


def join(name: str, role: Role, organisation: str) -> Member:
    """A member of the organisation, made when it is missing. Tests sign in with `client.force_login(member.user)`."""
    home, _ = Organisation.objects.get_or_create(slug=organisation, defaults={"name": organisation.title()})
    user = User.objects.create_user(f"{name}@{organisation}.example", name=name.title())
    return Member(
        user=user, organisation=home, membership=Membership.objects.create(user=user, organisation=home, role=role)
    )
