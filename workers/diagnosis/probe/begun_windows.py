"""Between which windows a server must have begun an answer that it interrupted, by all that its connection shows."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

from workers.diagnosis.probe.flights import Gap, Turn, handshake_turns, packets_of
from workers.diagnosis.probe.gaps import LEAST_GROWTH, Ruler, splits_record
from workers.diagnosis.probe.held_ends import LEAST_REST_US
from workers.diagnosis.probe.windows import SPREAD_BEFORE_PAUSE_RTT, is_let_out, is_told_meanwhile, usual_window_after
from workers.measurement.evidence import Direction, Exchange, Transfer, TrialEvidence

# No server begins with less (RFC 2581 allowed two).
_LEAST_WINDOW = 2
# A segment that the sender may hold back.
_SPARE_SEGMENTS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """In segments. `most` is None where nothing has stopped the server."""

    least: int
    most: int | None

    def nearest(self, window: int) -> int:
        """Of these windows the one that is nearest to another."""
        return max(self.least, window if self.most is None else min(window, self.most))


def begun(trial: TrialEvidence, exchange: Exchange, turn: Turn, ruler: Ruler, own_us: Collection[int]) -> Begun:
    """What is certain of the window of an answer. The server's own pauses began at these instants."""
    known, mss = ruler.window_segments, ruler.mss
    reads = [_reads(trial, one.start_us, one.end_us) for one in turn.flights]
    ahead = _most_packets(_reads(trial, turn.asked_us, turn.start_us - 1), mss)
    most_sent = [_most_packets(each, mss) for each in reads]
    least_sent = [_least_packets(each, mss, exchange.first_application_us or 0) for each in reads]
    shown = _shown(turn, ruler, least_sent, most_sent, ahead, _unseen_packets(trial, mss))
    least = max(_LEAST_WINDOW, shown, _left_by_handshake(trial, turn, ruler), floor(known or 0))
    most = list(_stops(trial, turn, ruler, most_sent, own_us))
    if known is not None:
        most.append(usual_window_after(trial, ceil(known)) + _SPARE_SEGMENTS)
    return Begun(least=least, most=max(least, min(most)) if most else None)


def _shown(
    turn: Turn, ruler: Ruler, least_sent: Sequence[int], most_sent: Sequence[int], ahead: int, unseen: int
) -> int:
    """What came at once at least, beyond what acknowledgements of what came before may have let out."""
    shown = 0
    for place, (flight, sent) in enumerate(zip(turn.flights, least_sent, strict=True)):
        before = ahead + sum(most_sent[:place])
        # Linux lets the window grow to twice what was under way at most.
        grown = 2 * (max([ahead, *most_sent[:place]]) + unseen)
        spread = flight.spread_us > SPREAD_BEFORE_PAUSE_RTT * ruler.rtt_us
        if not spread and not any(is_told_meanwhile(one, flight, ruler) for one in turn.flights[:place]):
            shown = max(shown, sent if sent > grown else sent - before)
    return shown


def _stops(
    trial: TrialEvidence, turn: Turn, ruler: Ruler, sent: Sequence[int], own_us: Collection[int]
) -> Iterator[int]:
    """The largest windows that can have been full at each wait for one. Of what may have grown to that meanwhile it is
    the usual one, if that is among them."""
    usual, rested = usual_window_after(trial), turn.start_us - turn.asked_us - ruler.rtt_us > LEAST_REST_US
    for place, gap in enumerate(turn.gaps()):
        flights = turn.flights[: place + 1]
        if gap.start_us in own_us or not is_let_out(gap, flights[:-1], ruler) or not _is_full(trial, gap, ruler):
            continue
        since_us = gap.start_us - ruler.rtt_us
        told = [size for one, size in zip(flights, sent, strict=False) if one.end_us <= since_us]
        full = sum(sent[: place + 1]) - sum(told)
        if full - max(told, default=0) <= usual <= full:
            yield usual
        else:
            rested = rested or any(one.duration_us > LEAST_REST_US for one in turn.gaps()[:place])
            yield (usual_window_after(trial, full) if rested else full) + _SPARE_SEGMENTS


def _is_full(trial: TrialEvidence, gap: Gap, ruler: Ruler) -> bool:
    """Whether it was the window that stopped the server: for a round trip and nothing else, and in the middle of what
    it had handed over."""
    exact = any(map(ruler.may_be_exact, (gap.duration_us, gap.period_us)))
    return exact and (ruler.is_whole(gap.flight_bytes) or splits_record(trial, gap))


def _left_by_handshake(trial: TrialEvidence, turn: Turn, ruler: Ruler) -> int:
    """What came of the handshake at once had room in the window, and when it was acknowledged the window grew, unless
    the server has rested since."""
    flights = (flight for one in handshake_turns(trial) for flight in one.flights)
    largest = max((ceil(flight.size_bytes / ruler.mss) for flight in flights), default=0)
    rested = turn.start_us - turn.asked_us - ruler.rtt_us > LEAST_REST_US
    return largest if rested else floor(LEAST_GROWTH * largest)


def _reads(trial: TrialEvidence, since_us: int, until_us: int) -> list[Transfer]:
    came = (one for one in packets_of(trial) if one.direction is Direction.RECEIVED)
    return [one for one in came if since_us <= one.at_us <= until_us]


def _most_packets(reads: Sequence[Transfer], mss: int) -> int:
    """As if each read had begun with one, and those were full."""
    return sum(ceil(one.size_bytes / mss) for one in reads)


def _least_packets(reads: Sequence[Transfer], mss: int, begun_us: int) -> int:
    """As if all had been full, but where one surely begins: with a read of nothing but full ones, and with the answer
    behind tickets, which have their own."""
    packets = left = 0
    for place, one in enumerate(reads):
        if one.size_bytes % mss == 0 or (place and reads[place - 1].at_us < begun_us <= one.at_us):
            packets, left = packets + ceil(left / mss), 0
        left += one.size_bytes
    return packets + ceil(left / mss)


def _unseen_packets(trial: TrialEvidence, mss: int) -> int:
    """How many the kernel counted beyond those that can be told from what was read."""
    counted = None if trial.tcp_ended is None else trial.tcp_ended.data_segments_in
    if counted is None:
        return _SPARE_SEGMENTS
    return max(
        0, counted - _most_packets([one for one in packets_of(trial) if one.direction is Direction.RECEIVED], mss)
    )
