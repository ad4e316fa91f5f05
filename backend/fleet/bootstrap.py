"""The first organisation, its owner and its regions, however often it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from backend.accounts import actions as accounts
from backend.accounts.models import Organisation, User
from backend.accounts.permissions import Role
from backend.fleet import actions
from backend.fleet.broker import account_url
from backend.fleet.credentials import Credentials
from backend.fleet.models import Region

# The service's own name beside that of its pages would say nothing.
UNNAMED = "My organisation"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRegion:
    code: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrapped:
    """What there is now. `password` and credentials only for what was made, or renewed, by this call."""

    organisation: Organisation
    email: str
    password: str | None
    regions: tuple[tuple[Region, Credentials | None], ...]


@transaction.atomic
def bootstrap(*, organisation: str | None, email: str, regions: Sequence[NamedRegion], rotate: bool) -> Bootstrapped:
    """Makes what is missing. Without a name the organisation is the first that there is. `rotate` gives the regions
    named here new secrets, and ends their old ones.

    Raises MemberError, RegionError, BrokerUnavailableError.
    """
    first = None if organisation else Organisation.objects.order_by("pk").first()
    home = first or accounts.create_organisation(actor=None, name=organisation or UNNAMED)
    password = _owner(home, email)
    made = tuple(_region(wanted, rotate=rotate) for wanted in regions)
    actions.restore_broker_accounts()
    return Bootstrapped(organisation=home, email=email.lower(), password=password, regions=made)


def agent_broker_url(credentials: Credentials) -> str:
    """The URL by which an agent of the region reaches the broker, secrets included."""
    return account_url(credentials, settings.PUBLIC_BROKER_URL)


def _owner(home: Organisation, email: str) -> str | None:
    """Whoever owns the first organisation runs the service, and sees all of it in the admin: who owns a later one does
    not.
    """
    is_operator = not User.objects.filter(is_superuser=True).exists()
    try:
        invited = accounts.add_member(actor=None, organisation=home, email=email, role=Role.OWNER)
    except accounts.AlreadyMemberError:
        return None
    if is_operator:
        User.objects.filter(pk=invited.membership.user_id).update(is_staff=True, is_superuser=True)
    return invited.password


def _region(wanted: NamedRegion, *, rotate: bool) -> tuple[Region, Credentials | None]:
    region = Region.objects.filter(code=wanted.code).first()
    if region is None:
        credentials = actions.add_region(actor=None, organisation=None, code=wanted.code, name=wanted.name)
        return Region.objects.get(code=wanted.code), credentials
    return region, actions.rotate_token(actor=None, region=region) if rotate else None
