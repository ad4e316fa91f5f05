"""Which schedules there ought to be, and making it so: after every edit for its monitors, and now and then for all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import F

from backend.fleet.models import Region
from backend.runs.models import Schedule
from backend.runs.slots import next_slot, offset_us
from backend.sites.models import Monitor, SiteStatus

_CHUNK = 500
# Schedulers move slots on while all are gone through.
_AHEAD = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How many schedules were made, changed and removed."""

    made: int = 0
    changed: int = 0
    removed: int = 0

    def __add__(self, other: "Changes") -> "Changes":
        return Changes(
            made=self.made + other.made, changed=self.changed + other.changed, removed=self.removed + other.removed
        )

    @property
    def any(self) -> bool:
        return bool(self.made or self.changed or self.removed)


def reconcile(monitor_ids: Iterable[int], *, now: datetime) -> Changes:
    """Makes the schedules of these monitors what they ought to be. A new or changed one is due at its next slot."""
    changes = Changes()
    regions = list(Region.objects.filter(enabled=True, joined_at__isnull=False).order_by("code"))
    for chunk in _chunks(monitor_ids):
        changes += _reconcile_chunk(chunk, regions, now)
    return changes


def reconcile_all(*, now: datetime) -> Changes:
    """The same for every monitor there is."""
    return reconcile(Monitor.objects.order_by("pk").values_list("pk", flat=True).iterator(_CHUNK), now=now)


def mend_set_back(*, now: datetime) -> Changes:
    """The same for those whose next slot is not the next one by the clock: it was ahead, and has been set back."""
    ahead = Schedule.objects.filter(enabled=True, next_at__gt=now + _AHEAD + F("interval_s") * timedelta(seconds=1))
    monitor_ids = ahead.order_by("monitor").distinct().values_list("monitor", flat=True)
    return reconcile(monitor_ids.iterator(_CHUNK), now=now)


@transaction.atomic
def _reconcile_chunk(monitor_ids: Sequence[int], regions: Sequence[Region], now: datetime) -> Changes:
    # Locked in one order, so that two reconciliations wait for each other; schedulers skip what is locked.
    existing = Schedule.objects.select_for_update().filter(monitor__in=monitor_ids).order_by("pk")
    actual = {(schedule.monitor_id, schedule.region_id): schedule for schedule in existing}
    # Read only now: who waited for an edit to end would put back what was before it.
    monitors = Monitor.objects.filter(pk__in=monitor_ids).select_related("site").order_by("pk")
    wanted = {
        (schedule.monitor_id, schedule.region_id): schedule
        for monitor in monitors
        for schedule in _wanted(monitor, regions, now)
    }
    missing = [schedule for key, schedule in wanted.items() if key not in actual]
    changed = [schedule for key, schedule in wanted.items() if _differs(actual.get(key), schedule)]
    obsolete = [schedule.pk for key, schedule in actual.items() if key not in wanted]
    _put(missing + changed)
    if obsolete:
        Schedule.objects.filter(pk__in=obsolete).delete()
    return Changes(made=len(missing), changed=len(changed), removed=len(obsolete))


def _put(schedules: Sequence[Schedule]) -> None:
    """Inserts or replaces. The next slot lies ahead in any case: what was paused was not missed."""
    if schedules:
        Schedule.objects.bulk_create(
            schedules,
            update_conflicts=True,
            unique_fields=["monitor", "region"],
            update_fields=["interval_s", "offset_us", "next_at", "enabled"],
        )


def _wanted(monitor: Monitor, regions: Sequence[Region], now: datetime) -> Iterator[Schedule]:
    if monitor.site.status != SiteStatus.ACTIVE:
        return
    places = [region for region in regions if _measures(region, monitor)]
    for position, region in enumerate(places):
        offset = offset_us(monitor.public_id, monitor.interval_s, position=position, regions=len(places))
        yield Schedule(
            monitor=monitor,
            region=region,
            kind=monitor.kind,
            interval_s=monitor.interval_s,
            offset_us=offset,
            next_at=next_slot(now, monitor.interval_s, offset),
            enabled=not monitor.paused,
        )


def _measures(region: Region, monitor: Monitor) -> bool:
    is_ours = region.organisation_id in (None, monitor.site.organisation_id)
    return is_ours and (not monitor.regions or region.code in monitor.regions)


def _differs(actual: Schedule | None, wanted: Schedule) -> bool:
    """What is due already keeps its slot; one that is later than the next is of a clock that was set back."""
    return actual is not None and (
        (actual.interval_s, actual.offset_us, actual.enabled) != (wanted.interval_s, wanted.offset_us, wanted.enabled)
        or actual.next_at > wanted.next_at + _AHEAD
    )


def _chunks(monitor_ids: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(monitor_ids)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk
