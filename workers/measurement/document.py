"""A measurement as the JSON document that the command line prints: milliseconds with three decimals, absent is null.

The names stay: scripts read them. Adding a field keeps the number in `schema`, changing one makes the next.
"""

from typing import Any

from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection
from workers.measurement.failure import Failure
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.timing import PHASES, Phases, Span, Timing, phases_of
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request

Document = dict[str, Any]

PAGE_SCHEMA = "firstbyte.page/1"


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
        "phases": phase_lengths(phases_of(document.timing) if document else Phases()),
        "vitals": _vitals(page.vitals if page else Vitals()),
        "requests": [_request(row) for row in requests],
        "truncated": page.waterfall.truncated if page else False,
        "connections": [connection_part(each) for each in page.waterfall.connections] if page else [],
        "warnings": list(page.warnings) if page else [],
        "profile_verified": page.profile_verified if page else None,
        "error": error_part(outcome),
    }


def milliseconds(us: int | None) -> float | None:
    return None if us is None else round(us / 1000, 3)


def _span_ms(span: Span | None) -> float | None:
    return None if span is None else milliseconds(span.duration_us)


def phase_lengths(phases: Phases) -> Document:
    return {f"{phase}_ms": milliseconds(getattr(phases, f"{phase}_us")) for phase in (*PHASES, "ttfb", "total")}


def timing_part(timing: Timing) -> Document:
    return {"start_ms": milliseconds(timing.start_us), "phases": phase_lengths(phases_of(timing))}


def connection_part(connection: Connection) -> Document:
    return {
        "number": connection.number,
        "host": connection.host,
        "port": connection.port,
        "address": connection.address,
        "protocol": connection.protocol,
        "dns_ms": _span_ms(connection.dns),
        "connect_ms": _span_ms(connection.connect),
        "tls_ms": _span_ms(connection.tls),
        "rtt_ms": milliseconds(connection.rtt_us),
        "tls_round_trips": connection.tls_round_trips,
        "tls_version": connection.tls_version,
        "cipher": connection.cipher,
        "resumed": connection.resumed,
        "certificate_error": connection.certificate_error,
        "received_bytes": connection.received_bytes,
        "requests": connection.requests,
    }


def certificate_part(certificate: Certificate | None) -> Document | None:
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
    times = {f"{name}_ms": milliseconds(getattr(vitals, f"{name}_us")) for name in instants}
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
    return {name: getattr(row, name) for name in plain + more} | words | timing_part(row.timing)


def error_part(outcome: Measured | Failed) -> Document | None:
    return _fault(outcome.failure) if isinstance(outcome, Failed) else None


def _fault(failure: Failure) -> Document:
    return {
        "kind": str(failure.kind),
        "stage": str(failure.stage),
        "blame": str(failure.blame),
        "detail": failure.detail,
    }
