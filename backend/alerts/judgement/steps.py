"""Whether a phase of probes, or what redirects take, has taken a step, up or down, whatever the sum of them does.

Wide where rules are narrow: what is taken for a step costs a look, and is no verdict.
"""

from collections.abc import Collection
from statistics import median

from backend.alerts.judgement.samples import Memory, Sample, forget_others
from backend.alerts.metrics import BESIDE_PHASES

_TO_FIRST_BYTE = ("dns_ms", "connect_ms", "tls_ms", "wait_ms")
PHASES = (*_TO_FIRST_BYTE, "download_ms")
# So many runs that all lie beyond so many before them are chance once in 160,000 times.
BEFORE, AFTER = 30, 5
# What is less is of no interest although it be true.
_LEAST_MS, _LEAST_SHARE = 10.0, 0.25


class PhaseSteps:
    """The last runs of a monitor in each region. Samples of a region come in the order of their slots."""

    def __init__(self, memory: Memory) -> None:
        self._kept: dict[str, dict[str, list[float]]] = memory

    def observe(self, sample: Sample) -> bool:
        """Whether a phase has taken a step with this run; what follows is held against the new level."""
        phases = self._kept.setdefault(sample.region, {})
        known = [(name, sample.value(name)) for name in PHASES]
        known.append((BESIDE_PHASES["probe"].name, _redirects_ms(sample)))
        # Each is to be kept, whatever the others do.
        moved = [name for name, value in known if value is not None and _moves(phases.setdefault(name, []), value)]
        return bool(moved)

    def keep(self, regions: Collection[str]) -> None:
        """Forgets what was seen from other regions: nothing is measured there any more."""
        forget_others(self._kept, regions)

    def memory(self) -> Memory:
        """All that has to be known to go on."""
        return self._kept


def _redirects_ms(sample: Sample) -> float | None:
    """What is left of a probe's first byte beside its phases. Sending, of which nothing is known here, takes none."""
    ttfb_ms = sample.value("ttfb_ms")
    return None if ttfb_ms is None else ttfb_ms - sum(sample.value(name) or 0 for name in _TO_FIRST_BYTE)


def _moves(series: list[float], value: float) -> bool:
    series.append(round(value, 1))
    del series[: -(BEFORE + AFTER)]
    if not _is_step(series[:-AFTER], series[-AFTER:]):
        return False
    del series[:-AFTER]
    return True


def _is_step(before: list[float], after: list[float]) -> bool:
    if len(before) < BEFORE:
        return False
    usual = median(before)
    apart = min(after) > max(before) or max(after) < min(before)
    return apart and abs(median(after) - usual) >= max(_LEAST_MS, _LEAST_SHARE * usual)
