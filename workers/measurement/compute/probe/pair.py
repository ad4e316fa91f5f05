"""From what was seen of a pair to what happened on its two legs. Cold and reused exchanges stand one after another."""

from dataclasses import replace

from workers.measurement.captures_probe import HopCapture, LegCapture, PairCapture
from workers.measurement.compute.cache_state import cache_report
from workers.measurement.compute.probe.hop import (
    RunClock,
    connection_of,
    contention_us,
    kept_headers,
    lengths_of,
    timing_of,
)
from workers.measurement.connection import Connection, Header
from workers.measurement.messages import PairMeasurement
from workers.measurement.pair import Leg, LegExchange, Protocols
from workers.measurement.timing import Timing

_MAX_CODING_CHARS = 40
_MAX_ETAG_CHARS = 200


def pair_measurement(capture: PairCapture) -> PairMeasurement:
    """What was measured, as far as it came."""
    clock = RunClock.of(capture.before, capture.after, (leg.hop for leg in capture.legs))
    exchanges: list[LegExchange] = []
    connections: dict[Leg, Connection] = {}
    at_ns = 0
    for order, seen in enumerate(capture.legs, 1):
        lengths = lengths_of(_by_the_wire(seen.hop), clock)
        timing = timing_of(lengths, at_ns, complete=_ended(seen.hop))
        at_ns += sum(length for length in lengths if length is not None)
        connection = _connection(seen, connections, timing, clock)
        connections[seen.leg] = connection
        exchanges.append(_exchange(seen, order, timing, connection))
    return PairMeasurement(
        exchanges=tuple(exchanges),
        connections=tuple(connections.values()),
        not_kept=capture.not_kept,
        clock=clock.kind,
        scheduling_lag_us=clock.lag_us,
        contention_us=contention_us((leg.hop for leg in capture.legs), clock),
        protocols=_protocols(exchanges),
    )


def _protocols(exchanges: list[LegExchange]) -> Protocols | None:
    spoken = {one.leg: one.protocol for one in exchanges if one.status is not None and one.protocol is not None}
    if len(spoken) < len(Leg):
        return None
    return Protocols.SAME if len(set(spoken.values())) == 1 else Protocols.DIFFERENT


def _by_the_wire(seen: HopCapture) -> HopCapture:
    """The wait ends with the first byte of the answer, whether or not it can be read: a server that packs its answer
    into large TLS records has not begun later, and the rest of a record comes with the body."""
    return seen if seen.response is None else replace(seen, response=replace(seen.response, readable_read=None))


def _ended(seen: HopCapture) -> bool:
    return seen.response is not None and seen.response.last_read is not None


def _connection(seen: LegCapture, known: dict[Leg, Connection], timing: Timing, clock: RunClock) -> Connection:
    """The leg's connection after this exchange: a new one when it is cold."""
    before = known.get(seen.leg)
    if before is None:
        return connection_of(seen.hop, len(known) + 1, timing, clock)
    received_bytes = (before.received_bytes or 0) + seen.hop.received_bytes
    asked = 0 if seen.hop.send is None else 1
    return replace(before, received_bytes=received_bytes, requests=before.requests + asked)


def _exchange(seen: LegCapture, order: int, timing: Timing, connection: Connection) -> LegExchange:
    plain = LegExchange(
        leg=seen.leg,
        reused=seen.reused,
        order=order,
        url=seen.hop.url,
        connection=connection.number,
        timing=timing,
        protocol=connection.protocol,
    )
    answer = seen.hop.response
    if answer is None:
        return plain
    return replace(
        plain,
        status=answer.status,
        content_encoding=_value(answer.headers, "content-encoding", _MAX_CODING_CHARS),
        head_bytes=answer.head_bytes,
        body_bytes=answer.body_bytes,
        cache=cache_report(answer.headers),
        etag=_value(answer.headers, "etag", _MAX_ETAG_CHARS),
        response_headers=kept_headers(answer.headers),
    )


def _value(headers: tuple[Header, ...], name: str, limit: int) -> str | None:
    """The first value of that name that says something."""
    return next((header.value[:limit] for header in headers if header.name.lower() == name and header.value), None)
