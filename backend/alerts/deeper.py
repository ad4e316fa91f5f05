"""Deep probes that nobody asked for: where something changed, one looks why, and not more often than is decent."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from backend.fleet.models import Region
from backend.runs.actions import RunsError, TooManyRunsError, request_runs
from backend.runs.models import Outcome, PendingRun, Run, Trigger
from backend.sites.models import Monitor, MonitorKind, SiteStatus
from workers.measurement.failure import Stage

log = logging.getLogger(__name__)

# Of one monitor in one region, and as many that failed: else what is broken could not be seen to be mended.
MAX_DIAGNOSES, PERIOD = 4, timedelta(hours=6)
# A server whose certificate is refused was looked at all the same, as in `runs.queries.findings.JUDGED_SQL`.
_REACHED = Q(outcome=Outcome.MEASURED) | Q(failure_stage=Stage.TLS)


def look_deeper(monitor_id: int, regions: Iterable[str], *, now: datetime) -> list[str]:
    """Asks for a deep run of a probe in regions by their codes, inside a transaction; the codes where it did.

    Not where one is under way, or where there have been enough for a while; nor where the last one could not reach the
    site and nothing has since; nor further once the organisation has as many under way as may be.
    """
    monitor = Monitor.objects.select_related("site__organisation").filter(pk=monitor_id, kind=MonitorKind.PROBE).first()
    if monitor is None or monitor.paused or monitor.site.status != SiteStatus.ACTIVE:
        return []
    asked: list[str] = []
    try:
        for code in sorted(set(regions)):
            if _may(monitor, code, now) and _ask(monitor, code):
                asked.append(code)
    except TooManyRunsError as error:
        log.info("%s is not looked at deeper from further regions: %s", monitor.public_id, error)
    return asked


def probes_of_site(monitor_id: int) -> list[int]:
    """The probe monitors of the site that a monitor belongs to: what they see explains what a page load feels."""
    mine = Monitor.objects.filter(pk=monitor_id).values("site")
    return list(
        Monitor.objects.filter(site__in=mine, kind=MonitorKind.PROBE).order_by("pk").values_list("pk", flat=True)
    )


def _may(monitor: Monitor, code: str, now: datetime) -> bool:
    place = {"monitor_id": monitor.pk, "region__code": code}
    if PendingRun.objects.filter(depth="deep", **place).exists():
        return False
    here = Run.objects.filter(
        monitor_id=monitor.pk, region_id__in=list(Region.objects.filter(code=code).values_list("pk", flat=True))
    )
    recent = here.filter(scheduled_for__gt=now - PERIOD, trigger=Trigger.DIAGNOSE).order_by("-scheduled_for")
    ends = list(recent.values_list("scheduled_for", "outcome"))
    measured = sum(outcome == Outcome.MEASURED for _, outcome in ends)
    if max(measured, len(ends) - measured) >= MAX_DIAGNOSES:
        return False
    return not ends or here.filter(_REACHED, scheduled_for__gte=ends[0][0]).exists()


def _ask(monitor: Monitor, code: str) -> bool:
    """Raises TooManyRunsError, which is as true of every other region."""
    try:
        with transaction.atomic():
            request_runs(actor=None, monitor=monitor, regions=[code], trigger=Trigger.DIAGNOSE)
    except TooManyRunsError:
        raise
    except RunsError as error:
        log.info("%s is not looked at deeper from %s: %s", monitor.public_id, code, error)
        return False
    return True
