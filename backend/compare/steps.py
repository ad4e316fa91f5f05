"""What has to be done again and again: hosts looked at, verdicts made anew. Any number of processes may do it."""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from backend.alerts.turns import Apart
from backend.compare.actions import look_at_hosts
from backend.compare.judging import judge_pairing
from backend.compare.models import HostLook, Pairing
from backend.compare.pairings import judged_every
from backend.sites.models import Site, SiteStatus

log = logging.getLogger(__name__)

# So many of each in one step: other duties wait.
AT_ONCE = 20
IDLE_S = 5.0
# Hosts change with releases; before the first page load there is nothing to see.
LOOK_EVERY, LOOK_AGAIN = timedelta(hours=1), timedelta(seconds=30)


def step(now: datetime | None = None) -> float:
    """Does what is due at an instant, a bounded part of it; the seconds to wait before the next step."""
    now = now or timezone.now()
    looked, judged = look_at_due_hosts(now), judge_due_pairings(now)
    return 0.0 if AT_ONCE in (looked, judged) else IDLE_S


def look_at_due_hosts(now: datetime) -> int:
    """Looks at the hosts of sites whose turn has come; how many sites."""
    due = Site.objects.filter(Q(host_look=None) | Q(host_look__due_at__lte=now), status=SiteStatus.ACTIVE)
    sites = list(due.select_related("organisation").order_by("host_look__due_at", "pk")[:AT_ONCE])
    for site in sites:
        again = now + LOOK_AGAIN
        with Apart(log, "looking at the hosts of site %s failed; it is tried again soon", site.public_id):
            if look_at_hosts(site=site, now=now):
                again = now + LOOK_EVERY
        HostLook.objects.update_or_create(site=site, defaults={"due_at": again})
    return len(sites)


def judge_due_pairings(now: datetime) -> int:
    """Makes the verdicts of pairings whose turn has come; how many pairings."""
    pairings = _claim(now)
    for pairing in pairings:
        with Apart(log, "judging pairing %s failed; it is tried again at its next turn", pairing.public_id):
            for change in judge_pairing(pairing, now=now):
                state = "slower" if change.slower else "not slower"
                log.info("the CDN of pairing %s is %s in %s", pairing.public_id, state, change.region.code)
    return len(pairings)


@transaction.atomic
def _claim(now: datetime) -> list[Pairing]:
    """Those whose turn it is, which then have their next."""
    due = Pairing.objects.filter(judge_at__lte=now, site__status=SiteStatus.ACTIVE).order_by("judge_at", "pk")
    locked = due.select_for_update(skip_locked=True, of=("self",))
    pairings = list(locked.select_related("monitor", "site__organisation")[:AT_ONCE])
    for pairing in pairings:
        pairing.judge_at = now + judged_every(pairing)
    Pairing.objects.bulk_update(pairings, ["judge_at"])
    return pairings
