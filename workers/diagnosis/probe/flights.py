"""What the server sent in one go, and its silences in between, by the kernel's stamps.

Bytes belong to the last write of ours that can have caused them. What the server says to one write of ours is a turn;
a turn is one flight, or several with gaps.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from workers.diagnosis.case import pause_us, rtt_of
from workers.diagnosis.probe.once import once_a_trial
from workers.measurement.evidence import (
    MAX_RECORDS,
    MAX_TRANSFERS,
    Direction,
    Exchange,
    TcpState,
    TlsRecord,
    Transfer,
    TrialEvidence,
)
from workers.measurement.thresholds import LEAST_RTT

# A full segment on Ethernet with time stamps, where the kernel has not seen one of this path.
USUAL_MSS_BYTES = 1448
# The kernel's estimate of a segment means little below this (it begins at 536, RFC 9293).
_LEAST_MSS_BYTES = 1000
_ENOUGH_BYTES = 8_000
# A server of small packets fills nearly all: the last of each flight is shorter.
_MOSTLY_FULL = 0.8
# What a packet takes is read from such as are nearly full. Below so much of a full one headers weigh more than data.
_NEARLY_FULL, _LEAST_TELLING = 0.95, 0.25
# A read of so many full packets was of two at least.
_MORE_THAN_ONE = 1.25
# What the packets of a narrow link take differs by less.
_ALIKE = 1.25
# What is smaller than this part of a full one comes when the way's unsteadiness lets it.
_LEAST_BEHIND = 0.1
# On a link as narrow as it seems, what came took so much of that at least, headers and unsteadiness apart.
_NARROW = 0.75
# On a slow link the packets of one flight come apart: a pause must be this many times what a packet takes.
_PACKETS_A_PAUSE = 4
# What comes sooner after a write of ours than this part of a round trip cannot be an answer to it.
_ANSWER_RTT = 0.5
RECORD_HEADER_BYTES = 5
# A content type of records (RFC 5246, 6.2.1).
_HANDSHAKE = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """Bytes that came together. `start_us` is the stamp of the first read, `end_us` of the last."""

    start_us: int
    end_us: int
    size_bytes: int

    @property
    def spread_us(self) -> int:
        return self.end_us - self.start_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A silence inside one turn. `period_us` is from the beginning of the flight before it to its end.

    `bytes_before` are all of the turn so far, `flight_bytes` those of the flight just before, `next_bytes` those of
    the flight after it, `bytes_after` all that was still to come in this turn.
    """

    start_us: int
    end_us: int
    period_us: int
    bytes_before: int
    flight_bytes: int
    next_bytes: int
    bytes_after: int

    @property
    def duration_us(self) -> int:
        return self.end_us - self.start_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All that the server said to one write of ours, the last byte of which left at `asked_us`.

    `cut`: what came at its end was not kept, so that nothing is known of sizes behind a gap.
    """

    asked_us: int
    flights: tuple[Flight, ...]
    cut: bool = False

    @property
    def size_bytes(self) -> int:
        return sum(flight.size_bytes for flight in self.flights)

    @property
    def start_us(self) -> int:
        return self.flights[0].start_us

    @property
    def end_us(self) -> int:
        return self.flights[-1].end_us

    def gaps(self) -> tuple[Gap, ...]:
        return tuple(self._gaps())

    def _gaps(self) -> Iterator[Gap]:
        before = 0
        for flight, later in pairwise(self.flights):
            before += flight.size_bytes
            yield Gap(
                start_us=flight.end_us,
                end_us=later.start_us,
                period_us=later.start_us - flight.start_us,
                bytes_before=before,
                flight_bytes=flight.size_bytes,
                next_bytes=later.size_bytes,
                bytes_after=self.size_bytes - before,
            )


@once_a_trial
def mss_of(trial: TrialEvidence) -> int:
    """The size of a full segment from this server.

    The kernel knows it from what came, so only once enough came that full ones must have been among it. Until then it
    is taken to be what we may send, or the usual. Two small ones of the same size in a row let the kernel's estimate
    fall to that: the largest of this connection is what its way carries, unless it was a piece too.
    """
    states = [state for state in (trial.tcp_ended, trial.tcp_secured, trial.tcp_connected) if state is not None]
    seen = [state.rcv_mss_bytes for state in states if state.rcv_mss_bytes]
    largest = max(seen, default=0)
    enough = sum(one.size_bytes for one in trial.transfers if _received(one)) >= _ENOUGH_BYTES
    if enough and not _are_pieces(trial, largest):
        if largest >= _LEAST_MSS_BYTES:
            return largest
        if seen and _fills(trial.tcp_ended, seen[0]):
            return seen[0]
    ours = next((state.snd_mss_bytes for state in states if state.snd_mss_bytes), None)
    return max(largest, ours or USUAL_MSS_BYTES)


def _are_pieces(trial: TrialEvidence, size_bytes: int) -> bool:
    """Whether all that came in reads of that size ended where a record did: a server that writes small pieces leaves
    none open, full segments of anything longer do."""
    ends_us = [one.at_us for one in trial.transfers if _received(one) and one.size_bytes == size_bytes]
    cut = any(record.at_us <= at_us < (record.end_us or 0) for at_us in ends_us for record in trial.records)
    return bool(ends_us) and bool(trial.records) and not cut


def _fills(ended: TcpState | None, mss: int) -> bool:
    """Whether packets were of that size on the whole, and so none larger: behind a tunnel, say."""
    if ended is None or not ended.received_bytes or not ended.data_segments_in:
        return False
    return _MOSTLY_FULL * mss <= ended.received_bytes / ended.data_segments_in <= mss


@once_a_trial
def packet_time_us(trial: TrialEvidence) -> int:
    """What a full packet takes on the narrowest link of the way; 0 where that was not seen.

    Shorter ones may have been held back, so that they tell nothing; but where they come sooner behind others than full
    ones do, it is not the link that keeps those. Where not three full ones came in a row, the link may have kept what
    came behind a large one, unless something came too soon for that.
    """
    each, full_bytes = _packet_times(trial), _NEARLY_FULL * mss_of(trial)
    full = [took_us for size, took_us in each if size >= full_bytes]
    if len(full) < 2:
        took_us = _behind_another_us(trial)
        return took_us if took_us and _may_take(trial, took_us) else 0
    least_us = min(_lower_quarter(full), _lower_quarter([took_us for _, took_us in each]))
    return 0 if _is_of_late_reads(trial, each, least_us) else least_us


def _is_of_late_reads(trial: TrialEvidence, each: Sequence[tuple[int, int]], least_us: int) -> bool:
    """Whether packets seem to take so long only since others came between, which were read together with them: within
    the time that anything has lain in the kernel. On a narrow link most full ones come as far apart, however many are
    read in one go."""
    mss, lag_us = mss_of(trial), trial.scheduling_lag_us
    together = any(_received(one) and one.size_bytes > _MORE_THAN_ONE * mss for one in trial.transfers)
    if not together or lag_us is None or least_us <= lag_us:
        return False
    alike = [size for size, took_us in each if size % mss == 0 and took_us <= _ALIKE * least_us]
    return 2 * len(alike) <= len(each)


def _packet_times(trial: TrialEvidence) -> list[tuple[int, int]]:
    """The sizes of what came behind something else, and what a full packet took by each, in us."""
    mss = mss_of(trial)
    return [
        (later.size_bytes, round((later.at_us - earlier.at_us) * mss / later.size_bytes))
        for earlier, later in pairwise(packets_of(trial))
        if _received(earlier) and _received(later) and later.size_bytes >= _LEAST_TELLING * mss
    ]


def _behind_another_us(trial: TrialEvidence) -> int:
    """What a full packet took at most by what came soonest behind a large one; 0 where nothing did."""
    mss = mss_of(trial)
    took_us = (
        round((later.at_us - earlier.at_us) * mss / later.size_bytes)
        for earlier, later in pairwise(packets_of(trial))
        if _received(earlier) and earlier.size_bytes >= _MOSTLY_FULL * mss
        if _received(later) and later.size_bytes >= _LEAST_BEHIND * mss
    )
    return min(took_us, default=0)


def _may_take(trial: TrialEvidence, packet_us: int) -> bool:
    """Whether all that the server said came as late behind what it answers as it does where full packets take that."""
    rtt_us, mss, came_bytes = rtt_of(trial) or 0, mss_of(trial), Counter[int]()
    packets = list(packets_of(trial))
    writes_us = [one.at_us for one in packets if not _received(one)]
    for one in filter(_received, packets):
        asked_us = _caused_by(one.at_us, writes_us, rtt_us)
        came_bytes[asked_us] += one.size_bytes
        if one.at_us - asked_us - LEAST_RTT * rtt_us < _NARROW * packet_us * came_bytes[asked_us] / mss:
            return False
    return True


def _caused_by(at_us: int, writes_us: Sequence[int], rtt_us: int) -> int:
    """The last write that what came at an instant can be an answer to."""
    earlier = [write_us for write_us in writes_us if write_us + _ANSWER_RTT * rtt_us <= at_us]
    return max(earlier, default=min(writes_us, default=at_us))


def _lower_quarter(times_us: list[int]) -> int:
    """The link shows there: among the others are the server's silences, which are longer."""
    return sorted(times_us)[len(times_us) // 4]


def packets_of(trial: TrialEvidence) -> Iterator[Transfer]:
    """In order, with those reads as one that were of one packet: they have its stamp."""
    for _, reads in groupby(sorted(_kept(trial), key=_when), key=lambda one: (one.at_us, one.direction)):
        first, *others = reads
        more_bytes = sum(one.size_bytes for one in others)
        yield replace(first, size_bytes=first.size_bytes + more_bytes) if others else first


def quiet_us(trial: TrialEvidence) -> int:
    """What parts two flights of this connection."""
    return max(pause_us(rtt_of(trial)), _PACKETS_A_PAUSE * packet_time_us(trial))


@once_a_trial
def handshake_turns(trial: TrialEvidence, longest_us: int | None = None) -> tuple[Turn, ...]:
    """What the server said until its last handshake byte, parted by silences of `longest_us` (as `quiet_us` says).

    Empty for a handshake that did not end, or one without a known round trip.
    """
    shake = trial.handshake
    if shake is None or shake.ended_us is None:
        return ()
    seen = [one for one in trial.transfers if shake.started_us <= one.at_us <= shake.ended_us]
    return _turns(trial, seen, longest_us)


def answer_turn(trial: TrialEvidence, exchange: Exchange, longest_us: int | None = None) -> Turn | None:
    """What the server sent to this request: the answer, with what tickets came before it.

    None where the request was not answered to the end, or nothing of it was kept, or another handshake is in between.
    """
    rtt_us = rtt_of(trial)
    if exchange.sent_us is None or exchange.ended_us is None or rtt_us is None or shakes_again(trial, exchange):
        return None
    earliest_us = exchange.sent_us + round(_ANSWER_RTT * rtt_us)
    kept = _kept(trial)
    seen = sorted((one for one in kept if _received(one) and earliest_us <= one.at_us <= exchange.ended_us), key=_when)
    if not seen:
        return None
    return Turn(
        asked_us=exchange.sent_us,
        flights=tuple(_flights(seen, quiet_us(trial) if longest_us is None else longest_us)),
        cut=_misses_some(trial) and max(one.at_us for one in kept) < exchange.ended_us,
    )


def read_sizes(trial: TrialEvidence, flight: Flight) -> list[int]:
    """The bytes of each read of a flight, in order."""
    came = (one for one in _kept(trial) if _received(one) and flight.start_us <= one.at_us <= flight.end_us)
    return [one.size_bytes for one in sorted(came, key=_when)]


def shakes_again(trial: TrialEvidence, exchange: Exchange) -> bool:
    """Whether a server of TLS 1.2 shook hands anew since it was asked. In TLS 1.3 what comes later looks otherwise."""
    sent_us, ended_us = exchange.sent_us, exchange.ended_us
    if sent_us is None or ended_us is None:
        return False
    return any(one.content_type == _HANDSHAKE and sent_us <= one.at_us <= ended_us for one in trial.records)


def tickets_before(trial: TrialEvidence, exchange: Exchange) -> int:
    """Bytes of records that came after the request was sent and were none of its answer."""
    sent_us, first_us = exchange.sent_us, exchange.first_application_us
    if sent_us is None or first_us is None:
        return 0
    return sum(RECORD_HEADER_BYTES + one.length_bytes for one in records_before(trial, sent_us, first_us))


def records_before(trial: TrialEvidence, sent_us: int, first_us: int) -> list[TlsRecord]:
    return [one for one in trial.records if sent_us <= one.at_us <= first_us and one.application is False]


def _turns(trial: TrialEvidence, seen: Sequence[Transfer], longest_us: int | None) -> tuple[Turn, ...]:
    rtt_us = rtt_of(trial)
    if rtt_us is None:
        return ()
    writes = sorted(one.at_us for one in seen if one.direction is Direction.SENT)
    causes: dict[int, list[Transfer]] = {}
    for one in sorted(seen, key=_when):
        if _received(one):
            causes.setdefault(_caused_by(one.at_us, writes, rtt_us), []).append(one)
    longest = quiet_us(trial) if longest_us is None else longest_us
    return tuple(
        Turn(asked_us=asked_us, flights=tuple(_flights(received, longest))) for asked_us, received in causes.items()
    )


def _flights(received: Sequence[Transfer], longest_us: int) -> Iterator[Flight]:
    start = 0
    for place, (one, later) in enumerate(pairwise(received), 1):
        if later.at_us - one.at_us > longest_us:
            yield _flight(received[start:place])
            start = place
    yield _flight(received[start:])


def _flight(received: Sequence[Transfer]) -> Flight:
    size_bytes = sum(one.size_bytes for one in received)
    return Flight(start_us=received[0].at_us, end_us=received[-1].at_us, size_bytes=size_bytes)


def _kept(trial: TrialEvidence) -> tuple[Transfer, ...]:
    """Where transfers were dropped, all but the last: whoever drops them keeps that one, behind a hole."""
    return trial.transfers[:-1] if _misses_some(trial) else trial.transfers


def _misses_some(trial: TrialEvidence) -> bool:
    """Whether transfers were dropped, and not records alone: a page of a few kilobytes may have more small ones than
    are kept."""
    records_alone = len(trial.records) >= MAX_RECORDS and len(trial.transfers) < MAX_TRANSFERS
    return trial.truncated and not records_alone


def _received(transfer: Transfer) -> bool:
    return transfer.direction is Direction.RECEIVED


def _when(transfer: Transfer) -> int:
    return transfer.at_us
