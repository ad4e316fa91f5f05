"""A wall: all sites of an organisation on one screen that nobody is signed in at, for who has its link.

The link is as that of a shared run: a random number and a signature with the service's own key, so that nothing that is
stored opens anything. It is kept until it expires or is taken back, and shows nothing but the wall.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from backend.accounts.audit import record
from backend.accounts.models import Organisation, User
from backend.accounts.room import hold
from backend.signed_links import link_to, public_id_in
from backend.status.models import Wall

_SALT = "backend.status.walls"
# A screen hangs for long, and is forgotten longer.
SHOWN_FOR = timedelta(days=180)


@transaction.atomic
def show_wall(*, actor: User | None, organisation: Organisation) -> Wall:
    """Lets whoever has the link see the wall, from now on for SHOWN_FOR; a link that there is stays."""
    hold(organisation)
    now = timezone.now()
    Wall.objects.filter(organisation=organisation, expires_at__lte=now).delete()
    wall, _ = Wall.objects.update_or_create(
        organisation=organisation,
        defaults={"expires_at": now + SHOWN_FOR},
        create_defaults={"created_by": actor, "expires_at": now + SHOWN_FOR},
    )
    record("show_wall", wall, actor=actor, organisation=organisation, expires_at=wall.expires_at.isoformat())
    return wall


@transaction.atomic
def take_wall_down(*, actor: User | None, organisation: Organisation) -> None:
    """Its link leads nowhere from now on. One that is made later is another."""
    wall = Wall.objects.filter(organisation=organisation).first()
    if wall is not None:
        record("take_wall_down", wall, actor=actor, organisation=organisation)
        wall.delete()


def wall_of(organisation: Organisation) -> Wall | None:
    """The one that can be seen now. One statement."""
    return Wall.objects.filter(organisation=organisation, expires_at__gt=timezone.now()).first()


def link_of(wall: Wall) -> str:
    """What its address holds."""
    return link_to(wall.public_id, salt=_SALT)


def address_of(wall: Wall) -> str:
    """The address to open at the screen."""
    return f"{settings.BASE_URL}{reverse('web:wall', args=[link_of(wall)])}"


def organisation_of(link: str) -> Organisation | None:
    """Whose wall a link shows; None for one that was never made, has expired or was taken back. One statement, none for
    what no key of ours has signed.
    """
    public_id = public_id_in(link, salt=_SALT)
    if public_id is None:
        return None
    found = Wall.objects.filter(public_id=public_id, expires_at__gt=timezone.now())
    wall = found.select_related("organisation").first()
    return None if wall is None else wall.organisation
