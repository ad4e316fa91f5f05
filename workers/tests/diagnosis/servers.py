"""Evidence of probes that were never made: what the engine would have seen of a server on a path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from typing import Any

from workers.measurement.connection import Header
from workers.measurement.evidence import (
    ChainCertificate,
    Depth,
    Direction,
    Exchange,
    Handshake,
    NameEvidence,
    ProbeEvidence,
    TcpState,
    TlsRecord,
    Transfer,
    Trial,
    TrialEvidence,
)
from workers.tests.diagnosis.path import MSS, Arrival, Path, Wire

MEASURED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
ADDRESS = "192.0.2.1"
IDLE_US = 2_000_000
_OWN_US = 600
# A server that thinks for so long rests, as its kernel sees it.
_TIMEOUT_US = 200_000
_RECORD_HEADER = 5
_SEALED = 17
_HELLO = {Trial.FULL: 1541, Trial.DELAYED_ACK: 1541}
_SHORT_HELLO = 250
_RESUMED = (Trial.RESUMED, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
_OLD = (Trial.TLS12, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a server does. The default is faultless. Times are in microseconds.

    `begin_us` pass before each handshake, `sign_us` besides before a full one. `handshake_bytes` is its first flight;
    `flush_bytes` splits it into writes of that size, `stall` is (after so many bytes, a pause). `head_apart`: head and
    body are two writes. `body_stall` is as `stall`, within the answer, and `trickle` the same again and again; `stops`
    are such stalls one after the other. Requests take the `think_us` in turn. With `settings_bytes` it speaks HTTP/2
    alone, and says so many of settings before its first answer; with `hints_bytes` it gives early hints, then thinks.
    With `records_apart` it writes each record by itself, as Go does, with `tickets_apart` each of its two tickets.
    """

    handshake_bytes: int = 3000
    flush_bytes: int | None = None
    stall: tuple[int, int] | None = None
    begin_us: int = 0
    sign_us: int = 500
    version: str = "TLSv1.3"
    tickets_bytes: int = 574
    record_bytes: int = 4096
    head_bytes: int = 250
    body_bytes: int = 4000
    head_apart: bool = False
    body_stall: tuple[int, int] | None = None
    trickle: tuple[int, int] | None = None
    stops: tuple[tuple[int, int], ...] = ()
    think_us: tuple[int, ...] = (300,)
    keeps: bool = True
    key_bits: int = 256
    content_type: str = "text/html"
    settings_bytes: int = 0
    hints_bytes: int = 0
    records_apart: bool = False
    tickets_apart: bool = False


class Connection:
    """One connection as it goes: `shake`, then `ask` as often as wanted, then `evidence`. Our own process looks each
    time `late_us` after something has come, and reads all of it in one go."""

    def __init__(self, path: Path, server: Server, trial: Trial, *, late_us: int = 0) -> None:
        self.path, self.server, self.trial, self.late_us = path, server, trial, late_us
        self.segments = self.lag_us = 0
        self.wire = Wire(path)
        self.transfers: list[Transfer] = []
        self.records: list[TlsRecord] = []
        self.exchanges: list[Exchange] = []
        self.syn_rtt_us = round(self.wire.connected_us())
        self.now_us = float(self.syn_rtt_us + 100)
        self.old = trial in (*_OLD, Trial.PLAIN) or server.version == "TLSv1.2"
        self._end = 0
        self._pending: list[tuple[int, int, int, bool | None]] = []

    def shake(self) -> Handshake:
        started_us = self.now_us
        hello = _HELLO.get(self.trial, _SHORT_HELLO)
        resumed = self.trial in _RESUMED
        total = 300 if resumed else self.server.handshake_bytes
        at_us = self._say(hello) + self.server.begin_us + (0 if resumed else self.server.sign_us)
        self._hear(at_us, self._flight(total), content_type=22)
        if self.old and not resumed:
            self.now_us += _OWN_US
            self._hear(self._say(93), [(250, 0)], content_type=22)
        ended_us = self._arrived(self._end)
        return Handshake(
            started_us=round(started_us),
            hello_bytes=hello,
            ended_us=ended_us,
            network_us=round(ended_us - started_us - (_OWN_US if self.old and not resumed else 0)),
            own_us=_OWN_US,
            version="TLSv1.2" if self.old else "TLSv1.3",
            cipher="TLS_AES_128_GCM_SHA256",
            group="X25519",
            protocol="h2" if self.server.settings_bytes else "http/1.1",
            resumed=resumed,
            chain=() if resumed else (0,),
        )

    def ask(self, number: int, idle_us: int | None = None) -> None:
        self.now_us += _OWN_US if idle_us is None else idle_us
        if idle_us:
            self.wire.rest()
        asked_us, first_record = round(self.now_us), len(self.records)
        at_us = self._say(200)
        if not number and not self.old and self.server.tickets_bytes:
            tickets = [(self.server.tickets_bytes // (1 + self.server.tickets_apart), 0)] * (
                1 + self.server.tickets_apart
            )
            self._hear(at_us, tickets, content_type=23, application=False, last=False)
        if not number and self.server.settings_bytes:
            self._hear(at_us, [(self.server.settings_bytes, 0)], content_type=23, application=False, last=False)
        if self.server.hints_bytes:
            self._hear(at_us, [(self.server.hints_bytes, 0)], content_type=23, application=True, last=False)
        think_us = self.server.think_us[number % len(self.server.think_us)]
        if think_us > _TIMEOUT_US:
            self.wire.rest()
        self._hear(at_us + think_us, self._answer(), content_type=23, application=True)
        own = [one for one in self.records[first_record:] if one.application]
        final = own[bool(self.server.hints_bytes) :]
        self.exchanges.append(
            Exchange(
                asked_us=asked_us,
                idle_us=idle_us,
                sent_us=asked_us,
                first_raw_us=self.records[first_record].at_us,
                first_application_us=own[0].at_us,
                first_readable_us=own[0].end_us,
                head_us=final[0].end_us,
                first_body_us=self._first_body_us(final),
                ended_us=self._arrived(self._end),
                status=200,
                interim=(103,) if self.server.hints_bytes else (),
                headers=(Header(name="Content-Type", value=self.server.content_type),),
                head_bytes=self.server.head_bytes,
                body_bytes=self.server.body_bytes,
                kept=self.server.keeps,
            )
        )

    def evidence(self, handshake: Handshake | None) -> TrialEvidence:
        state = TcpState(
            rtt_us=self.syn_rtt_us,
            min_rtt_us=self.syn_rtt_us,
            snd_mss_bytes=MSS,
            rcv_mss_bytes=self.path.mss,
            total_retransmits=0,
            out_of_order_packets=self.wire.reordered,
        )
        return TrialEvidence(
            trial=self.trial,
            started_us=0,
            address=ADDRESS,
            connect_us=self.syn_rtt_us,
            syn_rtt_us=self.syn_rtt_us,
            syn_retransmits=0,
            handshake=handshake,
            exchanges=tuple(self.exchanges),
            transfers=tuple(sorted(self.transfers, key=lambda one: one.at_us)),
            records=tuple(self.records),
            tcp_connected=replace(state, rcv_mss_bytes=536, out_of_order_packets=0),
            tcp_ended=replace(
                state,
                received_bytes=sum(one.size for one in self.wire.arrivals),
                data_segments_in=self.segments,
            ),
            ended_us=round(self.now_us),
            scheduling_lag_us=self.lag_us or None,
        )

    def _flight(self, total: int) -> list[tuple[int, int]]:
        """The writes of the first flight, each with the pause before it. None is too small to be a record."""
        if self.server.stall is not None:
            after, pause_us = self.server.stall
            late = after + _RECORD_HEADER >= total
            return [(total, 0)] if late else [(after, 0), (total - after, pause_us)]
        size = self.server.flush_bytes or total
        begins = [*range(0, max(1, total - _RECORD_HEADER), size), total]
        return [(end - begin, 0) for begin, end in pairwise(begins)]

    def _answer(self) -> list[tuple[int, int]]:
        """The writes of an answer in bytes of the wire, each with the pause before it."""
        head, body = self.server.head_bytes, self.server.body_bytes
        if self.server.body_stall is not None:
            after, pause_us = self.server.body_stall
            begin = [(head, 0), (after, 0)] if self.server.head_apart else [(head + after, 0)]
            return [*begin, (body - after, pause_us)]
        if self.server.head_apart:
            return [(head, 0), (body, 0)]
        if self.server.trickle is not None:
            after, pause_us = self.server.trickle
            return [(head, 0), *[(after, pause_us)] * (body // after)]
        sizes, pauses_us = [size for size, _ in self.server.stops], [pause_us for _, pause_us in self.server.stops]
        return list(zip([*sizes, head + body - sum(sizes)], [0, *pauses_us], strict=True))

    def _first_body_us(self, records: Sequence[TlsRecord]) -> int | None:
        """The end of the record that brings what is behind the head."""
        carried = accumulate(one.length_bytes - _SEALED for one in records)
        behind = (one for one, total in zip(records, carried, strict=True) if total > self.server.head_bytes)
        return next(behind, records[-1]).end_us

    def _say(self, size: int) -> float:
        """Gives the instant at which it is with the server."""
        first = not self.transfers
        self.transfers.append(Transfer(at_us=round(self.now_us), direction=Direction.SENT, size_bytes=size))
        link_us = size / self.path.up_bytes_s * 1e6 if self.path.up_bytes_s else 0
        looked_into_us = self.path.looked_into_us if first else 0
        return self.wire.at_server_us(self.now_us + link_us) + looked_into_us + self.path.behind_us

    def _hear(
        self,
        at_us: float,
        writes: Sequence[tuple[int, int]],
        *,
        content_type: int,
        application: bool | None = None,
        last: bool = True,
    ) -> None:
        """What the server writes from `at_us` on, cut into records, until all of it has come."""
        for size, pause_us in writes:
            at_us += pause_us
            pieces = self._records(size) if application else [size]
            self.wire.write(at_us, *(pieces if self.server.records_apart else [sum(pieces)]))
            for piece in pieces:
                self._pending.append((self._end, self._end + piece, content_type, application))
                self._end += piece
        if last:
            self._receive()

    def _records(self, size: int) -> list[int]:
        whole, rest = divmod(size, self.server.record_bytes)
        overhead = _RECORD_HEADER + _SEALED
        return [self.server.record_bytes + overhead] * whole + ([rest + overhead] if rest else [])

    def _receive(self) -> None:
        before = len(self.wire.arrivals)
        self.wire.deliver()
        self.segments += len(self.wire.arrivals) - before
        if self.late_us:
            self.wire.arrivals[before:] = self._read_late(self.wire.arrivals[before:])
        for arrival in self.wire.arrivals[before:]:
            self.transfers.append(Transfer(at_us=arrival.at_us, direction=Direction.RECEIVED, size_bytes=arrival.size))
        for start, end, content_type, application in self._pending:
            self.records.append(
                TlsRecord(
                    at_us=self._arrived(start + _RECORD_HEADER),
                    content_type=content_type,
                    length_bytes=end - start - _RECORD_HEADER,
                    end_us=self._arrived(end),
                    application=application,
                )
            )
        self._pending = []
        self.now_us = float(max(one.read_us for one in self.wire.arrivals))

    def _read_late(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """What is read in one go, with the stamp of its last packet."""
        reads: list[Arrival] = []
        looks_us = 0
        for one in arrivals:
            if one.read_us > looks_us:
                looks_us = one.read_us + self.late_us
                reads.append(replace(one, read_us=looks_us))
            else:
                reads[-1] = replace(one, read_us=looks_us, size=reads[-1].size + one.size)
        self.lag_us = max(self.lag_us, *(one.read_us - one.at_us for one in reads))
        return reads

    def _arrived(self, place: int) -> int:
        """When the byte before this place of the server's stream was there."""
        return next(one.at_us for one in self.wire.arrivals if one.end >= place)


def connection(
    path: Path, server: Server, trial: Trial = Trial.FULL, *, late_us: int = 0, **changes: Any
) -> TrialEvidence:
    """One connection: a full one asks three times, others once."""
    path = replace(path, delayed_ack=trial is Trial.DELAYED_ACK)
    made = Connection(path, server, trial, late_us=late_us)
    handshake = made.shake()
    made.now_us += _OWN_US
    made.ask(0)
    if trial is Trial.FULL and server.keeps:
        made.ask(1)
        made.ask(2, IDLE_US)
    return replace(made.evidence(handshake), **changes)


def asked_twice(path: Path, server: Server) -> TrialEvidence:
    """A connection that asks again at once, with late acknowledgements."""
    made = Connection(replace(path, delayed_ack=True), server, Trial.DELAYED_ACK)
    handshake = made.shake()
    made.ask(0)
    made.ask(1)
    return made.evidence(handshake)


def plain(path: Path, server: Server) -> TrialEvidence:
    """One connection without TLS."""
    made = Connection(path, server, Trial.PLAIN)
    made.ask(0)
    return replace(made.evidence(None), records=())


DEEP = (
    *[Trial.FULL] * 3,
    Trial.RESUMED,
    Trial.TLS12,
    Trial.TLS12_TICKET,
    Trial.CLASSICAL,
    *[Trial.DELAYED_ACK] * 3,
)


def deep(
    path: Path, server: Server, *, trials: Sequence[Trial] = DEEP, lossy: int = 0, **changes: Any
) -> ProbeEvidence:
    """A deep probe. In the first `lossy` connections the path loses what `path.lost` says, in the others nothing."""
    clean = replace(path, lost=())
    made = [
        connection(replace(path if number < lossy else clean, seed=path.seed + number), server, trial)
        for number, trial in enumerate(trials)
    ]
    return probe(made, server, **changes)


def light(path: Path, server: Server, **changes: Any) -> ProbeEvidence:
    """One connection that asked once."""
    made = Connection(path, server, Trial.FULL)
    handshake = made.shake()
    made.now_us += _OWN_US
    made.ask(0)
    return probe([made.evidence(handshake)], server, depth=Depth.LIGHT, **changes)


def probe(trials: Sequence[TrialEvidence], server: Server | None = None, **changes: Any) -> ProbeEvidence:
    values: dict[str, Any] = {
        "depth": Depth.DEEP,
        "host": "www.example.org",
        "port": 443,
        "secure": True,
        "measured_at": MEASURED_AT,
        "names": (name(),),
        "certificates": (leaf(server or Server()),),
        "trials": tuple(trials),
    }
    return ProbeEvidence(**(values | changes))


def name(**changes: Any) -> NameEvidence:
    """A lookup of a local resolver that had to ask."""
    values: dict[str, Any] = {
        "host": "www.example.org",
        "resolver": "192.0.2.53",
        "took_us": 18_000,
        "again_us": 1_000,
        "addresses": (ADDRESS,),
        "min_ttl_s": 300,
    }
    return NameEvidence(**(values | changes))


def leaf(server: Server) -> ChainCertificate:
    return ChainCertificate(
        subject="CN=www.example.org",
        issuer="CN=An authority",
        names=("www.example.org",),
        name_count=1,
        not_before=MEASURED_AT - timedelta(days=20),
        not_after=MEASURED_AT + timedelta(days=70),
        sha256="0" * 64,
        der_bytes=1000,
        authority=False,
        key_type="RSA" if server.key_bits > 1000 else "EC",
        key_bits=server.key_bits,
    )
