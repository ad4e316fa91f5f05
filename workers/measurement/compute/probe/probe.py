"""From what a probe saw to what happened: its hops in a row, and the connections they opened.

How late our own process was is told by `scheduling_lag_us`, and where that may be in a wait by `contention_us`.
"""

from workers.measurement.captures_probe import HopCapture, ProbeCapture
from workers.measurement.compute.probe.evidence import Deeper, probe_evidence
from workers.measurement.compute.probe.hop import (
    RunClock,
    connection_of,
    contention_us,
    kept_headers,
    lengths_of,
    timing_of,
    us,
)
from workers.measurement.connection import Connection
from workers.measurement.messages import Hop, ProbeMeasurement
from workers.measurement.timing import Timing


def probe_measurement(capture: ProbeCapture, deeper: Deeper | None = None) -> ProbeMeasurement:
    """What a probe measured, as far as it came; `deeper` is what a deep one saw besides."""
    clock = RunClock.of(capture.before, capture.after, capture.hops)
    hops: list[Hop] = []
    connections: list[Connection] = []
    at_ns = 0
    network_us = None
    for number, seen in enumerate(capture.hops, 1):
        lengths = lengths_of(seen, clock)
        timing = timing_of(lengths, at_ns, complete=seen.response is not None and seen.response.last_read is not None)
        at_ns += sum([length for length in lengths if length is not None])
        hops.append(_hop(seen, number, timing))
        connections.append(connection_of(seen, number, timing, clock))
        tls_ns, shaken = lengths.tls, seen.handshake
        network_us = None if tls_ns is None or shaken is None else us(tls_ns - shaken.own_ns)
    return ProbeMeasurement(
        hops=tuple(hops),
        connections=tuple(connections),
        tls_network_us=network_us,
        clock=clock.kind,
        scheduling_lag_us=clock.lag_us,
        contention_us=contention_us(capture.hops, clock),
        evidence=probe_evidence(capture, clock, deeper),
    )


def _hop(seen: HopCapture, number: int, timing: Timing) -> Hop:
    answer = seen.response
    if answer is None:
        return Hop(url=seen.url, connection=number, timing=timing)
    return Hop(
        url=seen.url,
        connection=number,
        timing=timing,
        status=answer.status,
        response_headers=kept_headers(answer.headers),
        head_bytes=answer.head_bytes,
        body_bytes=answer.body_bytes,
    )
