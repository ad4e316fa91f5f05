"""From what was seen of one request to what happened: phases, the connection, round trips.

The phases stand one after another without gaps. Between two of them only our own process was late (it had other
probes to serve), and that says nothing about the target; the kernel's stamps let us leave it out.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from workers.measurement.captures_probe import (
    Arrival,
    ClockReading,
    HandshakeCapture,
    HopCapture,
    LookupCapture,
    Read,
    ResponseCapture,
)
from workers.measurement.compute.certificate import certificate_error, certificate_of
from workers.measurement.compute.probe.tcp_info import tcp_state
from workers.measurement.connection import Connection, Header
from workers.measurement.messages import Clock
from workers.measurement.nouns import noun
from workers.measurement.thresholds import ACK_DELAYS_US, LEAST_RTT, MIN_PAUSE_US, MIN_RTT_US, MOST_RTT
from workers.measurement.timing import Span, Timing

# A full window of the usual ten segments (RFC 6928), less one that the sender may hold back; and how far sizes on the
# wire may be from whole segments and still be made of them.
_FULL_SEGMENTS, _SEGMENT_TOLERANCE_BYTES = 9, 16
_USUAL_MSS_BYTES, _LEAST_MSS_BYTES = 1448, 1000
# Both clocks are disciplined alike: apart from a step, their distance does not change.
_STEP_NS = 500_000
# What is kept of the headers of one answer: eleven hops of these still make a small message.
_MAX_HEADERS = 100
_MAX_HEADER_CHARS = 2048
_MAX_HEADERS_CHARS = 16 * 1024


@noun(frozen=True, slots=True, kw_only=True)
class RunClock:
    """Says when something arrived on the monotonic clock, by the kernel's stamp where that can be trusted.

    `lag_us` is the longest that data lay in the kernel before our process looked; None without stamps to tell.
    """

    kind: Clock
    offset_ns: int
    lag_us: int | None

    @classmethod
    def of(cls, before: ClockReading, after: ClockReading, hops: Iterable[HopCapture]) -> "RunClock":
        """The kernel's clock, unless the wall clock was set meanwhile or a stamp is missing where data came in."""
        offset_ns = before.offset_ns
        stepped = abs(after.offset_ns - offset_ns) > _STEP_NS
        arrivals = [arrival for hop in hops for arrival in _arrivals(hop)]
        lags_ns = [user_ns - kernel_ns + offset_ns for user_ns, kernel_ns in arrivals if kernel_ns]
        return cls(
            kind=Clock.KERNEL if len(lags_ns) == len(arrivals) and not stepped else Clock.USER,
            offset_ns=offset_ns,
            lag_us=max(0, us(max(lags_ns))) if lags_ns and not stepped else None,
        )

    def instant_ns(self, arrival: Arrival) -> int:
        """Never later than when our process had the data in its hands."""
        user_ns, kernel_ns = arrival
        if self.kind is Clock.USER or kernel_ns is None:
            return user_ns
        return min(user_ns, kernel_ns - self.offset_ns)

    def instants_ns(self, reads: tuple[Read, ...]) -> list[int]:
        """The same of every read."""
        if self.kind is Clock.USER:
            return [arrival.user_ns for arrival, _, _ in reads]
        offset_ns = self.offset_ns
        return [
            user_ns if kernel_ns is None or kernel_ns - offset_ns > user_ns else kernel_ns - offset_ns
            for (user_ns, kernel_ns), _, _ in reads
        ]


def contention_us(hops: Iterable[HopCapture], clock: RunClock) -> int | None:
    """By how much a wait may be too long, at most, since our process looked late at the beginning of an answer.

    The kernel puts packets that wait together under the stamp of the last of them (tcp_try_coalesce): the first came
    after the request was sent, and after we last looked and found nothing. None without stamps.
    """
    if clock.kind is Clock.USER:
        return None
    answered = [(hop, hop.response) for hop in hops if hop.response is not None]
    return max((us(_unsure_ns(hop, _readable_read(answer), clock)) for hop, answer in answered), default=None)


def _unsure_ns(hop: HopCapture, read: int, clock: RunClock) -> int:
    """What was held behind a missing packet could not be read sooner."""
    unready_ns = dict(hop.late_reads).get(read)
    if unready_ns is None or read in hop.held_reads:
        return 0
    sent_ns = 0 if hop.send is None else hop.send.ended_ns
    return max(0, clock.instant_ns(hop.reads[read].arrival) - max(sent_ns, unready_ns))


def _arrivals(hop: HopCapture) -> list[Arrival]:
    """Every arrival of data; the end of a stream has no packet of its own to be stamped."""
    arrivals = [arrival for arrival, size, _ in hop.reads if size]
    return arrivals if hop.lookup is None else [hop.lookup.answered, *arrivals]


class Lengths(NamedTuple):
    """How long each phase of a hop took, in nanoseconds; None where it was not reached or did not end."""

    dns: int | None = None
    connect: int | None = None
    tls: int | None = None
    send: int | None = None
    wait: int | None = None
    download: int | None = None


def lengths_of(seen: HopCapture, clock: RunClock) -> Lengths:
    instants_ns = _handed_on_ns(seen, clock)
    first_ns = None if seen.response is None else instants_ns[_readable_read(seen.response)]
    send_ns, wait_ns = _send_and_wait_ns(seen, first_ns)
    shaken = seen.handshake
    return Lengths(
        None if seen.lookup is None else _dns_ns(seen.lookup, clock),
        connect_ns(seen),
        None if shaken is None else network_ns(shaken, seen.reads, instants_ns) + shaken.own_ns,
        send_ns,
        wait_ns,
        None if seen.response is None or first_ns is None else _download_ns(seen.response, first_ns, instants_ns),
    )


def _handed_on_ns(seen: HopCapture, clock: RunClock) -> list[int]:
    """When the kernel handed each read on: what lay behind a missing packet it hands on with the repair of that one."""
    instants_ns = clock.instants_ns(seen.reads)
    for read in seen.held_reads:
        instants_ns[read] = seen.reads[read].arrival.user_ns
    return instants_ns


def _dns_ns(lookup: LookupCapture, clock: RunClock) -> int:
    return max(0, clock.instant_ns(lookup.answered) - lookup.asked_ns)


def connect_ns(seen: HopCapture) -> int | None:
    """The kernel's round trip of the SYN. After a lost SYN that is the last try alone: then our own clock counts."""
    if seen.connect is None:
        return None
    elapsed_ns = max(0, seen.connect.ended_ns - seen.connect.started_ns)
    if seen.connect.rtt_us is None or seen.connect.retransmits:
        return elapsed_ns
    return min(elapsed_ns, seen.connect.rtt_us * 1000)


def network_ns(handshake: HandshakeCapture, reads: tuple[Read, ...], instants_ns: Sequence[int]) -> int:
    """The handshake without our own cryptography, the time that lay with the network and the server: from each flight
    of ours to the end of the server's answer. `instants_ns` are those of the reads."""
    answered_ns: dict[int, int] = {}
    for (_, size, writes), at_ns in zip(reads[: handshake.reads], instants_ns, strict=False):
        if size:
            answered_ns[writes] = at_ns
    total_ns = 0
    for number, sent_ns in enumerate(handshake.flights_sent_ns, 1):
        if number in answered_ns:
            total_ns += max(0, answered_ns[number] - sent_ns)
    return total_ns


def _send_and_wait_ns(seen: HopCapture, first_ns: int | None) -> tuple[int | None, int | None]:
    """The send ends with its last call, the wait when the answer can be read, never before the send."""
    if seen.send is None:
        return None, None
    sent_ns = max(seen.send.started_ns, seen.send.ended_ns)
    if first_ns is None:
        return sent_ns - seen.send.started_ns, None
    first_ns = max(seen.send.started_ns, first_ns)
    sent_ns = min(sent_ns, first_ns)
    return sent_ns - seen.send.started_ns, first_ns - sent_ns


def _readable_read(answer: ResponseCapture) -> int:
    """The read after which something of the answer could first be read, which is what a browser calls the start of a
    response.

    A TLS record can only be read whole: of a large one the first bytes are there long before.
    """
    return answer.first_read if answer.readable_read is None else answer.readable_read


def _download_ns(answer: ResponseCapture, first_ns: int, instants_ns: Sequence[int]) -> int | None:
    return None if answer.last_read is None else max(0, instants_ns[answer.last_read] - first_ns)


def timing_of(lengths: Lengths, at_ns: int, *, complete: bool) -> Timing:
    """Positions are rounded, not lengths, so that each phase begins exactly where the one before ended."""
    start_us = at_us = (at_ns + 500) // 1000
    spans: dict[str, Span] = {}
    for phase, length_ns in zip(Lengths._fields, lengths, strict=True):
        if length_ns is not None:
            at_ns += length_ns
            begun_us, at_us = at_us, (at_ns + 500) // 1000
            spans[phase] = Span(start_us=begun_us, end_us=at_us)
    return Timing(start_us=start_us, end_us=at_us if complete else None, **spans)


def kept_headers(headers: tuple[Header, ...]) -> tuple[Header, ...]:
    """What is kept of them: all of them, mostly."""
    if len(headers) <= _MAX_HEADERS and sum([len(one.name) + len(one.value) for one in headers]) <= _MAX_HEADER_CHARS:
        return headers
    short = [_shortened(header) for header in headers[:_MAX_HEADERS]]
    totals = accumulate(len(header.name) + len(header.value) for header in short)
    return tuple(header for header, total in zip(short, totals, strict=True) if total <= _MAX_HEADERS_CHARS)


def _shortened(header: Header) -> Header:
    if len(header.name) + len(header.value) <= _MAX_HEADER_CHARS:
        return header
    name = header.name[: _MAX_HEADER_CHARS // 2]
    return Header(name=name, value=header.value[: _MAX_HEADER_CHARS - len(name) - 1] + "…")


def connection_of(seen: HopCapture, number: int, timing: Timing, clock: RunClock) -> Connection:
    rtt_us = seen.connect.rtt_us if seen.connect is not None and not seen.connect.retransmits else None
    shaken = seen.handshake
    error = None if shaken is None else certificate_error(shaken.faults)
    return Connection(
        number=number,
        host=seen.host,
        port=seen.port,
        address=seen.address,
        protocol=_protocol(seen),
        dns=timing.dns,
        connect=timing.connect,
        tls=timing.tls,
        rtt_us=rtt_us,
        tls_round_trips=None if shaken is None else _round_trips(seen, clock),
        tls_version=None if shaken is None else shaken.version,
        cipher=None if shaken is None else shaken.cipher,
        resumed=None if shaken is None else shaken.resumed,
        certificate=None if shaken is None else certificate_of(shaken.chain),
        certificate_error=None if error is None else error.text,
        received_bytes=seen.received_bytes if seen.connect is not None else None,
        requests=0 if seen.send is None else 1,
    )


def _protocol(seen: HopCapture) -> str | None:
    """What ALPN agreed on; without an agreement, what was spoken."""
    if seen.handshake is not None and seen.handshake.protocol is not None:
        return seen.handshake.protocol
    return f"http/1.{seen.response.minor}" if seen.response is not None and seen.response.status is not None else None


def _round_trips(seen: HopCapture, clock: RunClock) -> int:
    """The handshake flights of the server: parted by flights of ours, or by a pause that only a round trip explains.
    Where round trips are too short to tell, only our own flights part them."""
    if seen.handshake is None or seen.connect is None:
        return 0
    reads = seen.reads[: seen.handshake.reads]
    rtt_us = seen.connect.rtt_us or 0
    count, begun, size_bytes = min(len(reads), 1), next(iter(reads), None), 0
    soonest_ns = _soonest_answer_ns(seen)
    answered = [_answered(one, seen, clock.instant_ns(one.arrival) - soonest_ns) for one in reads]
    for (one, before), (other, after) in pairwise(zip(reads, answered, strict=True)):
        size_bytes += one.size
        if after != before:
            count, begun, size_bytes = count + 1, other, 0
        elif begun is not None and rtt_us >= MIN_RTT_US:
            since, last, now = (us(clock.instant_ns(each.arrival)) for each in (begun, one, other))
            if now - last > max(MIN_PAUSE_US, rtt_us // 2):
                round_trip = _is_round_trip(now - last, now - since, rtt_us) or _fills_window(size_bytes, seen)
                count, begun, size_bytes = count + round_trip, other, 0
    return count


def _answered(read: Read, seen: HopCapture, latest_ns: int) -> int:
    """How many writes of ours it may answer: not those that left later, while it was on its way or lay unread."""
    return read.writes - sum(write.at_ns > latest_ns for write in seen.writes[: read.writes])


def _soonest_answer_ns(seen: HopCapture) -> int:
    """Nothing that comes sooner than half the shortest round trip is one; where those are too short to tell, anything
    that came after us may be."""
    secured = tcp_state(seen.tcp_secured)
    first_us = None if seen.connect is None else seen.connect.rtt_us
    least_us = None if secured is None else secured.min_rtt_us
    rtt_us = min((one for one in (first_us, least_us) if one), default=0)
    return rtt_us * 500 if rtt_us >= MIN_RTT_US else 0


def _fills_window(size_bytes: int, seen: HopCapture) -> bool:
    """Whether so much was sent at once that the rest had to wait for a round trip, however long that took on an
    unsteady way: nothing but full segments, as many as fill a window."""
    secured = tcp_state(seen.tcp_secured)
    mss = max(_LEAST_MSS_BYTES, (secured.rcv_mss_bytes or 0) if secured is not None else _USUAL_MSS_BYTES)
    segments = round(size_bytes / mss)
    return segments >= _FULL_SEGMENTS and abs(size_bytes - segments * mss) <= _SEGMENT_TOLERANCE_BYTES


def _is_round_trip(pause_us: int, period_us: int, rtt_us: int) -> bool:
    """Whether a pause is one, or from the beginning of a flight to its end, which a narrow link draws out; with a
    delayed acknowledgement or without. A server that signs, or waits for something else, pauses for any time."""
    late_us = pause_us - rtt_us
    near = any(LEAST_RTT * rtt_us <= one_us <= MOST_RTT * rtt_us for one_us in (pause_us, period_us))
    return near or any(least_us <= late_us <= most_us for least_us, most_us in ACK_DELAYS_US)


def us(ns: int) -> int:
    """Rounded to microseconds."""
    return (ns + 500) // 1000
