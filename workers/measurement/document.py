"""A measurement as the JSON document that the command line prints: milliseconds with three decimals, absent is null.

The names stay: scripts read them. Adding a field keeps the number in `schema`, changing one makes the next.
"""

from typing import Any

from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection
from workers.measurement.failure import Failure
from workers.measurement.messages import Failed, Hop, Measured, PageMeasurement, ProbeMeasurement
from workers.measurement.timing import PHASES, Phases, Span, Timing, phases_of
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request

Document = dict[str, Any]

PROBE_SCHEMA = "firstbyte.probe/1"
PAGE_SCHEMA = "firstbyte.page/1"


def probe_document(url: str, outcome: Measured | Failed) -> Document:
    """`phases`, `address` and `certificate` are those of the last hop; earlier hops are redirects."""
    probe = outcome.measurement if isinstance(outcome.measurement, ProbeMeasurement) else ProbeMeasurement()
    last = probe.hops[-1] if probe.hops else None
    number = last.connection if last else None
    connection = next((each for each in reversed(probe.connections) if number in (None, each.number)), None)
    return {
        "schema": PROBE_SCHEMA,
        "url": url,
        "address": connection.address if connection else None,
        "status": last.status if last else None,
        "phases": _phases(phases_of(last.timing) if last else Phases()),
        "rtt_ms": _ms(connection.rtt_us) if connection else None,
        "hops": [_hop(hop) for hop in probe.hops],
        "connections": [_connection(each) for each in probe.connections],
        "certificate": _certificate(connection.certificate) if connection else None,
        "tls_network_ms": _ms(probe.tls_network_us),
        "clock": str(probe.clock),
        "scheduling_lag_ms": _ms(probe.scheduling_lag_us),
        "error": _error(outcome),
    }


def page_document(url: str, outcome: Measured | Failed) -> Document:
    """`phases` are those of the document; every request has its own and where it begins."""
    page = outcome.measurement if isinstance(outcome.measurement, PageMeasurement) else None
    requests = page.waterfall.requests if page else ()
    document = next((row for row in requests if page and row.number == page.document), None)
    return {
        "schema": PAGE_SCHEMA,
        "url": url,
        "title": page.title if page else None,
        "browser": page.browser_version if page else None,
        "status": document.status if document else None,
        "phases": _phases(phases_of(document.timing) if document else Phases()),
        "vitals": _vitals(page.vitals if page else Vitals()),
        "requests": [_request(row) for row in requests],
        "truncated": page.waterfall.truncated if page else False,
        "connections": [_connection(each) for each in page.waterfall.connections] if page else [],
        "warnings": list(page.warnings) if page else [],
        "error": _error(outcome),
    }


def _ms(us: int | None) -> float | None:
    return None if us is None else round(us / 1000, 3)


def _span_ms(span: Span | None) -> float | None:
    return None if span is None else _ms(span.duration_us)


def _phases(phases: Phases) -> Document:
    return {f"{phase}_ms": _ms(getattr(phases, f"{phase}_us")) for phase in (*PHASES, "ttfb", "total")}


def _timed(timing: Timing) -> Document:
    return {"start_ms": _ms(timing.start_us), "phases": _phases(phases_of(timing))}


def _hop(hop: Hop) -> Document:
    headers = [{"name": header.name, "value": header.value} for header in hop.response_headers]
    sizes = {"head_bytes": hop.head_bytes, "body_bytes": hop.body_bytes}
    place = {"url": hop.url, "connection": hop.connection, "status": hop.status}
    return place | _timed(hop.timing) | sizes | {"response_headers": headers}


def _connection(connection: Connection) -> Document:
    return {
        "number": connection.number,
        "host": connection.host,
        "port": connection.port,
        "address": connection.address,
        "protocol": connection.protocol,
        "dns_ms": _span_ms(connection.dns),
        "connect_ms": _span_ms(connection.connect),
        "tls_ms": _span_ms(connection.tls),
        "rtt_ms": _ms(connection.rtt_us),
        "tls_round_trips": connection.tls_round_trips,
        "tls_version": connection.tls_version,
        "cipher": connection.cipher,
        "resumed": connection.resumed,
        "certificate_error": connection.certificate_error,
        "received_bytes": connection.received_bytes,
        "requests": connection.requests,
    }


def _certificate(certificate: Certificate | None) -> Document | None:
    if certificate is None:
        return None
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "names": list(certificate.names),
        "not_before": certificate.not_before.isoformat(),
        "not_after": certificate.not_after.isoformat(),
        "sha256": certificate.sha256,
        "key_type": certificate.key_type,
        "key_bits": certificate.key_bits,
        "chain_length": certificate.chain_length,
        "chain_bytes": certificate.chain_bytes,
    }


def _vitals(vitals: Vitals) -> Document:
    instants = ("fcp", "lcp", "dom_content_loaded", "load", "fully_loaded")
    times = {f"{name}_ms": _ms(getattr(vitals, f"{name}_us")) for name in instants}
    return times | {"cls": vitals.cls, "lcp_element": vitals.lcp_element, "lcp_url": vitals.lcp_url}


def _request(row: Request) -> Document:
    plain = (
        "number",
        "url",
        "method",
        "status",
        "protocol",
        "connection",
        "reused",
        "address",
        "mime_type",
        "priority",
    )
    more = ("transferred_bytes", "body_bytes", "initiator_url", "render_blocking", "redirected_to", "failure")
    words = {"resource_type": str(row.resource_type), "served_from": str(row.served_from)}
    return {name: getattr(row, name) for name in plain + more} | words | _timed(row.timing)


def _error(outcome: Measured | Failed) -> Document | None:
    return _fault(outcome.failure) if isinstance(outcome, Failed) else None


def _fault(failure: Failure) -> Document:
    return {
        "kind": str(failure.kind),
        "stage": str(failure.stage),
        "blame": str(failure.blame),
        "detail": failure.detail,
    }
