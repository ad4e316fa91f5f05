"""One connection of a probe, from its capture to its evidence. All times count from its beginning."""

from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from workers.measurement.captures_probe import ExchangeCapture, HandshakeCapture, HopCapture, TrialCapture
from workers.measurement.compute.chain import zlib_bytes
from workers.measurement.compute.probe.handshake_messages import (
    certificate_bytes,
    compressed_certificate,
    early_data_answer,
    hello_retried,
    tickets_of,
)
from workers.measurement.compute.probe.hop import RunClock, connect_ns, kept_headers, network_ns, us
from workers.measurement.compute.probe.tcp_info import tcp_state
from workers.measurement.compute.staple import Staple, read_staple
from workers.measurement.evidence import (
    MAX_RECORDS,
    MAX_TRANSFERS,
    Direction,
    Exchange,
    Handshake,
    TlsRecord,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.measurement.messages import Clock
from workers.measurement.tls_records import sealed_bytes

_APPLICATION_DATA = 23
_H2 = "h2"
_AT = itemgetter(0)


class _View(NamedTuple):
    """A hop, the clock to read it by, and the instant from which its times count."""

    hop: HopCapture
    clock: RunClock
    origin_ns: int
    instants_ns: list[int]
    reads_us: list[int]

    def us(self, at_ns: int) -> int:
        return (at_ns - self.origin_ns + 500) // 1000

    def read_us(self, index: int | None) -> int | None:
        return None if index is None else self.reads_us[index]


def trial_evidence(
    capture: TrialCapture, run_ns: int, chain: tuple[int, ...], clock: RunClock | None = None
) -> TrialEvidence:
    """`run_ns` is the beginning of the run; `chain` says which certificates were sent, and in which order. `clock` is
    that of a run with this one connection.
    """
    hop = capture.hop
    clock = clock or RunClock.of(capture.before, capture.after, (hop,))
    origin_ns = hop.dialled_ns or capture.before.monotonic_ns
    instants_ns = clock.instants_ns(hop.reads)
    reads_us = [(at_ns - origin_ns + 500) // 1000 for at_ns in instants_ns]
    view = _View(hop, clock, origin_ns, instants_ns, reads_us)
    transfers, records = _transfers(view), _records(view)
    connected_ns = connect_ns(hop)
    return TrialEvidence(
        trial=capture.trial,
        started_us=max(0, (view.origin_ns - run_ns + 500) // 1000),
        address=hop.address,
        connect_us=None if connected_ns is None else (connected_ns + 500) // 1000,
        syn_rtt_us=None if hop.connect is None or hop.connect.retransmits else hop.connect.rtt_us,
        syn_retransmits=None if hop.connect is None else hop.connect.retransmits,
        handshake=_handshake(view, capture, chain),
        exchanges=tuple([_exchange(view, one) for one in hop.exchanges]),
        transfers=transfers[:MAX_TRANSFERS],
        records=records[:MAX_RECORDS],
        tcp_connected=tcp_state(hop.tcp_connected),
        tcp_secured=tcp_state(hop.tcp_secured),
        tcp_ended=tcp_state(hop.tcp_ended),
        ended_us=None if hop.ended_ns is None else view.us(hop.ended_ns),
        kernel_clock=clock.kind is Clock.KERNEL,
        scheduling_lag_us=clock.lag_us,
        truncated=hop.truncated or len(transfers) > MAX_TRANSFERS or len(records) > MAX_RECORDS,
        failure=capture.failure,
    )


def _transfers(view: _View) -> tuple[Transfer, ...]:
    """In the order of time. What came with one packet but was read in parts is one transfer."""
    arrived: dict[int, int] = {}
    for (_, size, _), at_us in zip(view.hop.reads, view.reads_us, strict=True):
        if size:
            arrived[at_us] = arrived.get(at_us, 0) + size
    moves = [(view.us(at_ns), Direction.SENT, size) for at_ns, size in view.hop.writes]
    moves += [(at_us, Direction.RECEIVED, size) for at_us, size in arrived.items()]
    moves.sort(key=_AT)
    kept = moves[: MAX_TRANSFERS + 1]
    return tuple([Transfer(at_us=at_us, direction=way, size_bytes=size) for at_us, way, size in kept])


def _records(view: _View) -> tuple[TlsRecord, ...]:
    hop, reads_us = view.hop, view.reads_us
    inner = dict(hop.inner_types)
    ends_us = [reads_us[read] for read in hop.record_ends]
    # Whose content type is told by no record of its own: those of TLS 1.3 that OpenSSL has not opened.
    closed = _APPLICATION_DATA if hop.handshake is None or hop.handshake.version != "TLSv1.2" else None
    # A record without data is no beginning of anything.
    sealed = 0 if hop.handshake is None else sealed_bytes(hop.handshake.version, hop.handshake.cipher)
    settings = _before_answers(hop)
    found = []
    for number, (content_type, length, read) in enumerate(hop.records[: MAX_RECORDS + 1]):
        plain = inner.get(number, content_type if content_type != closed else None)
        filled = length > sealed and number not in settings
        found.append(
            TlsRecord(
                at_us=reads_us[read],
                content_type=content_type,
                length_bytes=length,
                end_us=ends_us[number] if number < len(ends_us) else None,
                application=None if plain is None else plain == _APPLICATION_DATA and filled,
            )
        )
    return tuple(found)


def _before_answers(hop: HopCapture) -> frozenset[int]:
    """The numbers of records that came before the answer which they were waited for with: over HTTP/2 they hold
    settings and the like."""
    if hop.handshake is None or hop.handshake.protocol != _H2:
        return frozenset()
    begun = (
        (exchange.records if later else 0, exchange.response.first_read)
        for later, exchange in enumerate(hop.exchanges)
        if exchange.response is not None
    )
    return frozenset(
        number for start, read in begun for number in range(start, len(hop.records)) if hop.records[number].read < read
    )


def _handshake(view: _View, capture: TrialCapture, chain: tuple[int, ...]) -> Handshake | None:
    hop = view.hop
    begun = _begun(view)
    if begun is None or hop.handshake is None:
        return begun
    done, sent_bytes = hop.handshake, begun.certificate_message_bytes
    tickets = tickets_of(hop.messages, done.version)
    staple = _staple(done) if sent_bytes is not None else Staple()
    return replace(
        begun,
        ended_us=view.read_us(done.reads - 1) if done.reads else None,
        network_us=us(network_ns(done, hop.reads, view.instants_ns)),
        own_us=us(done.own_ns),
        version=done.version,
        cipher=done.cipher,
        group=done.group,
        protocol=done.protocol,
        resumed=done.resumed,
        tickets=tickets.number,
        ticket_lifetime_s=tickets.lifetime_s,
        max_early_data_bytes=tickets.max_early_data_bytes,
        early_data=early_data_answer(hop.messages) if capture.trial is Trial.EARLY_DATA else None,
        stapled=None if sent_bytes is None or done.staple is None else bool(done.staple),
        staple_word=staple.word,
        staple_begins=staple.begins,
        staple_ends=staple.ends,
        chain=chain,
        chain_zlib_bytes=zlib_bytes(done.chain) if chain else None,
        faults=done.faults,
        in_other_order=done.in_other_order if chain else None,
    )


def _begun(view: _View) -> Handshake | None:
    """What is known of a handshake that need not have ended; None of one that did not begin."""
    hop = view.hop
    if hop.hello_bytes is None or not hop.writes:
        return None
    compressed = compressed_certificate(hop.messages)
    return Handshake(
        started_us=view.us(hop.writes[0].at_ns),
        hello_bytes=hop.hello_bytes,
        hello_retry=hello_retried(hop.messages),
        certificate_message_bytes=certificate_bytes(hop.messages),
        certificate_compression=None if compressed is None else compressed.algorithm,
        certificate_inflated_bytes=None if compressed is None else compressed.inflated_bytes,
    )


def _staple(done: HandshakeCapture) -> Staple:
    return read_staple(done.staple, done.chain) if done.staple and done.chain else Staple()


def _exchange(view: _View, seen: ExchangeCapture) -> Exchange:
    answer = seen.response
    if answer is None:
        return Exchange(
            asked_us=view.us(seen.asked_ns),
            idle_us=_idle_us(seen),
            sent_us=_sent_us(view, seen),
            first_raw_us=_first_raw_us(view, seen),
            kept=seen.kept,
        )
    return Exchange(
        asked_us=view.us(seen.asked_ns),
        idle_us=_idle_us(seen),
        sent_us=_sent_us(view, seen),
        first_raw_us=_first_raw_us(view, seen),
        first_application_us=view.read_us(answer.first_read),
        first_readable_us=view.read_us(answer.first_read if answer.readable_read is None else answer.readable_read),
        head_us=view.read_us(answer.head_read),
        first_body_us=view.read_us(answer.body_read),
        ended_us=view.read_us(answer.last_read),
        status=answer.status,
        interim=answer.interim,
        headers=kept_headers(answer.headers),
        head_bytes=answer.head_bytes,
        body_bytes=answer.body_bytes,
        kept=seen.kept,
    )


def _idle_us(seen: ExchangeCapture) -> int | None:
    return None if seen.idle_ns is None else (seen.idle_ns + 500) // 1000


def _sent_us(view: _View, seen: ExchangeCapture) -> int | None:
    return None if seen.send is None else view.us(seen.send.ended_ns)


def _first_raw_us(view: _View, seen: ExchangeCapture) -> int | None:
    later = zip(view.hop.reads[seen.reads :], view.reads_us[seen.reads :], strict=True)
    return next((at_us for read, at_us in later if read.size), None)
