"""What is read about people and organisations."""

from uuid import UUID

from backend.accounts.models import Membership, Organisation, User


def membership_of(user: User, organisation_id: UUID | None) -> Membership | None:
    """The user's membership in the organisation, or in their first one when it is None or not theirs. One statement."""
    memberships = list(Membership.objects.filter(user=user).select_related("organisation", "user").order_by("pk"))
    chosen = (one for one in memberships if one.organisation.public_id == organisation_id)
    return next(chosen, memberships[0] if memberships else None)


def organisations_of(user: User) -> list[Organisation]:
    """Every organisation the user belongs to, by name."""
    return list(Organisation.objects.filter(memberships__user=user).order_by("name"))


def members(organisation: Organisation) -> list[Membership]:
    """The members with their users, by address."""
    return list(organisation.memberships.select_related("user").order_by("user__email"))
