"""Sites of which days were rolled up, in the last week that is over and in the one before."""

from datetime import date, timedelta
from math import ceil, log

from backend.alerts.models import Incident, Outage
from backend.alerts.tests.world import World, make_world
from backend.analysis.sketch import GAMMA
from backend.fleet.models import Region
from backend.runs.models import Rollup
from backend.runs.tests.factories import NOW
from backend.sites.models import Monitor, Site
from backend.weekly.report import WEEK, begin_of, last_week

THIS = last_week(NOW)
BEFORE = THIS - WEEK
# When its report is due.
MORNING = begin_of(THIS + WEEK) + timedelta(hours=7)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_METRICS = {"probe": "ttfb_us", "page": "lcp_us"}


def weekly_world(*codes: str) -> World:
    """A shop with a probe and a page load, registered long ago."""
    world = make_world(*(codes or ("fra", "sin")), kinds=("probe", "page"))
    Site.objects.update(created_at=begin_of(BEFORE) - WEEK)
    return world


def day(monitor: Monitor, region: Region, at: date, median_ms: float, *, count: int = 24) -> None:
    """A day that was measured each hour."""
    counts = {_METRICS[monitor.kind]: {str(ceil(log(median_ms * 1_000) / log(GAMMA))): count}}
    begin = begin_of(at)
    hours = [(HOUR, begin + hour * HOUR) for hour in range(24)]
    Rollup.objects.bulk_create(
        Rollup(
            monitor=monitor,
            region=region,
            width_s=width.total_seconds(),
            at=since,
            measured=1 if width == HOUR else count,
            failed=0,
            missed=0,
            sketches=counts,
        )
        for width, since in [(DAY, begin), *hours]
    )


def week(monitor: Monitor, region: Region, monday: date, *medians_ms: float) -> None:
    """Its days from Monday on; of a single value all seven."""
    for place, median_ms in enumerate(medians_ms if len(medians_ms) > 1 else medians_ms * 7):
        day(monitor, region, monday + place * DAY, median_ms)


def weeks(world: World, before_ms: float, now_ms: float, monitor: Monitor | None = None) -> None:
    """Both weeks in all regions."""
    for region in world.regions:
        week(monitor or world.monitor, region, BEFORE, before_ms)
        week(monitor or world.monitor, region, THIS, now_ms)


def outage(world: World, monday: date, *, hours: float) -> None:
    """On the Tuesday at noon."""
    began_at = begin_of(monday + DAY) + 12 * HOUR
    Outage.objects.create(
        monitor=world.monitor, state="failing", began_at=began_at, ended_at=began_at + timedelta(hours=hours)
    )


def incident(world: World, monday: date, *, title: str = "Shop is down", is_told: bool = True) -> Incident:
    """An alert that began on the Tuesday."""
    at = begin_of(monday + DAY)
    return Incident.objects.create(
        organisation=world.fleet.organisation,
        site=world.fleet.site,
        cause="availability",
        key=f"{title} {at}",
        state="failing",
        worst_state="failing",
        severity="critical",
        title=title,
        opened_at=at,
        changed_at=at,
        told="failing" if is_told else "",
        told_at=at if is_told else None,
        resolved_at=at + HOUR,
        resolution="recovered",
    )
