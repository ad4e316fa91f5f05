"""What time does to a gate: history as it would be at this hour, what came at it the day before, and the last hour.

A release at the busy hour, or while a nightly job runs, is no slower than the day before at the same time. What was as
slow in the hour before it became so without it. Who asks about a release late does so at another hour.

Of 500 unchanged gates 20 minutes into an hour of every day that is a fifth slower, 16 of a hundred failed by the
nearest runs, two hours and the whole hour before alone, and 3 do (99 %, one region, CV 15 %, a run each five minutes).
Where all hours are alike, of releases that are a fifth slower 44 are found in place of 46, and 67 of 71 at 95 %.

Of 150 releases that are a fifth slower than a site was for three hours, in which it was a fifth quicker than before, 11
to 15 of a hundred passed for the middle of the day, and 1 (CV 5 %), 2 (15 %, five regions) and 9 do (15 %, one region),
at 95 %. Of unchanged ones 79 in place of 93 pass there in the last case, in the others and where nothing was quicker
as many as before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from backend.analysis.baseline import Baseline, fit
from backend.analysis.clock_changes import same_hour
from backend.analysis.gate_drift import at_its_end
from backend.analysis.gate_estimate import Sides, logarithms
from backend.analysis.gate_types import Comparison, Hours
from backend.analysis.noise import Floats, median, scatter
from backend.analysis.settings import DAY_S, HOUR_S

# Of each region, the runs nearest to the same time of the day before: enough that an outlier does not decide.
_NEAREST = 3
# How runs in a row vary is seen from so many rows at least.
_ROWS = 6
# What lies further from that time says nothing of it.
_NEAR_S = HOUR_S
# A job that lasts shows in so long before and after that time more surely than in a few runs, where they come often.
_BESIDE_S = HOUR_S / 4
# What begins with this time of the day shows in so long from then on; the shorter shows what is over within an hour.
_FROM_THEN_S = (2 * HOUR_S, 2 / 3 * HOUR_S)
# So much of the hour before the release, its end, shows what began too late in it to be most of it.
_NEWEST_PART = 3
# One-sided, 5 %: by less the day before may lie above the rest by chance.
_SURELY = 1.645
# Of fewer runs no wave is worth its name.
_LEAST_RUNS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Already:
    """By how much it surely lay above history, over regions, without the release: at this time of the day before, and
    in the hour before the release; 0: it did not. And by how much it is `perhaps` slower by itself: by what it may have
    grown all day long, or what came from this time of the day on. By how much the hour before the release surely lay
    below history, and did not the day before, is what it was `quicker`."""

    day_before: float = 0.0
    hour_before: float = 0.0
    perhaps: float = 0.0
    quicker: float = 0.0


def of_this_hour(comparison: Comparison, both: Sides, *, offset: float) -> tuple[Sides, Already]:
    """The sides with history as it is at this time of the day, and how slow it was already."""
    hours = comparison.hours
    if hours is None:
        return both, Already()
    known = {region: [*hours.before.get(region, ()), *comparison.history[region]] for region in both.regions}
    times = [_measured_at(series, hours.times[region]) for region, series in known.items()]
    history, drift = at_its_end(times, list(logarithms(known, offset).values()))
    days = [_day_of(made, logs) for made, logs in zip(times, history, strict=True)]
    moved = tuple(_at_hour(day, made, logs, hours.at) for day, made, logs in zip(days, times, history, strict=True))
    then = [hours.at - ago for ago in same_hour(hours.at, _days_since(times, hours.at))]
    lately = _with_its_end(_hour_before(both.regions, days, hours, offset))
    until = hours.lately_until or hours.at
    ends = [until - ago for ago in same_hour(until, 1)]
    lately_then = [choice for end in ends for choice in _with_its_end(_between(times, moved, end - HOUR_S, end))]
    beside = [_between(times, moved, at - _BESIDE_S, at + _BESIDE_S) for at in then]
    from_then = [_between(times, moved, at, at + lasting) for at in then for lasting in _FROM_THEN_S]
    already = Already(
        day_before=_most_above([*(_nearest(times, moved, at) for at in then), *beside], moved),
        hour_before=_most_above(lately, moved),
        perhaps=max(drift, _most_above(from_then, moved)),
        quicker=max(_most_below(lately, moved) - _most_below(lately_then, moved), 0.0),
    )
    asked = tuple(logs[-before.size :] for logs, before in zip(moved, both.history, strict=True))
    return replace(both, history=asked), already


def _measured_at(series: Sequence[float | None], times: Sequence[float]) -> Floats:
    return np.array([at for at, value in zip(times, series, strict=True) if value is not None], dtype=np.float64)


def _day_of(times: Floats, logs: Floats) -> Baseline | None:
    """A region with the day's wave in it; None of too few runs."""
    return fit(times, logs) if logs.size >= _LEAST_RUNS else None


def _at_hour(day: Baseline | None, times: Floats, logs: Floats, at: float) -> Floats:
    """Runs of a region as they would be at this time of the day."""
    if day is None:
        return logs
    moved: Floats = logs + (day.expected(at) - day.expected_at(times))
    return moved


def _days_since(times: Sequence[Floats], at: float) -> int:
    """How many days ago history last had this time of the day: several where a release is asked about late."""
    newest = max(float(made[-1]) for made in times)
    return ceil((at - newest) / DAY_S)


def _nearest(times: Sequence[Floats], history: Sequence[Floats], at: float) -> list[Floats]:
    """The runs of each region that lie nearest to an instant."""
    found = []
    for made, logs in zip(times, history, strict=True):
        beside = np.abs(made - at)
        nearest = [place for place in np.argsort(beside, kind="stable")[:_NEAREST] if beside[place] <= _NEAR_S]
        found.append(logs[nearest])
    return found


def _between(times: Sequence[Floats], history: Sequence[Floats], since: float, until: float) -> list[Floats]:
    """The runs of each region between two instants."""
    return [logs[(made >= since) & (made <= until)] for made, logs in zip(times, history, strict=True)]


def _with_its_end(hour: list[Floats]) -> list[list[Floats]]:
    """Of each region the runs of an hour, and those of its last third."""
    return [hour, [logs[-max(logs.size // _NEWEST_PART, _NEAREST) :] for logs in hour]]


def _hour_before(regions: Sequence[str], days: Sequence[Baseline | None], hours: Hours, offset: float) -> list[Floats]:
    """What each region had lately, as it would be now: a release may be asked about when its busy hour is long over."""
    logs, then = logarithms(hours.lately, offset), hours.lately_until or hours.at
    since = [0.0 if day is None else day.expected(hours.at) - day.expected(then) for day in days]
    return [logs.get(region, np.empty(0)) + come for region, come in zip(regions, since, strict=True)]


def _most_above(several: Sequence[Sequence[Floats]], history: Sequence[Floats]) -> float:
    """The most by which any of several choices of runs surely lay above all of history."""
    return max(0.0, *(_surely_apart(chosen, history) for chosen in several))


def _most_below(several: Sequence[Sequence[Floats]], history: Sequence[Floats]) -> float:
    """The most by which any of them surely lay below it."""
    return -min(0.0, *(_surely_apart(chosen, history) for chosen in several))


def _surely_apart(chosen: Sequence[Floats], history: Sequence[Floats]) -> float:
    """By how much chosen runs surely lay above all of history, or below (negative), over the regions that have enough,
    or where none has over all together; 0: neither."""
    if all(some.size < _NEAREST for some in chosen):
        chosen, history = [_together(chosen, history)], [_together(history, history)]
    levels, variance = [], 0.0
    for some, logs in zip(chosen, history, strict=True):
        if some.size >= _NEAREST:
            levels.append(median(some) - median(logs))
            variance += _scatter_of_rows(logs, some.size) ** 2
    if not levels:
        return 0.0
    level, error = float(np.mean(levels)), variance**0.5 / len(levels)
    return level if abs(level) > _SURELY * error else 0.0


def _together(chosen: Sequence[Floats], history: Sequence[Floats]) -> Floats:
    """How far runs of all regions lie from the middle of their own."""
    return np.concatenate([some - median(logs) for some, logs in zip(chosen, history, strict=True)])


def _scatter_of_rows(logs: Floats, length: int) -> float:
    """What the middle of so many runs in a row varies by at any time, also where they fall into two heaps."""
    length = max(min(length, logs.size // _ROWS), _NEAREST)
    return scatter(np.median(logs[logs.size % length :].reshape(-1, length), axis=1))
