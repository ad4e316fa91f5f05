"""Sites side by side: how long each takes from each region, over the same hours or days, by what is rolled up."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from statistics import fmean

from backend.analysis.side_by_side import (
    SELDOM_S,
    Blocks,
    Difference,
    Plan,
    averaged,
    differences,
    held_together,
    is_enough,
    plan_of,
)
from backend.analysis.sketch import median
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.instants import EPOCH
from backend.runs.queries.series import RANGES, SeriesPoint
from backend.runs.queries.stretches import Counts, Place, Stretches, Sums, counts_of, sums_of
from backend.sites.manners import ways_of
from backend.sites.models import Monitor
from backend.sites.monitor_settings import stored_settings

MAX_SITES = 6
DEFAULT_RANGE = "7d"
# What the first byte is made of, and what follows it.
PARTS = ("dns_us", "connect_us", "tls_us", "wait_us", "download_us")
# A table of more columns is read by nobody; the others can be asked for one by one.
MAX_REGIONS = 8
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """`range` is one of RANGES, `metric` of METRICS; `region` a code, or None for all regions."""

    range: str
    metric: str
    region: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A site from a region: the median of the metric's values and how many there are, of the hours or days that count
    where it `is_compared` and else of all of its own; runs that failed are of all. `phases_us` are medians of PARTS.
    What was not seen is None."""

    median_us: float | None
    runs: int
    failed: int
    is_compared: bool
    blocks: Blocks
    phases_us: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """`sites` are monitors, the quickest first; those that could not be compared come last. `regions` are those that
    measured any of them, `compared` those that measured all of `rivals`, which are those that can be compared."""

    since: datetime
    until: datetime
    plan: Plan
    regions: tuple[Region, ...]
    compared: tuple[Region, ...]
    sites: tuple[Monitor, ...]
    rivals: tuple[Monitor, ...]
    seen: Mapping[Place, Seen]
    points: Mapping[int, tuple[SeriesPoint, ...]]

    @property
    def is_seldom(self) -> bool:
        """Whether one is measured too seldom to be judged, however long the time is."""
        return any(one.interval_s > SELDOM_S for one in self.sites)

    @cached_property
    def unlike(self) -> tuple[str, ...]:
        """In what the monitors are equipped differently, by what people call it."""
        ways = [ways_of(stored_settings(one)) for one in self.sites]
        return tuple(name for name in ways[0] if any(one[name] != ways[0][name] for one in ways))

    @cached_property
    def behind(self) -> dict[int, Difference]:
        """By how much each other rival takes longer than the one with the least median, from all regions compared."""
        return self.beside(self.rivals[0].pk) if self.rivals else {}

    @property
    def quickest(self) -> Monitor | None:
        """Where it is sure which one is, and that it is the site's doing."""
        others = len(self.rivals) - 1
        is_told = others > 0 and len(self.behind) == others and all(one.is_slower for one in self.behind.values())
        return self.rivals[0] if is_told and not self.unlike else None

    def blocks(self, monitor: int, region: int | None = None) -> Blocks:
        """From a region, or from all that are compared; empty where there is nothing to compare."""
        if region is None:
            return averaged([self.blocks(monitor, one.pk) for one in self.compared])
        seen = self.seen.get((monitor, region))
        return seen.blocks if seen is not None and seen.is_compared else {}

    def beside(self, first: int, region: int | None = None) -> dict[int, Difference]:
        """By how much each other site takes longer than the first one, from a region or from all that are compared;
        without those of which it cannot be said."""
        others = {one.pk: self.blocks(one.pk, region) for one in self.rivals if one.pk != first}
        return differences(self.blocks(first, region), others)

    def median_us(self, monitor: int) -> float | None:
        """From all regions that are compared, each of which counts as much."""
        return _mean(self.seen[monitor, region.pk].median_us for region in self.compared)

    def phases_us(self, monitor: int) -> tuple[float | None, ...]:
        """The same of each phase."""
        seen = [self.seen[monitor, region.pk].phases_us for region in self.compared]
        return tuple(_mean(values) for values in zip(*seen, strict=True))

    def runs(self, monitor: int) -> int:
        """Those that count, from all of these regions."""
        return sum(self.seen[monitor, region.pk].runs for region in self.compared)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """The stretches of a place that count, and whether they are those of all that are compared."""

    stretches: frozenset[int]
    is_compared: bool


def side_by_side(monitors: Sequence[Monitor], asked: Asked, *, now: datetime) -> SideBySide:
    """One monitor or more, all of one kind and organisation, with their sites. Three statements."""
    plan = plan_of(RANGES[asked.range] // _SECOND, max(one.interval_s for one in monitors))
    regions = _regions(monitors, asked.region)
    stretches = _stretches(monitors, regions, plan, RANGES[asked.range], now)
    counted = counts_of(stretches, asked.metric)
    counting = _counting(monitors, regions, counted, plan)
    sums = sums_of(stretches, (asked.metric, *PARTS), {place: one.stretches for place, one in counting.items()})
    seen = {place: _seen(counted[place].values(), sums.get(place), counting.get(place)) for place in counted}
    measuring = [region for region in regions if any((one.pk, region.pk) in seen for one in monitors)]
    rivals = [one for one in monitors if any(_is_compared(seen, one, region) for region in measuring)]
    compared = [region for region in measuring if rivals and all(_is_compared(seen, one, region) for one in rivals)]
    places = compared or measuring
    rivals.sort(key=lambda one: _usual_us(seen, one, places))
    return SideBySide(
        since=stretches.since,
        until=stretches.until,
        plan=plan,
        regions=tuple(measuring),
        compared=tuple(compared),
        sites=(*rivals, *(one for one in monitors if one not in rivals)),
        rivals=tuple(rivals),
        seen=seen,
        points={one.pk: _points(one, places, counted, sums) for one in monitors},
    )


def _regions(monitors: Sequence[Monitor], code: str | None) -> list[Region]:
    """Those that all measure from come first where they are too many. One statement."""
    lists = [one.regions for one in monitors]
    usable = usable_regions(monitors[0].site.organisation)
    chosen = [one for one in usable if code is None or one.code == code]
    shared = sorted(chosen, key=lambda one: sum(bool(codes) and one.code not in codes for codes in lists))
    return sorted(shared[:MAX_REGIONS], key=lambda one: (one.name, one.code))


def _stretches(
    monitors: Sequence[Monitor], regions: Sequence[Region], plan: Plan, span: timedelta, now: datetime
) -> Stretches:
    """Those that are over."""
    width = timedelta(seconds=plan.width_s)
    until = EPOCH + (now - EPOCH) // width * width
    places = {"monitors": [one.pk for one in monitors], "regions": [one.pk for one in regions]}
    return Stretches(since=until - span, until=until, plan=plan, **places)


def _counting(
    monitors: Sequence[Monitor], regions: Sequence[Region], counted: Mapping[Place, Mapping[int, Counts]], plan: Plan
) -> dict[Place, _Counting]:
    """Which stretches count at each place: those of all that are compared, and of others their own."""
    found = {}
    for region in regions:
        own = {one.pk: _enough(one, counted.get((one.pk, region.pk), {}), plan) for one in monitors}
        able, common = held_together(own, plan)
        is_held = len(able) > 1
        for pk, mine in own.items():
            is_compared = is_held and pk in able
            found[pk, region.pk] = _Counting(stretches=common if is_compared else mine, is_compared=is_compared)
    return found


def _enough(monitor: Monitor, counted: Mapping[int, Counts], plan: Plan) -> frozenset[int]:
    """What was measured in another way, before the monitor was changed, is compared with nothing."""
    return frozenset(
        number
        for number, one in counted.items()
        if is_enough(one.comparable, plan, monitor.interval_s)
        and (monitor.due_since is None or one.at >= monitor.due_since)
    )


def _seen(counts: Iterable[Counts], sums: Sums | None, counting: _Counting | None) -> Seen:
    failed = sum(one.failed for one in counts)
    if sums is None or counting is None:
        return Seen(median_us=None, runs=0, failed=failed, is_compared=False, blocks={}, phases_us=())
    metric, *phases = sums.whole
    return Seen(
        median_us=_median_us(metric),
        runs=metric.total(),
        failed=failed,
        is_compared=counting.is_compared,
        blocks=sums.medians_of_blocks(),
        phases_us=tuple(map(_median_us, phases)),
    )


def _is_compared(seen: Mapping[Place, Seen], monitor: Monitor, region: Region) -> bool:
    return (monitor.pk, region.pk) in seen and seen[monitor.pk, region.pk].is_compared


def _usual_us(seen: Mapping[Place, Seen], monitor: Monitor, regions: Sequence[Region]) -> float:
    """What sites are put in order by."""
    found = [seen[monitor.pk, one.pk].median_us for one in regions if (monitor.pk, one.pk) in seen]
    return _mean(found) or 0.0


def _points(
    monitor: Monitor,
    regions: Sequence[Region],
    counted: Mapping[Place, Mapping[int, Counts]],
    sums: Mapping[Place, Sums],
) -> tuple[SeriesPoint, ...]:
    """The mean of the regions' medians, where all of them have one, oldest first."""
    places = [(monitor.pk, region.pk) for region in regions]
    numbers = sorted({number for place in places for number in counted.get(place, {})}, reverse=True)
    return tuple(_point(number, places, counted, sums) for number in numbers)


def _point(
    number: int, places: Sequence[Place], counted: Mapping[Place, Mapping[int, Counts]], sums: Mapping[Place, Sums]
) -> SeriesPoint:
    there = [counted[place][number] for place in places if number in counted.get(place, {})]
    value_us = _mean(sums[place].medians_us.get(number) if place in sums else None for place in places)
    return SeriesPoint(
        at=there[0].at,
        measured=sum(one.measured for one in there),
        failed=sum(one.failed for one in there),
        missed=sum(one.missed for one in there),
        disturbed=sum(one.disturbed for one in there),
        values=(None if value_us is None else round(value_us),),
    )


def _median_us(counts: Counter[int]) -> float | None:
    found = median(counts)
    return None if found is None else found[0]


def _mean(values: Iterable[float | None]) -> float | None:
    """None where one of them is."""
    found = list(values)
    known = [one for one in found if one is not None]
    return fmean(known) if known and len(known) == len(found) else None
