"""Which part of a metric grew: where to look first. Pure."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from backend.alerts.growth import BEFORE_FIRST_BYTE, left_us
from backend.analysis.attribution import ranks_differ
from backend.analysis.noise import Floats
from backend.analysis.user_timings import is_instant, is_user_timing
from backend.gates.samples import Sample, name_of

Samples = Mapping[str, Sequence[Sample]]

_TO_FIRST_BYTE = tuple(column.removesuffix("_us") for column in BEFORE_FIRST_BYTE)
_AFTER = "after first byte"
# A metric and the phases that it is made of; what is left over has a name of its own.
_PARTS = {
    "ttfb_ms": (_TO_FIRST_BYTE, "other"),
    "total_ms": ((*_TO_FIRST_BYTE, "download"), "other"),
    "fcp_ms": (_TO_FIRST_BYTE, _AFTER),
    "lcp_ms": (_TO_FIRST_BYTE, _AFTER),
    "load_ms": (_TO_FIRST_BYTE, _AFTER),
    "fully_loaded_ms": (_TO_FIRST_BYTE, _AFTER),
    "start_render_ms": (_TO_FIRST_BYTE, _AFTER),
    "speed_index": (_TO_FIRST_BYTE, _AFTER),
    "visually_complete_ms": (_TO_FIRST_BYTE, _AFTER),
}
# Less is no cause of anything.
_LEAST_US = 1_000


def growth(metric: str, before: Samples, after: Samples, *, is_probe: bool = False) -> list[dict[str, object]]:
    """The parts of a metric that grew, and by more than chance, most first: [{"phase", "ms"}]. Empty for what has no
    parts. What is left beside the phases of a probe, which stand without gaps, are its redirects.

    Of medians by region, averaged over regions that both sides have. Parts of medians need not add up.
    """
    if (parts := _parts_of(metric)) is None:
        return []
    phases, rest = parts
    rest = "redirects" if is_probe else rest
    whole = name_of(metric)
    regions = [region for region in after if after[region] and before.get(region)]
    sides = {
        name: [
            (_times(name, phases, whole, before[region]), _times(name, phases, whole, after[region]))
            for region in regions
        ]
        for name in (*phases, rest)
    }
    changes = {name: _change(pairs) for name, pairs in sides.items() if ranks_differ(pairs)}
    grown = sorted(((change, name) for name, change in changes.items() if change >= _LEAST_US), reverse=True)
    return [{"phase": name, "ms": round(change / 1_000, 1)} for change, name in grown]


def _parts_of(metric: str) -> tuple[Sequence[str], str] | None:
    """A page's own instant is delayed by whatever delays the page; a duration may begin anywhere."""
    if is_user_timing(metric):
        return (_TO_FIRST_BYTE, _AFTER) if is_instant(metric) else None
    return _PARTS.get(metric)


def _change(pairs: Sequence[tuple[Floats, Floats]]) -> float:
    return fmean(float(np.median(after) - np.median(before)) for before, after in pairs)


def _times(name: str, phases: Sequence[str], whole: str, samples: Sequence[Sample]) -> Floats:
    """How long a phase took in each run, or what is left beside all phases; what did not happen took no time."""
    if name in phases:
        return np.asarray([sample.get(f"{name}_us") or 0.0 for sample in samples])
    rests = (left_us(sample, whole, [f"{phase}_us" for phase in phases]) for sample in samples)
    return np.asarray([rest for rest in rests if rest is not None] or [0.0])
