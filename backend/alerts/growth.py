"""Which phase made a run longer than an earlier one: where to look first when a budget is exceeded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from backend.alerts.metrics import METRICS, metric_of, written
from backend.analysis.user_timings import is_instant, is_user_timing

# The parts of a first byte, as a sentence names them.
BEFORE_FIRST_BYTE = {
    "dns_us": "DNS",
    "connect_us": "connecting",
    "tls_us": "TLS",
    "send_us": "sending",
    "wait_us": "waiting for the server",
}
BETWEEN = "redirects and what else lies between the phases"
# Less is no news of two single runs.
_LEAST_US, _LEAST_SHARE = 5_000, 0.1
# What is read of a run here.
TIME_COLUMNS = frozenset({*BEFORE_FIRST_BYTE, *(metric.column for metric in METRICS.values()), "timings"})
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """By how much a run was longer, and the phase that most of it is in, in words."""

    later_us: int
    phase: str
    before_us: int
    after_us: int


def growth_between(metric: str, before: Row, after: Row) -> str:
    """The sentence on the phase that most of a metric's growth is in; empty for what is no time from the beginning on,
    or a phase itself, and where no phase is most of it. Pure.
    """
    named = metric_of(metric)
    if not named.is_time or not is_instant(metric) or named.column in (*BEFORE_FIRST_BYTE, "download_us", "rtt_us"):
        return ""
    if is_user_timing(metric):
        grown = phase_that_grew(_with_timing(before, metric), _with_timing(after, metric), metric)
    else:
        grown = phase_that_grew(before, after, named.column)
    if grown is None:
        return ""
    later, least, most = (written(metric, us * named.scale) for us in (grown.later_us, grown.before_us, grown.after_us))
    return (
        f"{named.label}: the newest run over the limit took {later} longer than the last one within it, most of it in"
        f" {grown.phase}: {most} instead of {least}."
    )


def _with_timing(row: Row, timing: str) -> Row:
    """A run as if a user timing had a column of its own."""
    return {**row, timing: (row["timings"] or {}).get(timing)}


def left_us(row: Row, whole: str, phases: Iterable[str] = BEFORE_FIRST_BYTE) -> float | None:
    """What is left of a time beside phases that it is made of; None where it was not seen. Pure."""
    value_us = row.get(whole)
    return None if value_us is None else max(0, value_us - sum(row.get(phase) or 0 for phase in phases))


def phase_that_grew(before: Row, after: Row, column: str) -> Growth | None:
    """The phase that most of the growth of that time is in; None where it grew by little, and where none is. Pure."""
    was_us, now_us = before[column], after[column]
    if was_us is None or now_us is None or now_us - was_us < max(_LEAST_US, _LEAST_SHARE * was_us):
        return None
    spans = {phase: (before[name] or 0, after[name] or 0) for name, phase in BEFORE_FIRST_BYTE.items()}
    spans[BETWEEN] = (left_us(before, "ttfb_us") or 0, left_us(after, "ttfb_us") or 0)
    phase, (before_us, after_us) = max(spans.items(), key=lambda item: item[1][1] - item[1][0])
    if 2 * (after_us - before_us) < now_us - was_us:
        return None
    return Growth(later_us=now_us - was_us, phase=phase, before_us=before_us, after_us=after_us)
