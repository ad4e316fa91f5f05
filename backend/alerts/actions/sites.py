"""What the end of a site ends: whoever was told of its open alerts would wait for their end for ever."""

from dataclasses import replace

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from backend.accounts.models import User
from backend.alerts.audiences import who_knows
from backend.alerts.incidents import locked
from backend.alerts.message import Event
from backend.alerts.models import Incident, Scrutiny, Trend, Watch
from backend.alerts.notices import tell
from backend.alerts.stories import going_on, last_of, story_of
from backend.alerts.wording import message_of
from backend.runs import actions as runs
from backend.sites.models import Site

_DELETED = "The site was deleted."


@transaction.atomic
def delete_site(*, actor: User | None, site: Site) -> None:
    """Ends a site with its alerts, and tells those who know of one: at once, since none is left when a mute ends."""
    # As judges do: what they look at first, then incidents. One that looks now ends before we go on.
    for memory in (Watch, Trend, Scrutiny):
        list(memory.objects.select_for_update(of=("self",)).filter(monitor__site=site).order_by("pk"))
    known = Incident.objects.filter(Q(resolved_at=None) | Q(owed=True), site=site)
    for incident in locked(known).order_by("key"):
        _tell_that_it_ends(incident)
    runs.delete_site(actor=actor, site=site)


def _tell_that_it_ends(incident: Incident) -> None:
    channels = who_knows(incident)
    if channels:
        story = story_of(incident, going_on(incident) or last_of(incident))
        message = message_of(Event.RESOLVED, story, at=timezone.now(), note=_DELETED)
        # Its page and its runs are gone when they read it.
        message = replace(message, links=())
        tell(organisation=incident.organisation, about=incident.public_id, message=message, channels=channels)
