"""What a change may come from: the deploy that it began with, the phases that took longer, the regions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from backend.analysis.history import Series

# A rollout takes its time: a deploy told so long before a change can have begun may still have caused it.
ROLLOUT_S = 900.0
# A phase that grew by a smaller part of the whole change did not cause it.
_SHARE = 0.5


class Cause(StrEnum):
    """Where to look: the `origin` that answers, the network `path`, the `resolver`, the `transfer` of the body."""

    ORIGIN = "origin"
    PATH = "path"
    RESOLVER = "resolver"
    TRANSFER = "transfer"
    MIXED = "mixed"


_CAUSE_OF = {
    "dns_ms": Cause.RESOLVER,
    "connect_ms": Cause.PATH,
    "tls_ms": Cause.PATH,
    "wait_ms": Cause.ORIGIN,
    "download_ms": Cause.TRANSFER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChange:
    """`before` and `after` are medians in the series' unit; `share` is the part of all phases' growth."""

    phase: str
    before: float
    after: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The phases by how much they changed, most first, and where that points."""

    phases: tuple[PhaseChange, ...]
    cause: Cause


def attribute(phases: Mapping[str, Series], *, change_at: float) -> Attribution | None:
    """Which phase made the difference, by its values before and since the change; None when that cannot be said.

    `phases` holds dns_ms, connect_ms, tls_ms, wait_ms and download_ms, or some of them, of the regions affected.
    """
    medians = {phase: _medians(series, change_at) for phase, series in phases.items()}
    known = {phase: pair for phase, pair in medians.items() if pair is not None}
    total = sum(after - before for before, after in known.values())
    if not known or total == 0:
        return None
    changes = [
        PhaseChange(phase=phase, before=before, after=after, share=(after - before) / total)
        for phase, (before, after) in known.items()
    ]
    changes.sort(key=lambda change: -change.share)
    return Attribution(phases=tuple(changes), cause=_cause(changes))


def _medians(series: Series, change_at: float) -> tuple[float, float] | None:
    times, values = np.asarray(series[0], dtype=np.float64), np.asarray(series[1], dtype=np.float64)
    before, after = values[times < change_at], values[times >= change_at]
    if not before.size or not after.size:
        return None
    return float(np.median(before)), float(np.median(after))


def _cause(changes: Sequence[PhaseChange]) -> Cause:
    shares: dict[Cause, float] = {}
    for change in changes:
        cause = _CAUSE_OF.get(change.phase, Cause.MIXED)
        shares[cause] = shares.get(cause, 0.0) + change.share
    cause, share = max(shares.items(), key=lambda item: item[1])
    return cause if share > _SHARE else Cause.MIXED
