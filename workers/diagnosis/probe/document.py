"""A probe and its diagnosis as the JSON document that `firstbyte probe` prints. Milliseconds; absent is null.

The names stay: scripts read them. Adding a field keeps the number in `schema`, changing one makes the next.
"""

from collections.abc import Sequence

from workers.diagnosis.diagnosis_document import diagnosis_parts
from workers.diagnosis.probe.flight_diagram import flight_diagram
from workers.diagnosis.probe.summary import (
    answer_of,
    main_trial,
    round_trips_of,
    telling_sample,
    unreadable_us,
    was_kept,
)
from workers.diagnosis.probe.tcp_document import tcp_part
from workers.diagnosis.probe.tls_document import tls_part
from workers.measurement.connection import Connection
from workers.measurement.document import (
    Document,
    certificate_part,
    connection_part,
    error_part,
    milliseconds,
    phase_lengths,
    timing_part,
)
from workers.measurement.evidence import Exchange, TrialEvidence
from workers.measurement.finding import Diagnosis
from workers.measurement.messages import Failed, Hop, Measured, ProbeMeasurement
from workers.measurement.timing import answer_phases

PROBE_SCHEMA = "firstbyte.probe/1"
# Headers that tell how the answer was made, and by whom: the rest is in `hops`.
_TELLING = (
    "server",
    "content-type",
    "content-encoding",
    "cache-control",
    "age",
    "strict-transport-security",
    "alt-svc",
    "server-timing",
)


def probe_document(url: str, samples: Sequence[Measured | Failed]) -> Document:
    """At least one sample. What was asked and answered is that of the sample that stands for all; TLS, flights and
    causes are told of the first, which is the deepest.

    `phases`, `address`, `tls` and `http` are those of the last hop; earlier hops are redirects, whose time is in
    `ttfb_ms` and `total_ms`. `ttfb_raw_ms` is when the answer's first byte was on the wire, `ttfb_decrypted_ms` when it
    could be read: what phases and browsers count.
    """
    telling = telling_sample(samples)
    deep, probe = _probe(samples[0]), _probe(telling)
    last = probe.hops[-1] if probe.hops else None
    connection = _connection(probe)
    diagnosis = deep.diagnosis or Diagnosis()
    return {
        "schema": PROBE_SCHEMA,
        "url": url,
        "address": connection.address if connection else None,
        "status": last.status if last else None,
        **_times(probe),
        "tcp": tcp_part(deep),
        "tls": tls_part(deep, _connection(deep)),
        "http": _http(last, connection, answer_of(probe)) | {"kept": was_kept(deep)},
        "hops": [_hop(hop) for hop in probe.hops],
        "connections": [connection_part(each) for each in probe.connections],
        "certificate": certificate_part(connection.certificate) if connection else None,
        "flights": _flights(main_trial(deep)),
        "samples": [_sample(one) for one in samples],
        **diagnosis_parts(diagnosis),
        "checklist": {
            str(check.column): {"answer": str(check.answer), "detail": check.detail} for check in diagnosis.checklist
        },
        "depth": str(deep.evidence.depth) if deep.evidence else None,
        "profile_verified": deep.evidence.profile_verified if deep.evidence else None,
        "tls_network_ms": milliseconds(probe.tls_network_us),
        "clock": str(probe.clock),
        "scheduling_lag_ms": milliseconds(probe.scheduling_lag_us),
        "error": error_part(telling),
    }


def _probe(outcome: Measured | Failed) -> ProbeMeasurement:
    return outcome.measurement if isinstance(outcome.measurement, ProbeMeasurement) else ProbeMeasurement()


def _connection(probe: ProbeMeasurement) -> Connection | None:
    number = probe.hops[-1].connection if probe.hops else None
    return next((each for each in reversed(probe.connections) if number in (None, each.number)), None)


def _times(probe: ProbeMeasurement) -> Document:
    phases = answer_phases([hop.timing for hop in probe.hops])
    connection = _connection(probe)
    hidden_us = unreadable_us(probe)
    raw_us = None if phases.ttfb_us is None or hidden_us is None else phases.ttfb_us - hidden_us
    return {
        "phases": phase_lengths(phases),
        "rtt_ms": milliseconds(connection.rtt_us) if connection else None,
        "round_trips": round_trips_of(probe)._asdict(),
        "ttfb_raw_ms": milliseconds(raw_us),
        "ttfb_decrypted_ms": milliseconds(phases.ttfb_us),
    }


def _hop(hop: Hop) -> Document:
    headers = [{"name": header.name, "value": header.value} for header in hop.response_headers]
    sizes = {"head_bytes": hop.head_bytes, "body_bytes": hop.body_bytes}
    place = {"url": hop.url, "connection": hop.connection, "status": hop.status}
    return place | timing_part(hop.timing) | sizes | {"response_headers": headers}


def _http(last: Hop | None, connection: Connection | None, answer: Exchange | None) -> Document:
    told = {header.name.lower(): header.value for header in reversed(last.response_headers)} if last else {}
    return {
        "status": last.status if last else None,
        "protocol": connection.protocol if connection else None,
        "interim": list(answer.interim) if answer else [],
        "headers": {name: told[name] for name in _TELLING if name in told},
        "head_bytes": last.head_bytes if last else None,
        "body_bytes": last.body_bytes if last else None,
    }


def _flights(trial: TrialEvidence | None) -> list[Document]:
    if trial is None:
        return []
    return [
        {
            "at_ms": milliseconds(row.at_us),
            "until_ms": milliseconds(row.until_us),
            "direction": str(row.direction),
            "label": row.label,
            "bytes": row.size_bytes,
            "gap_ms": milliseconds(row.gap_us),
            "gap_rtt": row.gap_rtt,
        }
        for row in flight_diagram(trial).rows
    ]


def _sample(outcome: Measured | Failed) -> Document:
    probe = _probe(outcome)
    connection = _connection(probe)
    protocol = {"status": probe.hops[-1].status if probe.hops else None}
    return _times(probe) | protocol | {"address": connection and connection.address, "error": error_part(outcome)}
