"""From a result to the rows that are stored: pure, and the only place that knows what each column holds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from workers.measurement.connection import Connection
from workers.measurement.messages import (
    Failed,
    Measured,
    Measurement,
    Missed,
    Outcome,
    PageMeasurement,
    ProbeMeasurement,
    RunResult,
)
from workers.measurement.timing import Span, Timing, phases_of

# Agents are trusted with their own region, not with our memory or a chart's legend.
MAX_TEXT = 1_000

RUN_COLUMNS = (
    "run_id, scheduled_for, monitor_id, region_id, attempt, kind, trigger, first_run_id, received_at, late, "
    "has_screenshot, outcome, missed_reason, failure_stage, failure_kind, failure_blame, failure_detail, agent, "
    "agent_version, config_version, started_at, duration_us, clock, dns_us, connect_us, tls_us, send_us, "
    "wait_us, download_us, ttfb_us, total_us, rtt_us, tls_round_trips, status_code, protocol, fcp_us, lcp_us, "
    "cls, load_us, fully_loaded_us, requests, connections, bytes, browser_version"
)
CONNECTION_COLUMNS = (
    "run_id, scheduled_for, number, monitor_id, region_id, host, port, address, protocol, dns_us, connect_us, "
    "tls_us, rtt_us, tls_round_trips, tls_version, cipher, resumed, certificate_sha256, certificate_issuer, "
    "certificate_not_after, certificate_error, received_bytes, requests, preconnected"
)


class Slot(NamedTuple):
    """Which run it was, as the service knows it: an agent's word does not decide where a row goes."""

    run_id: UUID
    scheduled_for: datetime
    monitor_pk: int
    region_pk: int
    attempt: int
    kind: str
    trigger: str
    first_run_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """How the result came in."""

    received_at: datetime
    late: bool = False
    has_screenshot: bool = False


def run_row(slot: Slot, result: RunResult, arrival: Arrival) -> tuple[Any, ...]:
    """The values of RUN_COLUMNS."""
    return (
        *slot,
        arrival.received_at,
        arrival.late,
        arrival.has_screenshot,
        *_ending(result.outcome),
        text(result.agent),
        text(result.agent_version),
        result.config_version,
        result.started_at,
        result.duration_us,
        *_metrics(measurement_of(result)),
    )


def connection_rows(slot: Slot, measurement: Measurement) -> Iterator[tuple[Any, ...]]:
    """The values of CONNECTION_COLUMNS, one row for each connection."""
    for connection in connections_of(measurement):
        certificate = connection.certificate
        yield (
            slot.run_id,
            slot.scheduled_for,
            connection.number,
            slot.monitor_pk,
            slot.region_pk,
            text(connection.host),
            connection.port,
            _address(connection.address),
            text(connection.protocol),
            _duration_us(connection.dns),
            _duration_us(connection.connect),
            _duration_us(connection.tls),
            connection.rtt_us,
            connection.tls_round_trips,
            text(connection.tls_version),
            text(connection.cipher),
            connection.resumed,
            text(certificate.sha256) if certificate else None,
            text(certificate.issuer) if certificate else None,
            certificate.not_after if certificate else None,
            text(connection.certificate_error),
            connection.received_bytes,
            connection.requests,
            connection.preconnected,
        )


def measurement_of(result: RunResult) -> Measurement | None:
    """What was seen, also before a failure."""
    return result.outcome.measurement if isinstance(result.outcome, Measured | Failed) else None


def connections_of(measurement: Measurement) -> tuple[Connection, ...]:
    return measurement.connections if isinstance(measurement, ProbeMeasurement) else measurement.waterfall.connections


def text(value: str | None) -> str | None:
    """Fit for a column: PostgreSQL stores no NUL, and a certificate's issuer may hold one."""
    if value is None:
        return None
    return value[:MAX_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _ending(outcome: Outcome) -> tuple[str | None, ...]:
    if isinstance(outcome, Missed):
        return ("missed", outcome.reason.value, None, None, None, None)
    if isinstance(outcome, Failed):
        failure = outcome.failure
        return ("failed", None, failure.stage.value, failure.kind.value, failure.blame.value, text(failure.detail))
    return ("measured", None, None, None, None, None)


def _metrics(measurement: Measurement | None) -> tuple[Any, ...]:
    """Everything from `clock` on."""
    if isinstance(measurement, PageMeasurement):
        return _page_metrics(measurement)
    if isinstance(measurement, ProbeMeasurement):
        return _probe_metrics(measurement)
    return (None,) * 22


def _probe_metrics(probe: ProbeMeasurement) -> tuple[Any, ...]:
    last = probe.hops[-1] if probe.hops else None
    connection = _numbered(probe.connections, last.connection if last else None)
    received = [size for hop in probe.hops for size in (hop.head_bytes, hop.body_bytes) if size is not None]
    return (
        probe.clock.value,
        *_phases(last.timing if last else None),
        connection.rtt_us if connection else None,
        connection.tls_round_trips if connection else None,
        last.status if last else None,
        text(connection.protocol) if connection else None,
        None,
        None,
        None,
        None,
        None,
        len(probe.hops),
        len(probe.connections),
        sum(received) if received else None,
        None,
    )


def _page_metrics(page: PageMeasurement) -> tuple[Any, ...]:
    requests = page.waterfall.requests
    document = next((request for request in requests if request.number == page.document), None)
    connection = _numbered(page.waterfall.connections, document.connection if document else None)
    vitals = page.vitals
    return (
        None,
        *_phases(document.timing if document else None),
        connection.rtt_us if connection else None,
        connection.tls_round_trips if connection else None,
        document.status if document else None,
        text(document.protocol) if document else None,
        vitals.fcp_us,
        vitals.lcp_us,
        vitals.cls,
        vitals.load_us,
        vitals.fully_loaded_us,
        len(requests),
        len(page.waterfall.connections),
        sum(request.transferred_bytes or 0 for request in requests),
        text(page.browser_version),
    )


def _phases(timing: Timing | None) -> tuple[int | None, ...]:
    if timing is None:
        return (None,) * 8
    phases = phases_of(timing)
    return (
        phases.dns_us,
        phases.connect_us,
        phases.tls_us,
        phases.send_us,
        phases.wait_us,
        phases.download_us,
        phases.ttfb_us,
        phases.total_us,
    )


def _numbered(connections: Iterable[Connection], number: int | None) -> Connection | None:
    return next((connection for connection in connections if connection.number == number), None)


def _address(value: str | None) -> str | None:
    """Without the zone of a link-local address, which PostgreSQL's inet has no place for."""
    return None if value is None else value.partition("%")[0]


def _duration_us(span: Span | None) -> int | None:
    return None if span is None else span.duration_us
