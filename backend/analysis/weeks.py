"""Whether a week differs from the one before, by the medians of their days. Pure.

Like is held against like: the same days of the week, of one monitor in one region. A week is called slower when the
weeks differ by what would be worth an alert (`settings`), and each of these days was slower than the same day a week
before, by a third of what the median day was at least. That all days agree happens by chance once in 32 times of six
days and once in 64 of seven (sign test); then some day hardly differs, as a rule. Of unchanged weeks, with days that
scatter by 2 % and 24 runs a day that do by 15 %, 0.5 and 0.1 of a hundred are called so, by 30 % 0.8 and 0.4; of those
a fifth slower 88 and 86 are found, by 30 % 41 and 36 (20,000 each).

A week is as its median day, so that each day counts once, however many of its runs were made. A median of all runs
would go by the days that were measured most: where agents stood still on slow days, the week would look faster. Weeks
differ by no more than one of their days does, and a single bad day moves none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log
from statistics import fmean, median

from backend.analysis.settings import DAY_S, settings_for

# So many days of the week have to be known in both weeks.
LEAST_DAYS = 6
# Of what the median day differs by, each day has to differ by this part. It holds whatever one bad day does, unlike
# a standard deviation.
LEAST_PART = 1 / 3


class Course(StrEnum):
    """How a week went beside the one before. `MIXED`: slower in some regions and faster in others."""

    SLOWER = "slower"
    FASTER = "faster"
    MIXED = "mixed"
    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionWeek:
    """The median day of a week from a region, and of the week before on the same days; None with the course where there
    is too little to compare."""

    region: str
    now_us: float
    before_us: float | None = None
    course: Course | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorWeek:
    """The same from all regions: median days averaged over those regions that can be compared, or over all where none
    can. `slower` and `faster` are the regions that differ for sure."""

    now_us: float
    before_us: float | None
    course: Course | None
    slower: tuple[RegionWeek, ...] = ()
    faster: tuple[RegionWeek, ...] = ()


def region_week(region: str, metric: str, before: Mapping[int, float], now: Mapping[int, float]) -> RegionWeek | None:
    """One region by the medians in us of a metric's days, by the day of the week; None where the week has no value.
    Days without any value are left out by the caller."""
    both = sorted(before.keys() & now.keys())
    if not now:
        return None
    if len(both) < LEAST_DAYS:
        return RegionWeek(region=region, now_us=median(now.values()))
    pairs = [(before[day], now[day]) for day in both]
    before_us, now_us = (median(side) for side in zip(*pairs, strict=True))
    return RegionWeek(
        region=region, now_us=now_us, before_us=before_us, course=_course(pairs, before_us, now_us, metric)
    )


def together(regions: Sequence[RegionWeek]) -> MonitorWeek | None:
    """A monitor from all of its regions; None where no region has a value."""
    if not regions:
        return None
    before_us = [one.before_us for one in regions if one.before_us is not None]
    shown = [one for one in regions if one.before_us is not None] or regions
    slower = tuple(one for one in regions if one.course is Course.SLOWER)
    faster = tuple(one for one in regions if one.course is Course.FASTER)
    return MonitorWeek(
        now_us=fmean(one.now_us for one in shown),
        before_us=fmean(before_us) if before_us else None,
        course=_common(slower, faster) if before_us else None,
        slower=slower,
        faster=faster,
    )


def _common(slower: Sequence[RegionWeek], faster: Sequence[RegionWeek]) -> Course:
    if slower and faster:
        return Course.MIXED
    if slower:
        return Course.SLOWER
    return Course.FASTER if faster else Course.SAME


def _course(pairs: Sequence[tuple[float, float]], before_us: float, now_us: float, metric: str) -> Course:
    least = settings_for(metric, interval_s=DAY_S)
    if abs(now_us - before_us) < max(least.min_change * 1_000, least.min_change_pct / 100 * before_us):
        return Course.SAME
    course, direction = (Course.SLOWER, 1) if now_us > before_us else (Course.FASTER, -1)
    changes = [direction * log(now / before) for before, now in pairs]
    is_each_day_s = min(changes) > 0 and min(changes) >= LEAST_PART * median(changes)
    return course if is_each_day_s else Course.SAME
