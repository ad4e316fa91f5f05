"""What a change may come from: the deploy that it began with, the phases that took longer, the regions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from backend.analysis.history import Series
from backend.analysis.noise import Floats
from backend.analysis.settings import DAY_S, HOUR_S

# A phase that grew by a smaller part of the whole change did not cause it.
_SHARE = 0.5
# So many standard deviations of Wilcoxon's rank sum, over all regions, and a phase has moved. Three runs that are all
# slower than all before are three; a cache that happens to miss three times of five is not yet two.
_MOVED = 2.5
# What lies no further from the hours since the change, in any day, is of the same time of the day; of a region that is
# measured rarely, so many runs that lie nearest.
_BESIDE_S, _FEWEST_ALIKE = HOUR_S, 8
# A way that became longer adds one round trip to connecting, and to TLS two at most (TLS 1.2, RFC 5246, 7.3), or three
# where packets are lost as well. What TLS takes beyond that is the server's.
_ROUND_TRIPS_OF_TLS = 3


class Cause(StrEnum):
    """Where to look: the `origin` that answers, the network `path`, its `handshake`, the `resolver`, the `transfer` of
    the body, the `redirects` before it.
    """

    ORIGIN = "origin"
    PATH = "path"
    HANDSHAKE = "handshake"
    RESOLVER = "resolver"
    TRANSFER = "transfer"
    REDIRECTS = "redirects"
    MIXED = "mixed"


_CAUSE_OF = {
    "dns_ms": Cause.RESOLVER,
    "connect_ms": Cause.PATH,
    "tls_ms": Cause.PATH,
    "wait_ms": Cause.ORIGIN,
    "download_ms": Cause.TRANSFER,
    "redirects_ms": Cause.REDIRECTS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChange:
    """`before` and `after` are medians in the series' unit, on average over regions; `share` is the part of all phases'
    growth.
    """

    phase: str
    before: float
    after: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The phases by how much they changed, most first, and where that points."""

    phases: tuple[PhaseChange, ...]
    cause: Cause


def attribute(
    phases: Mapping[str, Sequence[Series]], *, change_at: float, level_since: float, change: float
) -> Attribution | None:
    """Which phase made the difference, by its values before the change and since the level of now; None when that
    cannot be said: no phase has moved beyond chance, or all together by less than half of `change`, the metric's own.

    `phases` holds those of the phases that are part of the metric, in its unit, each by region affected: regions differ
    by more than changes do, and one that is measured less often since must not pass for one. What was before is of the
    same hours of the day, as far as there is enough of it: what a phase takes more every day then has not grown.
    """
    moved = {phase: _moved(series, change_at, level_since) for phase, series in phases.items()}
    known = {phase: pair for phase, pair in moved.items() if pair is not None}
    total = sum(after - before for before, after in known.values())
    if not known or total == 0 or total / change < _SHARE:
        return None
    changes = [
        PhaseChange(phase=phase, before=before, after=after, share=(after - before) / total)
        for phase, (before, after) in known.items()
    ]
    changes.sort(key=lambda change: -change.share)
    return Attribution(phases=tuple(changes), cause=_cause(changes))


def _moved(regions: Iterable[Series], change_at: float, level_since: float) -> tuple[float, float] | None:
    """The medians before and since, on average over regions; None where ranks do not tell the two times apart."""
    pairs = [_sides(series, change_at, level_since) for series in regions]
    sides = [pair for pair in pairs if pair[0].size and pair[1].size]
    if not sides:
        return None
    if not ranks_differ(sides):
        return None
    return float(np.mean([np.median(before) for before, _ in sides])), float(np.mean([np.median(a) for _, a in sides]))


def ranks_differ(sides: Sequence[tuple[Floats, Floats]]) -> bool:
    """Whether values before and after differ by more than chance, by their ranks in each region. False without any."""
    excess = sum(_wins(before, after) - before.size * after.size / 2 for before, after in sides)
    variance = sum(before.size * after.size * (before.size + after.size + 1) / 12 for before, after in sides)
    return bool(variance > 0 and abs(excess) >= _MOVED * variance**0.5)


def _sides(series: Series, change_at: float, level_since: float) -> tuple[Floats, Floats]:
    times, values = np.asarray(series[0], dtype=np.float64), np.asarray(series[1], dtype=np.float64)
    before, since = values[times < change_at], values[times >= level_since]
    beside = _beside(times[times < change_at], level_since, float(times[-1]) if times.size else level_since)
    near = np.sort(beside)[:_FEWEST_ALIKE][-1:]
    return before[beside <= max([_BESIDE_S, *near])], since


def _beside(times: Floats, since: float, until: float) -> Floats:
    """How far each lies, by the time of the day alone, from the time between two instants."""
    into_day = (times - since) % DAY_S
    lasted = min(max(until - since, 0.0), DAY_S)
    beside: Floats = np.maximum(np.minimum(into_day - lasted, DAY_S - into_day), 0)
    return beside


def _wins(before: Floats, after: Floats) -> float:
    """In how many pairs of values the later one is larger; ties count half."""
    ranked = np.sort(before)
    return float((np.searchsorted(ranked, after, "left") + np.searchsorted(ranked, after, "right")).sum()) / 2


def _cause(changes: Sequence[PhaseChange]) -> Cause:
    shares: dict[Cause, float] = {}
    for change in changes:
        cause = _CAUSE_OF.get(change.phase, Cause.MIXED)
        shares[cause] = shares.get(cause, 0.0) + change.share
    cause, share = max(shares.items(), key=lambda item: item[1])
    if share <= _SHARE:
        return Cause.MIXED
    return Cause.HANDSHAKE if cause is Cause.PATH and _is_handshake(changes) else cause


def _is_handshake(changes: Sequence[PhaseChange]) -> bool:
    """Whether TLS took longer, and the way no more than a little."""
    shares = {change.phase: change.share for change in changes}
    return shares.get("tls_ms", 0.0) > _ROUND_TRIPS_OF_TLS * shares.get("connect_ms", 0.0)
