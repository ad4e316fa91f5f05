"""From a result to the rows that are stored: pure, and the only place that knows what each column holds."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, NamedTuple
from uuid import UUID

from backend.runs.reading import (
    AnyRead,
    ConnectionRead,
    FailedRead,
    LegRead,
    MissedRead,
    OutcomeRead,
    PageRead,
    PairRead,
    ProbeRead,
    ResultRead,
    SpanRead,
    TimingRead,
    document_of,
    measurement_of,
)
from backend.sites.followed import timings_in
from workers.measurement.contention import is_contended, is_probe_contended
from workers.measurement.evidence import Depth
from workers.measurement.finding import Severity
from workers.measurement.pair import Leg

# Agents are trusted with their own region, not with our memory or a chart's legend.
MAX_TEXT = 1_000

# The columns of a Slot and an Arrival come first: they are known only when the run is found.
RUN_COLUMNS = (
    "run_id, scheduled_for, monitor_id, region_id, attempt, kind, trigger, first_run_id, received_at, late, "
    "has_screenshot, has_film, outcome, missed_reason, failure_stage, failure_kind, failure_blame, failure_detail, "
    "agent, agent_version, config_version, started_at, duration_us, clock, dns_us, connect_us, tls_us, send_us, "
    "wait_us, download_us, ttfb_us, total_us, rtt_us, tls_round_trips, status_code, protocol, fcp_us, lcp_us, cls, "
    "load_us, fully_loaded_us, start_render_us, speed_index_us, visually_complete_us, tbt_us, requests, connections, "
    "bytes, browser_version, depth, contended, profile_verified"
)
# Beside these, what the run's monitor follows of `timings_of`: which one it is is known only when the run is found.
FOLLOWED_COLUMN = "timings"
# What of the columns from `clock` on a network has no part in; the rest says nothing where its profile was not kept.
_UNSHAPED = ("clock", "status_code", "protocol", "requests", "connections", "bytes", "browser_version", "contended")
_MEASURED = tuple(RUN_COLUMNS[RUN_COLUMNS.index("clock") :].split(", "))

# Here the first four of a Slot.
CONNECTION_COLUMNS = (
    "run_id, scheduled_for, monitor_id, region_id, number, host, port, address, protocol, dns_us, connect_us, tls_us, "
    "rtt_us, tls_round_trips, tls_version, cipher, resumed, certificate_sha256, certificate_issuer, "
    "certificate_not_before, certificate_not_after, certificate_error, received_bytes, requests, preconnected"
)
# The same four.
LEG_COLUMNS = (
    "run_id, scheduled_for, monitor_id, region_id, position, leg, reused, kept, connection, dns_us, "
    "connect_us, tls_us, send_us, wait_us, download_us, ttfb_us, total_us, status_code, protocol, encoding, "
    "head_bytes, body_bytes, cache, cache_evidence, age_s, etag"
)
# The same four.
FINDING_COLUMNS = (
    "run_id, scheduled_for, monitor_id, region_id, position, finding, severity, confidence, saving_us, host, not_judged"
)
# There are about forty causes; those of a page are told by host.
MAX_FINDINGS = 100

Row = tuple[Any, ...]


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


class Arrival(NamedTuple):
    """How the result came in."""

    received_at: datetime
    late: bool = False
    has_screenshot: bool = False
    has_film: bool = False


def run_values(result: ResultRead) -> Row:
    """What of RUN_COLUMNS the result itself tells."""
    return (
        *_ending(result.outcome),
        text(result.agent),
        text(result.agent_version),
        result.config_version,
        result.started_at,
        result.duration_us,
        *_metrics(measurement_of(result)),
    )


def connection_values(connection: ConnectionRead, *, timed: bool) -> Row:
    """What of CONNECTION_COLUMNS the result itself tells, with no time unless `timed`.

    Raises ValueError for what is no address.
    """
    certificate = connection.certificate
    return (
        connection.number,
        text(connection.host),
        connection.port,
        _address(connection.address),
        text(connection.protocol),
        *(_times(connection) if timed else (None,) * 5),
        text(connection.tls_version),
        text(connection.cipher),
        connection.resumed,
        text(certificate.sha256) if certificate else None,
        text(certificate.issuer) if certificate else None,
        certificate.not_before if certificate else None,
        certificate.not_after if certificate else None,
        text(connection.certificate_error),
        connection.received_bytes,
        connection.requests,
        connection.preconnected,
    )


def _times(connection: ConnectionRead) -> Row:
    return (
        _duration_us(connection.dns),
        _duration_us(connection.connect),
        _duration_us(connection.tls),
        connection.rtt_us,
        connection.tls_round_trips,
    )


def leg_values(leg: LegRead, not_kept: Sequence[Leg]) -> Row:
    """What of LEG_COLUMNS the exchange itself tells."""
    cache, evidence = leg.cache, leg.cache.evidence
    return (
        leg.order,
        leg.leg.value,
        leg.reused,
        leg.leg not in not_kept,
        leg.connection,
        *_phases(leg.timing),
        leg.status,
        text(leg.protocol),
        text(leg.content_encoding),
        leg.head_bytes,
        leg.body_bytes,
        cache.state.value,
        text(f"{evidence.name}: {evidence.value}") if evidence else None,
        cache.age_s,
        text(leg.etag),
    )


def finding_values(measurement: AnyRead) -> list[Row]:
    """What of FINDING_COLUMNS a probe's or page's diagnosis tells, in its order: see `models.Finding`."""
    diagnosis = None if isinstance(measurement, PairRead) else measurement.diagnosis
    if diagnosis is None or profile_kept(measurement) is False:
        return []
    is_deep = _depth(measurement) == Depth.DEEP.value
    found: list[Row] = [
        (
            text(one.id),
            text(one.severity),
            text(one.confidence),
            one.saving_us,
            text(one.host),
            None,
        )
        for one in diagnosis.findings
        if is_deep or one.severity != Severity.INFO
    ]
    left_open = diagnosis.not_judged if is_deep else []
    found += [(text(one.id), None, None, None, None, text(one.reason)) for one in left_open]
    return [(position, *one) for position, one in enumerate(found[:MAX_FINDINGS], start=1)]


def timings_of(measurement: AnyRead) -> Mapping[str, int] | None:
    """All user timings of a page whose profile was kept, by what is followed; None where nobody knows any."""
    told = measurement.vitals.user_timings if isinstance(measurement, PageRead) else None
    if told is None or profile_kept(measurement) is False:
        return None
    return timings_in(told)


def connections_of(measurement: AnyRead) -> Sequence[ConnectionRead]:
    if isinstance(measurement, PageRead):
        return measurement.waterfall.connections
    return measurement.connections


def text(value: str | None) -> str | None:
    """Fit for a column: PostgreSQL stores no NUL, and a certificate's issuer may hold one."""
    if value is None or (len(value) <= MAX_TEXT and "\0" not in value):
        return value
    return value[:MAX_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _ending(outcome: OutcomeRead) -> tuple[str | None, ...]:
    if isinstance(outcome, MissedRead):
        return ("missed", outcome.reason.value, None, None, None, None)
    if isinstance(outcome, FailedRead):
        failure = outcome.failure
        words = (failure.stage.value, failure.kind.value, failure.blame.value)
        return ("failed", None, *words, text(failure.detail))
    return ("measured", None, None, None, None, None)


def profile_kept(measurement: AnyRead) -> bool | None:
    """Whether a shaped run's network kept its profile; None for all others."""
    if not isinstance(measurement, ProbeRead):
        return measurement.profile_verified
    evidence = measurement.evidence
    return evidence.profile_verified if evidence else None


def _metrics(measurement: AnyRead | None) -> tuple[Any, ...]:
    """Everything from `clock` on."""
    if measurement is None:
        return (None,) * len(_MEASURED)
    if isinstance(measurement, PairRead):
        values = _pair_metrics(measurement)
    else:
        values = _page_metrics(measurement) if isinstance(measurement, PageRead) else _probe_metrics(measurement)
    kept = profile_kept(measurement)
    if kept is False:
        values = tuple(v if name in _UNSHAPED else None for name, v in zip(_MEASURED[:-1], values, strict=True))
    return (*values, kept)


def _probe_metrics(probe: ProbeRead) -> tuple[Any, ...]:
    hops, connections = probe.hops, probe.connections
    last = hops[-1] if hops else None
    connection = _numbered(connections, last.connection if last else None)
    received = [size for hop in hops for size in (hop.head_bytes, hop.body_bytes) if size is not None]
    phases = _phases(last.timing if last else None, zero_us=hops[0].timing.start_us if hops else None)
    return (
        probe.clock.value,
        *phases,
        connection.rtt_us if connection else None,
        connection.tls_round_trips if connection else None,
        last.status if last else None,
        text(connection.protocol) if connection else None,
        *(None,) * 9,
        len(hops),
        len(connections),
        sum(received) if received else None,
        None,
        _depth(probe),
        _contended(probe, phases),
    )


def _pair_metrics(pair: PairRead) -> tuple[Any, ...]:
    """Those of the CDN's cold exchange, as if it were a probe; the counts are of all exchanges."""
    legs, connections = pair.exchanges, pair.connections
    cdn = next((leg for leg in legs if leg.leg is Leg.A and not leg.reused), None)
    connection = _numbered(connections, cdn.connection if cdn else None)
    received = [size for leg in legs for size in (leg.head_bytes, leg.body_bytes) if size is not None]
    phases = _phases(cdn.timing if cdn else None)
    return (
        pair.clock.value,
        *phases,
        connection.rtt_us if connection else None,
        connection.tls_round_trips if connection else None,
        cdn.status if cdn else None,
        text(cdn.protocol) if cdn else None,
        *(None,) * 9,
        len(legs),
        len(connections),
        sum(received) if received else None,
        None,
        None,
        _contended(pair, phases),
    )


def _page_metrics(page: PageRead) -> tuple[Any, ...]:
    requests, connections = page.waterfall.requests, page.waterfall.connections
    document = document_of(page)
    connection = _numbered(connections, document.connection if document else None)
    vitals = page.vitals
    return (
        None,
        *_phases(document.timing if document else None, zero_us=0),
        connection.rtt_us if connection else None,
        connection.tls_round_trips if connection else None,
        document.status if document else None,
        text(document.protocol) if document else None,
        vitals.fcp_us,
        vitals.lcp_us,
        vitals.cls,
        vitals.load_us,
        vitals.fully_loaded_us,
        vitals.start_render_us,
        vitals.speed_index_us,
        vitals.visually_complete_us,
        vitals.tbt_us,
        len(requests),
        len(connections),
        sum(request.transferred_bytes or 0 for request in requests),
        text(page.browser_version),
        _depth(page),
        None if vitals.contention_us is None else is_contended(vitals),
    )


def _contended(measurement: ProbeRead | PairRead, phases: tuple[int | None, ...]) -> bool | None:
    """None where nobody knows; the last phases are to the first and to the last byte."""
    late_us, ttfb_us = measurement.contention_us, phases[-2]
    return None if late_us is None else is_probe_contended(late_us, ttfb_us)


def _depth(measurement: AnyRead) -> str | None:
    """How deep a probe looked. One that brings no evidence did not look; a page that was judged was seen whole."""
    if isinstance(measurement, PageRead):
        return None if measurement.diagnosis is None else Depth.DEEP.value
    evidence = measurement.evidence if isinstance(measurement, ProbeRead) else None
    return evidence.depth.value if evidence else None


def _phases(timing: TimingRead | None, *, zero_us: int | None = None) -> tuple[int | None, ...]:
    """Those of `workers.measurement.timing`: `document_phases` from 0, `answer_phases` from the start of the first hop,
    else `phases_of`. Tests compare each."""
    if timing is None:
        return (None,) * 8
    end_us, wait = timing.end_us, timing.wait
    start_us = timing.start_us if zero_us is None else zero_us
    return (
        _duration_us(timing.dns),
        _duration_us(timing.connect),
        _duration_us(timing.tls),
        _duration_us(timing.send),
        _duration_us(wait),
        _duration_us(timing.download),
        None if wait is None else wait.end_us - start_us,
        None if end_us is None else end_us - start_us,
    )


def _numbered(connections: Iterable[ConnectionRead], number: int | None) -> ConnectionRead | None:
    return next((connection for connection in connections if connection.number == number), None)


# The same few hosts are measured again and again.
@lru_cache(maxsize=4_096)
def _address(value: str | None) -> IPv4Address | IPv6Address | None:
    """Without the zone of a link-local address, which PostgreSQL's inet has no place for. Raises ValueError."""
    return None if value is None else ip_address(value.partition("%")[0])


def _duration_us(span: SpanRead | None) -> int | None:
    """None also for a span that ends before it starts: whatever that was, it measured nothing."""
    if span is None or span.end_us < span.start_us:
        return None
    return span.end_us - span.start_us
