"""What a raw probe saw, as it saw it: marks, arrivals and record headers. `compute/probe/probe.py` says what they mean.

Two clocks appear. `_ns` marks of our own doing are monotonic; `kernel_ns` is the wall clock at which the kernel took a
packet in. `ClockReading` pairs, taken before and after, join the two and betray a clock that was set meanwhile.
"""

from typing import NamedTuple

from workers.measurement.connection import Header
from workers.measurement.evidence import Alias, CertificateFault, HttpsRecord, Trial
from workers.measurement.failure import Failure
from workers.measurement.nouns import noun
from workers.measurement.pair import Leg


@noun(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """Both clocks at one instant."""

    wall_ns: int
    monotonic_ns: int

    @property
    def offset_ns(self) -> int:
        return self.wall_ns - self.monotonic_ns


class Arrival(NamedTuple):
    """When data came in. `user_ns` is when our process had it in its hands; `kernel_ns` is None without a stamp."""

    user_ns: int
    kernel_ns: int | None = None


class Read(NamedTuple):
    """One read from the socket; `size` 0 is the end of the stream. `writes` counts what we had sent before it."""

    arrival: Arrival
    size: int
    writes: int


class Write(NamedTuple):
    """One thing said: when its last byte left, read before the call that sent it."""

    at_ns: int
    size: int


class RecordHeader(NamedTuple):
    """The five bytes before a TLS record. `read` is the index of the read that brought the first of them."""

    content_type: int
    length: int
    read: int


@noun(frozen=True, slots=True, kw_only=True)
class QuestionCapture:
    """One question to a name server. Without an answer there is neither `answered` nor `code`; with one that was too
    long for UDP, and did not come by TCP in time, there is its `code` alone."""

    record_type: str
    asked_ns: int
    answered: Arrival | None = None
    code: str | None = None


@noun(frozen=True, slots=True, kw_only=True)
class LookupCapture:
    """A question to a name server, from the first packet sent to the last answer that was used.

    `questions` holds those that were asked in vain too. `addresses` are of both families, `min_ttl_s` is the shortest
    time that any of the records on the way may be kept: for a name without addresses, that nothing was found.
    `left_loose` is how often the server named an alias without what it leads to, so that we had to ask for that.
    """

    asked_ns: int
    answered: Arrival
    aliases: tuple[Alias, ...] = ()
    min_ttl_s: int | None = None
    resolver: str | None = None
    addresses: tuple[str, ...] = ()
    questions: tuple[QuestionCapture, ...] = ()
    left_loose: int = 0


@noun(frozen=True, slots=True, kw_only=True)
class NameCapture:
    """A name as a deep probe looks it up: as the run did (None when the machine knew it by itself), at once again, and
    its HTTPS record. `questions` are those of the HTTPS record."""

    host: str
    addresses: tuple[str, ...] = ()
    lookup: LookupCapture | None = None
    again: tuple[LookupCapture, ...] = ()
    https: HttpsRecord | None = None
    questions: tuple[QuestionCapture, ...] = ()


@noun(frozen=True, slots=True, kw_only=True)
class ConnectCapture:
    """A TCP connection made. `rtt_us` is the kernel's own SYN to SYN-ACK; `retransmits` tells that a SYN was lost."""

    started_ns: int
    ended_ns: int
    rtt_us: int | None = None
    retransmits: int = 0


@noun(frozen=True, slots=True, kw_only=True)
class HandshakeCapture:
    """A TLS handshake that came to its end. `reads` is how many of the hop's reads belong to it.

    `flights_sent_ns` are the instants at which our flights left, ClientHello first. `own_ns` is the processor time of
    our own cryptography. `chain` is DER, as the server sent it, or as it had sent it to the session that was resumed.
    `staple` is the OCSP answer that came along, DER, empty for none; None where none was asked for. `in_other_order`
    tells that a chain is trusted by another way through what was sent than the first, which `faults` do not speak of.
    """

    flights_sent_ns: tuple[int, ...]
    own_ns: int
    reads: int
    version: str
    cipher: str | None = None
    protocol: str | None = None
    chain: tuple[bytes, ...] = ()
    faults: tuple[CertificateFault, ...] = ()
    in_other_order: bool = False
    group: str | None = None
    resumed: bool = False
    staple: bytes | None = b""


@noun(frozen=True, slots=True, kw_only=True)
class SendCapture:
    """From the wish to send to the call that handed over the last byte."""

    started_ns: int
    ended_ns: int


@noun(frozen=True, slots=True, kw_only=True)
class ResponseCapture:
    """`first_read` is the index of the read with the first byte; `last_read` is None when the answer never ended.

    `readable_read` brought the rest of the first record, so that there was something to read; without TLS the two are
    one. `head_read` and `body_read` are those after which the whole head, and some of the body, could be read.
    `interim` are the statuses of answers before the final one, `minor` is the digit behind "HTTP/1.".
    """

    first_read: int
    readable_read: int | None = None
    head_read: int | None = None
    body_read: int | None = None
    last_read: int | None = None
    status: int | None = None
    minor: int = 1
    interim: tuple[int, ...] = ()
    headers: tuple[Header, ...] = ()
    head_bytes: int | None = None
    body_bytes: int | None = None


@noun(frozen=True, slots=True, kw_only=True)
class ExchangeCapture:
    """One request and its answer on a connection that may have had others before: so many `reads` and `records`."""

    asked_ns: int
    idle_ns: int | None = None
    send: SendCapture | None = None
    response: ResponseCapture | None = None
    reads: int = 0
    records: int = 0
    kept: bool | None = None


@noun(frozen=True, slots=True, kw_only=True)
class HopCapture:
    """One request and its answer. What was not reached is None.

    `held_reads` are the indices of reads that lay behind a missing packet in the kernel: they could be read when its
    repair had come, which is when we did, and have the stamp of their own last packet. `late_reads` are
    those of what had come long before our process looked, each with an instant at which nothing of it was there.
    """

    url: str
    host: str
    port: int
    address: str | None = None
    lookup: LookupCapture | None = None
    connect: ConnectCapture | None = None
    handshake: HandshakeCapture | None = None
    send: SendCapture | None = None
    response: ResponseCapture | None = None
    reads: tuple[Read, ...] = ()
    held_reads: tuple[int, ...] = ()
    late_reads: tuple[tuple[int, int], ...] = ()
    records: tuple[RecordHeader, ...] = ()
    received_bytes: int = 0
    # What only the evidence of a connection needs. `dialled_ns` is when the connection was begun, made or not.
    dialled_ns: int | None = None
    ended_ns: int | None = None
    addresses: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    hello_bytes: int | None = None
    exchanges: tuple[ExchangeCapture, ...] = ()
    # The index of the read that ended each record, of those that ended.
    record_ends: tuple[int, ...] = ()
    # Content types inside encrypted records of TLS 1.3, with the number of the record; handshake messages received.
    inner_types: tuple[tuple[int, int], ...] = ()
    messages: tuple[bytes, ...] = ()
    # TCP_INFO as the kernel gave it, when connected, secured and at the end.
    tcp_connected: bytes = b""
    tcp_secured: bytes = b""
    tcp_ended: bytes = b""
    truncated: bool = False


@noun(frozen=True, slots=True, kw_only=True)
class TrialCapture:
    """One connection and what it was for."""

    trial: Trial
    hop: HopCapture
    before: ClockReading
    after: ClockReading
    failure: Failure | None = None


@noun(frozen=True, slots=True, kw_only=True)
class ProbeCapture:
    """A whole probe: redirects in order, then the answer.

    `trials` are the connections to the last hop's host: those given up before the one that the hop used, then that one.
    """

    before: ClockReading
    after: ClockReading
    hops: tuple[HopCapture, ...]
    trials: tuple[TrialCapture, ...] = ()


@noun(frozen=True, slots=True, kw_only=True)
class LegCapture:
    """One request of a pair. A reused one has no lookup, connect and handshake: they are in the leg's cold capture."""

    leg: Leg
    reused: bool
    hop: HopCapture


@noun(frozen=True, slots=True, kw_only=True)
class PairCapture:
    """A whole pair, in the order of asking. `not_kept` are the legs whose server closed its connection too early."""

    before: ClockReading
    after: ClockReading
    legs: tuple[LegCapture, ...]
    not_kept: tuple[Leg, ...] = ()
