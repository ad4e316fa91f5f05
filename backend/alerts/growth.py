"""Which phase made a run longer than an earlier one: where to look first when a budget is exceeded."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from backend.alerts.metrics import METRICS, written
from backend.runs.models import Run

# The parts of a first byte, as a sentence names them.
_BEFORE_FIRST_BYTE = {
    "dns_us": "DNS",
    "connect_us": "connecting",
    "tls_us": "TLS",
    "send_us": "sending",
    "wait_us": "waiting for the server",
}
# Less is no news of two single runs.
_LEAST_MS, _LEAST_SHARE = 5.0, 0.1
Row = Mapping[str, Any]


def rows_of(run_ids: Iterable[UUID | None]) -> dict[UUID, Row]:
    """What is stored of these runs' times, as far as they are still kept. One statement, none without runs."""
    wanted = [run_id for run_id in run_ids if run_id is not None]
    columns = {*_BEFORE_FIRST_BYTE, *(metric.column for metric in METRICS.values())}
    return {row["run_id"]: row for row in Run.objects.filter(run_id__in=wanted).values("run_id", *columns)}


def growth_between(metric: str, before: Row, after: Row) -> str:
    """The sentence on the phase that most of a metric's growth is in; empty for what is no time, or a phase itself,
    and where no phase is most of it. Pure.
    """
    named = METRICS[metric]
    if named.unit != "ms" or named.column in (*_BEFORE_FIRST_BYTE, "download_us", "rtt_us"):
        return ""
    was, now = before[named.column], after[named.column]
    if was is None or now is None or (now - was) * named.scale < max(_LEAST_MS, _LEAST_SHARE * was * named.scale):
        return ""
    grown = {column: (after[column] or 0) - (before[column] or 0) for column in _BEFORE_FIRST_BYTE}
    column = max(grown, key=lambda name: grown[name])
    if 2 * grown[column] < now - was:
        return ""
    later, least, most = (
        written(metric, value * named.scale) for value in (now - was, before[column] or 0, after[column] or 0)
    )
    return (
        f"{named.label}: the newest run over the limit took {later} longer than the last one within it, most of it in"
        f" {_BEFORE_FIRST_BYTE[column]}: {most} instead of {least}."
    )
