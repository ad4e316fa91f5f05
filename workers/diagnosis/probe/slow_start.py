"""Slow start: a server that begins as most do can send ten segments at once, and twice as many with each round trip
(RFC 6928, RFC 5681). How long that takes, and whether an answer came so."""

from collections.abc import Sequence
from math import ceil, inf, log2

from workers.diagnosis.probe.flights import USUAL_MSS_BYTES, Flight, Gap, Turn, mss_of, packet_time_us, tickets_before
from workers.diagnosis.probe.gaps import LEAST_GROWTH, LONGEST_ROUND_RTT, USUAL_WINDOW, Ruler
from workers.measurement.evidence import Exchange, TrialEvidence

FIRST_FLIGHT_BYTES = USUAL_WINDOW * USUAL_MSS_BYTES
# What a server has written as a whole comes within this part of a round trip, or so many times what its link takes.
AT_ONCE_RTT, _AT_ONCE_LINK = 0.15, 1.5


def further_flights(count_bytes: float, window_bytes: float = FIRST_FLIGHT_BYTES) -> int:
    """Round trips after the first flight until so many bytes have come, where the first may be so large."""
    return max(0, ceil(log2(count_bytes / window_bytes + 1)) - 1)


def coming_us(count_bytes: float, rate: float, rtt_us: int) -> float:
    """How long so many bytes take from the first to the last, over a line that carries `rate` bytes in a microsecond:
    until a flight fills a round trip each waits for the one before, and from then on the line alone tells."""
    return max(flight * rtt_us + left / rate for flight, left in _left_after(count_bytes))


def line_rate(count_bytes: float, duration_us: int, rtt_us: int) -> float:
    """Bytes in a microsecond of a line over which so many took so long; infinite where round trips alone did."""
    flights = _left_after(count_bytes)
    if duration_us <= flights[-1][0] * rtt_us:
        return inf
    return max(left / (duration_us - flight * rtt_us) for flight, left in flights)


def _left_after(count_bytes: float) -> list[tuple[int, float]]:
    """The flights by number with what is left for them and those behind them."""
    numbers = range(further_flights(count_bytes) + 1)
    return [(number, count_bytes - FIRST_FLIGHT_BYTES * (2**number - 1)) for number in numbers]


def rounds(size_bytes: int, mss: int, window: int = USUAL_WINDOW) -> int:
    """How many flights so many bytes take in slow start: the window doubles with each."""
    segments, count = ceil(size_bytes / mss), 0
    while segments > 0:
        segments -= window * 2**count
        count += 1
    return count


def needed_us(size_bytes: int, ruler: Ruler, window: int, packet_us: int) -> int:
    """How long so many bytes take from the first to the last in slow start, over a link that a packet takes so long."""
    segments, at_us = ceil(size_bytes / ruler.mss), 0
    while segments > window:
        segments -= window
        at_us += max(ruler.rtt_us, window * packet_us)
        window *= 2
    return at_us + (segments - 1) * packet_us


def grows(gap: Gap) -> bool:
    """Whether more came behind it than before, as slow start lets it: a server that sends piece by piece as it has
    them does not. The last flight is what was left."""
    return gap.next_bytes >= LEAST_GROWTH * gap.flight_bytes or gap.next_bytes == gap.bytes_after


def waits_of(turn: Turn, ruler: Ruler) -> list[Gap]:
    """The pauses that are no longer than a full window's: in the others the server had nothing to send."""
    return [gap for gap in turn.gaps() if gap.period_us <= LONGEST_ROUND_RTT * ruler.rtt_us]


def longest_us(trial: TrialEvidence, exchange: Exchange, waits: Sequence[Gap], count: int) -> int:
    """What so many of a full window's pauses cost. What came ahead of an answer is acknowledged ahead of it, which lets
    a part of each flight out: then from the beginning of the flight before, less what a narrow link takes for that."""
    mss, packet_us = mss_of(trial), packet_time_us(trial)
    ahead = exchange.interim or tickets_before(trial, exchange)
    costs = (gap.period_us - gap.flight_bytes * packet_us // mss if ahead else gap.duration_us for gap in waits)
    return sum(sorted(costs)[-count:])


def is_slow_start(trial: TrialEvidence, turn: Turn, ruler: Ruler) -> bool:
    """Whether all its pauses may be a full window's, and all between these came as fast as the link lets it, or as
    early hints before it were acknowledged: then the server has not paused itself."""
    packet_us = packet_time_us(trial)
    hinted = any(one.interim for one in trial.exchanges)

    def at_once(flight: Flight) -> bool:
        link_us = flight.size_bytes * packet_us / ruler.mss
        return hinted or flight.spread_us <= max(AT_ONCE_RTT * ruler.rtt_us, _AT_ONCE_LINK * link_us)

    def full(gap: Gap) -> bool:
        passed_us = (gap.duration_us, gap.period_us, gap.period_us - packet_us)
        return grows(gap) and any(map(ruler.may_be_exact, passed_us))

    return all(map(at_once, turn.flights)) and all(map(full, turn.gaps()))
