"""A site that becomes slower all day long is, at the release, no longer as the middle of its history was.

Of 600 gates of an unchanged site that becomes slower by 10 % a day, asked every five minutes, 11 to 20 of a hundred
failed against history as it was, and 1 to 4 do against what it had come to (CV 5 to 10 %, one to five regions).
What is not sure enough to go by keeps gates from failing all the same: at a confidence of 99 % 5.3 % of an unchanged
site failed before (one region, CV 5 %), and 2.3 do now.

Hours of every day that history begins with, and that begin again just before the release, look like a site that became
quicker. Of 300 unchanged gates 20 minutes into such a plateau of 20 % and 3 or 8 hours, 20 and 15 of a hundred failed
for that (99 %, one region, CV 15 %), and 1 and 2 do, since what a line takes off history keeps gates from failing, and
what the day before had from then on (`gate_hours`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.analysis.baseline import LEAST_SPAN_S, MIN_HOURS, hour_medians, huber_regression, least_squares, waves_at
from backend.analysis.noise import Floats, median
from backend.analysis.settings import DAY_S

# A line through more than a day and a half would go through weekends and working days alike.
_MOST_SPAN_S = 1.5 * DAY_S
# So many standard errors of the line are no chance. Measured: of 1,500 sites without a drift one in ninety had one.
_SURELY = 2.5
# From so many on (one-sided, 16 %) it may be one: nothing is moved by it, and no release fails for what it makes.
# Measured at 99 %, one region, CV 5 %, runs each half hour: 5.7 of a hundred unchanged gates of such a site fail, with
# 1.645 standard errors 8.0; of releases that are a fifth slower 91.5 are found in place of 93.5 where nothing drifts.
_PERHAPS = 1.0
# A step is what happened if it leaves less than this part of what the line leaves. With a place of its own it leaves a
# little less also where there is none: if that were enough, a drift of 10 % a day would be seen on 27 of a hundred days
# (one region, CV 5 %) in place of 60. With 0.7 it is seen on 81, and a daily plateau taken for one thrice as often: a
# release that is a fifth slower, just after one, passed in 5 of a hundred gates, and does in 2 (99 %, CV 15 %).
_CLEARLY = 0.85
# The line, its level and a wave are taken from the hours, and as much of what hours in a row share goes with them.
_TAKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drift:
    """By how much logarithms grow in a second, over all regions, beside the wave of the day. It `is_seen` where chance
    and a step are ruled out, and `may_be` where only chance is, and that less surely."""

    by_s: float = 0.0
    is_seen: bool = False
    may_be: bool = False


def at_its_end(times: Sequence[Floats], history: Sequence[Floats]) -> tuple[list[Floats], float]:
    """History, by region, as it would be when its newest run was made, and by how much it may be slower than that by
    itself: by what it may have grown from its middle until then, where that is too unsure to go by, and where it was
    taken down by what it had shrunk, by that: a plateau that began before history did and begins again looks alike.

    No further: what nobody measured since may be days, as after a release that is asked about late.
    """
    drift, newest = _drift_of(times, history), max(float(made[-1]) for made in times)
    grown = drift.by_s * (newest - float(np.concatenate(times).mean()))
    if drift.is_seen:
        return [logs + drift.by_s * (newest - made) for made, logs in zip(times, history, strict=True)], max(
            -grown, 0.0
        )
    return list(history), max(grown, 0.0) if drift.may_be else 0.0


def _drift_of(times: Sequence[Floats], history: Sequence[Floats]) -> _Drift:
    """None where what is known is not of about a day."""
    at = np.concatenate(times)
    order = np.argsort(at, kind="stable")
    apart = np.concatenate([logs - median(logs) for logs in history])[order]
    at = at[order]
    hours, levels = hour_medians(at, apart)
    if hours.size < MIN_HOURS or not LEAST_SPAN_S <= at[-1] - at[0] <= _MOST_SPAN_S:
        return _Drift()
    design = np.column_stack(((hours - hours.mean()) / DAY_S, np.ones(hours.size), waves_at(hours, 1)))
    line = huber_regression(design, levels)
    rest = levels - design @ line
    steepness, error = abs(line[0]), _error(design, rest)
    is_a_step = _rest_of_a_step(design, levels) < _CLEARLY * float(rest @ rest)
    return _Drift(
        by_s=float(line[0]) / DAY_S,
        is_seen=bool(steepness > _SURELY * error) and not is_a_step,
        may_be=bool(steepness > _PERHAPS * error),
    )


def _rest_of_a_step(design: Floats, levels: Floats) -> float:
    """The sum of squares that a single step in the place of the line leaves, where it lies best."""
    rests = []
    for place in range(1, levels.size):
        stepped = design.copy()
        stepped[:, 0] = np.arange(levels.size) >= place
        rests.append(levels - stepped @ least_squares(stepped, levels))
    return float(min(rest @ rest for rest in rests))


def _error(design: Floats, rest: Floats) -> float:
    """The standard error of the first coefficient, where hours in a row share some of what is left."""
    square = float(rest @ rest)
    if square == 0:
        return 0.0
    shared = min(max(float(rest[1:] @ rest[:-1]) / square, 0.0) + _TAKEN / rest.size, 0.9)
    variance = square / (rest.size - _TAKEN) * float(np.linalg.inv(design.T @ design)[0, 0])
    return float((variance * (1 + shared) / (1 - shared)) ** 0.5)
