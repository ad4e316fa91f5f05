"""Parts of the JSON documents that the command line prints: milliseconds with three decimals, absent is null.

The names stay: scripts read them. Adding a field keeps the number in `schema`, changing one makes the next.
"""

from typing import Any

from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection, Pause
from workers.measurement.failure import Failure
from workers.measurement.messages import Failed, Measured
from workers.measurement.timing import PHASES, Phases, Span, Timing, phases_of
from workers.measurement.waterfall import Place

Document = dict[str, Any]


def milliseconds(us: float | None) -> float | None:
    """Microseconds as every door tells them: of microsecond precision."""
    return None if us is None else round(us / 1000, 3)


def _span_ms(span: Span | None) -> float | None:
    return None if span is None else milliseconds(span.duration_us)


def phase_lengths(phases: Phases) -> Document:
    return {f"{phase}_ms": milliseconds(getattr(phases, f"{phase}_us")) for phase in (*PHASES, "ttfb", "total")}


def timing_part(timing: Timing) -> Document:
    return {"start_ms": milliseconds(timing.start_us), "phases": phase_lengths(phases_of(timing))}


def instants_part(timing: Timing) -> Document:
    """When phases began and ended, since the run's zero. `send_ms` is when the request was begun to be sent, `ttfb_ms`
    when its first byte was there.
    """
    send_us = timing.send.start_us if timing.send else None
    return opening_part(timing) | {
        "send_ms": milliseconds(send_us),
        "ttfb_ms": milliseconds(timing.first_byte_us),
        "end_ms": milliseconds(timing.end_us),
    }


def place_part(place: Place | None) -> Document:
    """Where the tag ends that asked for a row."""
    line, column = place or (None, None)
    return {"initiator_line": line, "initiator_column": column}


def opening_part(opened: Timing | Connection) -> Document:
    """When a lookup, a connect and a TLS handshake began and ended, since the run's zero."""
    spans = {"dns": opened.dns, "connect": opened.connect, "tls": opened.tls}
    return {
        f"{name}_{edge}_ms": milliseconds(getattr(span, f"{edge}_us")) if span else None
        for name, span in spans.items()
        for edge in ("start", "end")
    }


def connection_part(connection: Connection) -> Document:
    return {
        "number": connection.number,
        # A network log does not always tell where a connection was to lead.
        "host": connection.host or None,
        "port": connection.port or None,
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


def pauses_part(connection: Connection) -> Document:
    """When nothing came while an answer was on its way; null where nobody looked."""
    if connection.pauses is None:
        return {"pauses": None}
    return {"pauses": list(map(_pause, connection.pauses))}


def _pause(pause: Pause) -> Document:
    instants = {"start_ms": milliseconds(pause.span.start_us), "end_ms": milliseconds(pause.span.end_us)}
    return instants | {"behind_bytes": pause.behind_bytes}


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


def error_part(outcome: Measured | Failed) -> Document | None:
    return failure_part(outcome.failure) if isinstance(outcome, Failed) else None


def failure_part(failure: Failure) -> Document:
    return {
        "kind": str(failure.kind),
        "stage": str(failure.stage),
        "blame": str(failure.blame),
        "detail": failure.detail,
    }
