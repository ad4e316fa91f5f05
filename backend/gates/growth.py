"""Which part of a metric grew: where to look first. Pure."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from backend.alerts.growth import BEFORE_FIRST_BYTE, left_us
from backend.analysis.attribution import ranks_differ
from backend.analysis.noise import Floats

Sample = Mapping[str, float | None]
Samples = Mapping[str, Sequence[Sample]]

_TO_FIRST_BYTE = tuple(column.removesuffix("_us") for column in BEFORE_FIRST_BYTE)
# A metric and the phases that it is made of; what is left over has a name of its own.
_PARTS = {
    "ttfb_ms": (_TO_FIRST_BYTE, "other"),
    "total_ms": ((*_TO_FIRST_BYTE, "download"), "other"),
    "fcp_ms": (_TO_FIRST_BYTE, "after first byte"),
    "lcp_ms": (_TO_FIRST_BYTE, "after first byte"),
    "load_ms": (_TO_FIRST_BYTE, "after first byte"),
    "fully_loaded_ms": (_TO_FIRST_BYTE, "after first byte"),
    "start_render_ms": (_TO_FIRST_BYTE, "after first byte"),
    "speed_index": (_TO_FIRST_BYTE, "after first byte"),
    "visually_complete_ms": (_TO_FIRST_BYTE, "after first byte"),
}
# Less is no cause of anything.
_LEAST_US = 1_000


def growth(metric: str, before: Samples, after: Samples, *, is_probe: bool = False) -> list[dict[str, object]]:
    """The parts of a metric that grew, and by more than chance, most first: [{"phase", "ms"}]. Empty for what has no
    parts. What is left beside the phases of a probe, which stand without gaps, are its redirects.

    Of medians by region, averaged over regions that both sides have. Parts of medians need not add up.
    """
    if metric not in _PARTS:
        return []
    phases, rest = _PARTS[metric]
    rest = "redirects" if is_probe else rest
    whole = metric.removesuffix("_ms") + "_us"
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


def _change(pairs: Sequence[tuple[Floats, Floats]]) -> float:
    return fmean(float(np.median(after) - np.median(before)) for before, after in pairs)


def _times(name: str, phases: Sequence[str], whole: str, samples: Sequence[Sample]) -> Floats:
    """How long a phase took in each run, or what is left beside all phases; what did not happen took no time."""
    if name in phases:
        return np.asarray([sample.get(f"{name}_us") or 0.0 for sample in samples])
    rests = (left_us(sample, whole, [f"{phase}_us" for phase in phases]) for sample in samples)
    return np.asarray([rest for rest in rests if rest is not None] or [0.0])
