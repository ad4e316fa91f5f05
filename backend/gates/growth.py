"""Which part of a metric grew: where to look first. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

Sample = Mapping[str, float | None]
Samples = Mapping[str, Sequence[Sample]]

_TO_FIRST_BYTE = ("dns", "connect", "tls", "send", "wait")
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


def growth(metric: str, before: Samples, after: Samples) -> list[dict[str, object]]:
    """The parts of a metric that grew, most first: [{"phase", "ms"}]. Empty for what has no parts.

    Of medians by region, averaged over regions that both sides have. Parts of medians need not add up.
    """
    if metric not in _PARTS:
        return []
    phases, rest = _PARTS[metric]
    whole = metric.removesuffix("_ms") + "_us"
    regions = [region for region in after if after[region] and before.get(region)]
    if not regions:
        return []
    names = [*phases, rest]
    changes = {
        name: fmean(
            _typical(name, phases, whole, after[region]) - _typical(name, phases, whole, before[region])
            for region in regions
        )
        for name in names
    }
    grown = sorted(((change, name) for name, change in changes.items() if change >= _LEAST_US), reverse=True)
    return [{"phase": name, "ms": round(change / 1_000, 1)} for change, name in grown]


def _typical(name: str, phases: Sequence[str], whole: str, samples: Sequence[Sample]) -> float:
    """The median of a phase; one that did not happen took no time."""
    if name in phases:
        return median(sample.get(f"{name}_us") or 0.0 for sample in samples)
    return median(list(_rests(phases, whole, samples)) or [0.0])


def _rests(phases: Sequence[str], whole: str, samples: Iterable[Sample]) -> Iterable[float]:
    for sample in samples:
        value = sample.get(whole)
        if value is not None:
            yield value - sum(sample.get(f"{phase}_us") or 0.0 for phase in phases)
