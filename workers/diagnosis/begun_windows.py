"""Between which windows a server must have begun an answer that it interrupted, by all that its connection shows."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor

from workers.diagnosis.flights import Flight, Gap, Turn, handshake_turns, mss_of, packets_of
from workers.diagnosis.gaps import LEAST_GROWTH, Ruler, splits_record
from workers.diagnosis.windows import shown_segments, waits
from workers.measurement.evidence import Direction, TrialEvidence

# No server begins with less (RFC 2581 allowed two).
_LEAST_WINDOW = 2
# A segment that the sender may hold back.
_SPARE_SEGMENTS = 1
# After so long a rest a window may be taken back: a timeout (RFC 2861), of Linux 200 ms at least.
_LEAST_REST_US = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """In segments. `most` is None where nothing has stopped the server."""

    least: int
    most: int | None

    def nearest(self, window: int) -> int:
        """Of these windows the one that is nearest to another."""
        return max(self.least, window if self.most is None else min(window, self.most))


def begun(trial: TrialEvidence, turn: Turn, ruler: Ruler, own_us: Collection[int]) -> Begun:
    """What is certain of the window of an answer. The server's own pauses began at these instants."""
    sent = [_packets(trial, flight, ruler) for flight in turn.flights]
    shown = floor(shown_segments(turn, ruler, sent, _unseen_packets(trial, ruler)))
    least = max(_LEAST_WINDOW, shown, _left_by_handshake(trial, turn, ruler), floor(ruler.window_segments or 0))
    most = list(_stops(trial, turn, ruler, sent, own_us))
    if ruler.window_segments is not None:
        most.append(ceil(_grown(trial, ruler.window_segments)) + _SPARE_SEGMENTS)
    return Begun(least=least, most=max(least, min(most)) if most else None)


def _stops(
    trial: TrialEvidence, turn: Turn, ruler: Ruler, sent: Sequence[int], own_us: Collection[int]
) -> Iterator[int]:
    """The largest windows that can have been full at each wait for one."""
    for gap, under_way in waits(turn, ruler, sent, own_us):
        if _is_full(trial, gap, ruler):
            told = zip(turn.flights, sent, strict=True)
            before = max((size for one, size in told if one.end_us <= gap.start_us - ruler.rtt_us), default=0)
            yield _before_growth(ceil(under_way) + _SPARE_SEGMENTS, before)


def _before_growth(window: int, acknowledged: int) -> int:
    """The largest that can have grown to this one while so many packets that had been sent at once were acknowledged:
    by one for each at least, as long as it is less than twice of what is under way."""
    for began in range(window, 0, -1):
        grown = next(more for more in range(acknowledged + 1) if 2 * (acknowledged - more) <= began + more)
        if began + grown <= window:
            return began
    return 1


def _unseen_packets(trial: TrialEvidence, ruler: Ruler) -> int:
    """How many the kernel counted beyond those that can be told from what was read."""
    counted = None if trial.tcp_ended is None else trial.tcp_ended.data_segments_in
    if counted is None:
        return _SPARE_SEGMENTS
    came = (one for one in packets_of(trial) if one.direction is Direction.RECEIVED)
    return max(0, counted - sum(ceil(one.size_bytes / ruler.mss) for one in came))


def _packets(trial: TrialEvidence, flight: Flight, ruler: Ruler) -> int:
    """Of how many a flight was at least: several may have been read in one go."""
    came = (one for one in packets_of(trial) if one.direction is Direction.RECEIVED)
    return sum(ceil(one.size_bytes / ruler.mss) for one in came if flight.start_us <= one.at_us <= flight.end_us)


def _left_by_handshake(trial: TrialEvidence, turn: Turn, ruler: Ruler) -> int:
    """What came of the handshake at once had room in the window, and when it was acknowledged the window grew, unless
    the server has rested since."""
    largest = max((_packets(trial, one, ruler) for each in handshake_turns(trial) for one in each.flights), default=0)
    rested = turn.start_us - turn.asked_us - ruler.rtt_us > _LEAST_REST_US
    return largest if rested else floor(LEAST_GROWTH * largest)


def _grown(trial: TrialEvidence, window: float) -> float:
    """What a window has become when the handshake was acknowledged: of Linux twice what was under way at most."""
    sent = [ceil(turn.size_bytes / mss_of(trial)) for turn in handshake_turns(trial)]
    return max(window, min(window + sum(sent), 2 * max(sent, default=0)))


def _is_full(trial: TrialEvidence, gap: Gap, ruler: Ruler) -> bool:
    """Whether it was the window that stopped the server: for a round trip and nothing else, and in the middle of what
    it had handed over."""
    exact = any(map(ruler.may_be_exact, (gap.duration_us, gap.period_us)))
    return exact and (ruler.is_whole(gap.flight_bytes) or splits_record(trial, gap))
