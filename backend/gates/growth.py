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
# What is left of the first byte beside its phases, and of a page's metric beside the first byte.
_OTHER, _AFTER = "other", "after first byte"
_OF_PAGE = (*_TO_FIRST_BYTE, _OTHER, _AFTER)
# A metric and what it is made of.
_PARTS = {
    "ttfb_ms": (*_TO_FIRST_BYTE, _OTHER),
    "total_ms": (*_TO_FIRST_BYTE, _OTHER, "download"),
    "fcp_ms": _OF_PAGE,
    "lcp_ms": _OF_PAGE,
    "load_ms": _OF_PAGE,
    "fully_loaded_ms": _OF_PAGE,
    "start_render_ms": _OF_PAGE,
    "speed_index": _OF_PAGE,
    "visually_complete_ms": _OF_PAGE,
}
# Less is no cause of anything.
_LEAST_US = 1_000


def growth(metric: str, before: Samples, after: Samples, *, is_probe: bool = False) -> list[dict[str, object]]:
    """The parts of a metric that grew, and by more than chance, most first: [{"phase", "ms"}]. Empty for what has no
    parts. What is left beside the phases of a probe, which stand without gaps, are its redirects.

    Of medians by region, averaged over regions that both sides have. Parts of medians need not add up.
    """
    column = name_of(metric)
    regions = [region for region in after if after[region] and before.get(region)]
    sides = {
        name: [(_times(name, column, before[region]), _times(name, column, after[region])) for region in regions]
        for name in _parts_of(metric)
    }
    changes = {name: _change(pairs) for name, pairs in sides.items() if ranks_differ(pairs)}
    grown = sorted(((change, name) for name, change in changes.items() if change >= _LEAST_US), reverse=True)
    names = {_OTHER: "redirects"} if is_probe else {}
    return [{"phase": names.get(name, name), "ms": round(change / 1_000, 1)} for change, name in grown]


def _parts_of(metric: str) -> Sequence[str]:
    """A page's own instant is delayed by whatever delays the page; a duration may begin anywhere."""
    if is_user_timing(metric):
        return _OF_PAGE if is_instant(metric) else ()
    return _PARTS.get(metric, ())


def _change(pairs: Sequence[tuple[Floats, Floats]]) -> float:
    return fmean(float(np.median(after) - np.median(before)) for before, after in pairs)


def _times(name: str, column: str, samples: Sequence[Sample]) -> Floats:
    """How long a part took in each run, or what is left beside others; what did not happen took no time."""
    if name not in (_OTHER, _AFTER):
        return np.asarray([sample.get(f"{name}_us") or 0.0 for sample in samples])
    whole, parts = ("ttfb_us", BEFORE_FIRST_BYTE) if name == _OTHER else (column, ("ttfb_us",))
    rests = (left_us(sample, whole, parts) for sample in samples)
    return np.asarray([rest for rest in rests if rest is not None] or [0.0])
