"""The server's initial congestion window, from how much of an answer came before it waited for us."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, zip_longest
from math import ceil, floor

from workers.diagnosis.case import Case, lost_packets
from workers.diagnosis.probe.flights import (
    RECORD_HEADER_BYTES,
    Flight,
    Gap,
    Turn,
    answer_turn,
    handshake_turns,
    mss_of,
    packet_time_us,
    read_sizes,
    records_before,
    tickets_before,
)
from workers.diagnosis.probe.gaps import USUAL_WINDOW, KnownGap, Ruler, ruler_of
from workers.diagnosis.probe.once import once_a_trial
from workers.diagnosis.probe.slow_start import grows, needed_us, rounds
from workers.diagnosis.probe.thinking import begun_us
from workers.diagnosis.probe.weighing import is_late, is_short
from workers.measurement.evidence import Exchange, TlsRecord, Trial, TrialEvidence
from workers.measurement.thresholds import LEAST_RTT

# An answer must be larger to show a window of ten segments.
LEAST_ANSWER_BYTES = 15_000
# A window below is small: ten, less a segment that the sender may hold back.
SMALL_BELOW = 9
# What servers are set to: old systems' 2 to 4, RFC 6928's 10, and what CDNs say of theirs.
_USUAL = (2, 3, 4, 10, 16, 20, 25, 30)
# A larger one is counted less exactly.
_NEAR = 0.15
# Acknowledgements of a longer handshake open the window before the answer begins.
_SHORT_HANDSHAKE_SEGMENTS = 4
# The last segment of the window waits to be filled up.
_DEFERRED_SEGMENTS = 1
# What the acknowledgement of one segment lets out in slow start.
_LET_OUT_SEGMENTS = 2
# Tickets, settings or a head take a segment of their own, however small.
_OWN_SEGMENTS = 1
_ASKING = (
    Trial.FULL,
    Trial.CLASSICAL,
    Trial.RESUMED,
    Trial.TLS12,
    Trial.TLS12_TICKET,
    Trial.TLS12_SESSION_ID,
)

_LEAST_SEGMENTS = 0.95
# A flight that takes longer than this part of a round trip is no flight: the sender, or the link, spreads it. One that
# is followed by a pause, rather less: where the next would begin is then the sender's own choice too.
_SPREAD_RTT, SPREAD_BEFORE_PAUSE_RTT = 0.5, 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """`segments` as counted; with `at_least` nothing stopped the sender, so it may be more."""

    segments: float
    at_least: bool = False

    @property
    def small(self) -> bool:
        return not self.at_least and self.segments < SMALL_BELOW


def usual_setting(segments: float) -> int:
    """What servers are set to that is nearest, or the number of segments where none is near."""
    nearest = min(_USUAL, key=lambda one: abs(one - segments))
    return nearest if abs(nearest - segments) <= max(_DEFERRED_SEGMENTS, _NEAR * segments) else round(segments)


@once_a_trial
def first_answer(trial: TrialEvidence) -> tuple[Exchange, Turn] | None:
    """The first request of a connection and what came of it; None unless it was answered to the end."""
    if not trial.exchanges:
        return None
    turn = answer_turn(trial, trial.exchanges[0])
    return None if turn is None else (trial.exchanges[0], turn)


def answer_alone(trial: TrialEvidence, exchange: Exchange, turn: Turn) -> Turn:
    """Without tickets and interim answers that came a pause before it: in that the server thought, whatever its
    window."""
    since_us = begun_us(trial, exchange) or 0
    return replace(turn, flights=tuple(one for one in turn.flights if one.end_us >= since_us) or turn.flights)


def is_large(trial: TrialEvidence) -> bool:
    """Whether the first answer is, without tickets of the same turn: servers that put their certificates into these
    send as much of them as a page has."""
    found = first_answer(trial)
    if found is None:
        return False
    exchange, turn = found
    tickets = tickets_before(trial, exchange) if _begins_with_tickets(exchange, turn) else 0
    return turn.size_bytes - tickets >= LEAST_ANSWER_BYTES


def telling_trials(case: Case) -> list[TrialEvidence]:
    """Connections whose first answer is large enough to show the window that they began with."""
    return [
        trial
        for trial in case.evidence.of(*_ASKING)
        if (found := first_answer(trial)) is not None
        and (is_large(trial) or found[1].cut)
        and _handshake_bytes(trial) <= _SHORT_HANDSHAKE_SEGMENTS * mss_of(trial)
    ]


def window_of(trial: TrialEvidence) -> Window | None:
    """What one connection's first answer shows. None when its flights cannot be told apart, or a pause in it is none
    of the window's."""
    found = first_answer(trial)
    if found is None:
        return None
    exchange, turn = found[0], answer_alone(trial, *found)
    ruler = ruler_of(trial)
    gaps = turn.gaps()
    if _is_spread(turn, ruler):
        return None
    if not gaps:
        return Window(segments=turn.size_bytes / ruler.mss, at_least=True)
    tickets = tickets_before(trial, exchange)
    before_us = turn.start_us - min([turn.start_us, *(one.at_us for one in _tickets(trial, exchange))])
    extra = (_ticket_segments(trial, exchange) + _DEFERRED_SEGMENTS) if _fills_too(tickets, before_us, ruler) else 0
    answer_bytes = gaps[0].flight_bytes - (0 if before_us else tickets)
    unfilled = _unfilled_segments(trial, exchange, answer_bytes, ruler)
    window = Window(segments=answer_bytes / ruler.mss + extra + unfilled)
    # No window is smaller than a segment.
    if window.segments < _LEAST_SEGMENTS or (
        window.small and _may_have_paused(trial, exchange, gaps[0], answer_bytes, ruler)
    ):
        return None
    return window if _is_slow_start(gaps[0], window, ruler) and all(map(grows, gaps[:2])) else None


def is_paced(trial: TrialEvidence) -> bool:
    """Whether the answer was spread over the time of round trips, so that no flights can be counted."""
    found = first_answer(trial)
    return found is not None and _is_spread(answer_alone(trial, *found), ruler_of(trial))


def keeps_coming(trial: TrialEvidence, ruler: Ruler) -> bool:
    """Whether what followed a first pause came without one for most of a round trip, on a steady path: slow start sends
    twice as much as before and waits again, a sender that paces goes on as it is acknowledged."""
    found = first_answer(trial)
    if found is None or not ruler.is_steady:
        return False
    return any(flight.spread_us > _SPREAD_RTT * ruler.rtt_us for flight in found[1].flights[1:])


def known_window(case: Case) -> float | None:
    """The window in segments that at least two connections agree on, or as much as usual at least; None where none."""
    larger = (one.segments for one in _seen_windows(case) if one.at_least and one.segments >= USUAL_WINDOW)
    return exact_window(case) or agreed(larger)


def exact_window(case: Case) -> float | None:
    """The smallest window by which at least two connections were stopped, in segments; None where none was."""
    return agreed(one.segments for one in _seen_windows(case) if not one.at_least)


def filled_window(case: Case) -> int | None:
    """What the server is set to in segments, where answers filled its window; None without such."""
    segments = exact_window(case)
    return None if segments is None else usual_setting(segments)


def _seen_windows(case: Case) -> list[Window]:
    if is_short(case.evidence.of(*_ASKING)):
        return []
    clean = [trial for trial in telling_trials(case) if not lost_packets(trial) and not is_late(trial)]
    return [window for trial in clean if (window := window_of(trial)) is not None]


def agreed(segments: Iterable[float]) -> float | None:
    """The smallest that another is within a segment of: what was seen once may be a busy machine's pause."""
    return next((one for one, other in pairwise(sorted(segments)) if other - one <= 1), None)


def unfilled_bytes(trial: TrialEvidence, exchange: Exchange, turn: Turn, ruler: Ruler) -> list[int]:
    """What the segments of each flight of an answer had left, of a server whose records leave in segments of their own
    where the window has room, as Go's do. It shows by a flight that is whole from the record on that it ends in."""
    ends = list(accumulate(_record_sizes(trial, exchange), initial=0))
    at = 0 if behind_tickets_us(trial, exchange, turn) is None else -tickets_before(trial, exchange)
    unfilled = []
    for flight in turn.flights:
        begin, at = max(0, at), at + flight.size_bytes
        ended = [end for end in ends if begin < end <= at]
        rest = at - ended[-1] if ended else 0
        shows = ruler.is_whole(rest) and not ruler.is_whole(at - begin)
        unfilled.append(sum(-size % ruler.mss for size in _sizes_between(begin, ended)) if shows else 0)
    return unfilled


def unfilled_by_pieces(
    trial: TrialEvidence, exchange: Exchange, turn: Turn, mss: int, paused_us: Collection[int]
) -> int:
    """What segments have left at most at the ends of pieces behind which the server paused, at these instants: as if
    each record left by itself, unless it came with others in nothing but full segments."""
    ends = list(accumulate(_record_sizes(trial, exchange), initial=0))
    at = 0 if behind_tickets_us(trial, exchange, turn) is None else -tickets_before(trial, exchange)
    unfilled = 0
    for flight in turn.flights:
        for size_bytes in read_sizes(trial, flight):
            begin, at = at, at + size_bytes
            # What came in one read with tickets tells nothing of segments.
            if begin >= 0 and flight.end_us in paused_us and size_bytes % mss:
                ended = [end for end in ends if begin < end <= at]
                unfilled += sum(-size % mss for size in _sizes_between(begin, ended))
    return unfilled


def unfilled_at_first(trial: TrialEvidence, exchange: Exchange, window: int, mss: int) -> int:
    """What so many segments of such a server have left at the beginning of an answer."""
    unfilled = 0
    for size in _record_sizes(trial, exchange):
        window -= ceil(size / mss)
        if window < 0:
            break
        unfilled += -size % mss
    return unfilled


def _sizes_between(begin: int, ends: Sequence[int]) -> list[int]:
    return [end - start for start, end in pairwise((begin, *ends))]


def window_for(turn: Turn, ruler: Ruler, own_us: Collection[int] = (), usual: int = USUAL_WINDOW) -> int:
    """With how many segments the server would have begun an answer that it interrupted: as is known of it, else the
    usual window as its handshake left it, unless what it sent at once is more, or what it then waited for is less. Its
    own pauses, which began at these instants, are no waits."""
    if ruler.window_segments is not None:
        return round(ruler.window_segments)
    shown, stopped, before, largest = 0.0, False, 0.0, 0.0
    for place, (flight, gap) in enumerate(zip_longest(turn.flights, turn.gaps())):
        sent = flight.size_bytes / ruler.mss
        # What was acknowledged meanwhile has let the window grow: of Linux to twice what was under way at most.
        at_once = sent if sent > 2 * (ceil(largest) + _DEFERRED_SEGMENTS + _OWN_SEGMENTS) else sent - before
        # In what a narrow link spreads is also what the acknowledgement of its beginning let out, and in what came
        # behind a short pause what that of the piece before it did.
        spread = flight.spread_us > SPREAD_BEFORE_PAUSE_RTT * ruler.rtt_us
        told = spread or any(is_told_meanwhile(one, flight, ruler) for one in turn.flights[:place])
        shown = max(shown, 0 if told else at_once)
        before, largest = before + sent, max(largest, sent)
        waited = gap is not None and gap.start_us not in own_us and is_let_out(gap, turn.flights[:place], ruler)
        since_us = flight.end_us - ruler.rtt_us
        under_way = sum(one.size_bytes for one in turn.flights[: place + 1] if one.end_us > since_us) / ruler.mss
        stopped = stopped or (waited and under_way < USUAL_WINDOW - _DEFERRED_SEGMENTS)
    if stopped:
        return max(1, floor(shown))
    return usual if floor(shown) <= usual else next((one for one in _USUAL if one >= floor(shown)), ceil(shown))


def is_told_meanwhile(earlier: Flight, flight: Flight, ruler: Ruler) -> bool:
    """Whether the acknowledgement of an earlier flight came to the server while it sent this one."""
    return flight.start_us < earlier.start_us + ruler.rtt_us <= flight.end_us


def is_let_out(gap: Gap, earlier: Sequence[Flight], ruler: Ruler) -> bool:
    """Whether what came behind that pause was waiting for the acknowledgement of the flight before it, or of one that
    another pause has parted from that."""
    near = ruler.near(gap.duration_us) or ruler.near(gap.period_us)
    return near or any(ruler.is_exact(gap.end_us - flight.start_us) for flight in earlier)


def spared_us(gaps: Sequence[KnownGap], mss: int) -> int:
    """What of a full window's pauses in one turn the usual window would not have made: the longest, as many as that."""
    if not gaps:
        return 0
    needless = len(gaps) - (rounds(gaps[0].turn.size_bytes, mss) - 1)
    pauses = sorted((one.gap.duration_us for one in gaps), reverse=True)
    return sum(pauses[: max(0, needless)])


def sooner_us(gaps: Sequence[KnownGap], trial: TrialEvidence, window: float | None) -> int:
    """How much sooner turns of a server would have ended without these pauses of its own: where the window is too small
    for all of one, its round trips pass meanwhile. One that is not small may be larger than an answer has shown."""
    shown = window or USUAL_WINDOW
    ruler = ruler_of(trial, window_segments=window if shown < SMALL_BELOW else None)
    usual = max(USUAL_WINDOW, next((one for one in _USUAL if one >= shown - _DEFERRED_SEGMENTS), ceil(shown)))
    own_us = {one.gap.start_us for one in gaps}
    packet_us, sooner = packet_time_us(trial), 0
    for turn in dict.fromkeys(one.turn for one in gaps):
        needed = needed_us(turn.size_bytes, ruler, window_for(turn, ruler, own_us, usual), packet_us)
        sooner += turn.end_us - turn.start_us - needed
    return sooner


def usual_window_after(trial: TrialEvidence, window: int = USUAL_WINDOW) -> int:
    """What the usual window, or another one, has become in segments when the handshake was acknowledged. Linux lets it
    grow to twice what was under way at most."""
    sent = [ceil(turn.size_bytes / mss_of(trial)) for turn in handshake_turns(trial)]
    return max(window, min(window + sum(sent), 2 * max(sent, default=0)))


def with_tickets_whole(trial: TrialEvidence, exchange: Exchange, turn: Turn) -> int:
    """The bytes of a turn, with tickets that came in one flight with the answer as the whole segments that they take of
    the window."""
    if behind_tickets_us(trial, exchange, turn) is None:
        return turn.size_bytes
    return turn.size_bytes - tickets_before(trial, exchange) + _ticket_segments(trial, exchange) * mss_of(trial)


def behind_tickets_us(trial: TrialEvidence, exchange: Exchange, turn: Turn) -> int | None:
    """How long after tickets of the same flight the answer began; None where there were none. By as much the flights
    after it are spread, since the tickets' acknowledgement lets their beginning out, and so much shorter than what a
    flight costs are the silences between them."""
    if not tickets_before(trial, exchange) or not _begins_with_tickets(exchange, turn):
        return None
    # What it lets out takes its time on a narrow link.
    return max(0, (exchange.first_application_us or 0) - turn.start_us - _LET_OUT_SEGMENTS * packet_time_us(trial))


def _begins_with_tickets(exchange: Exchange, turn: Turn) -> bool:
    """What came sooner than anything that was asked for could is no part of it."""
    return turn.start_us < (exchange.first_application_us or 0)


def unfilled_by_tickets(trial: TrialEvidence, exchange: Exchange) -> int:
    """What segments have left that tickets took for themselves, where those were under way when the answer began."""
    came_us = [one.at_us for one in _tickets(trial, exchange)]
    if not came_us:
        return 0
    tickets, before_us = tickets_before(trial, exchange), (exchange.first_application_us or 0) - min(came_us)
    if not _fills_too(tickets, before_us, ruler_of(trial)):
        return 0
    return _ticket_segments(trial, exchange) * mss_of(trial) - tickets


def _tickets(trial: TrialEvidence, exchange: Exchange) -> list[TlsRecord]:
    return records_before(trial, exchange.sent_us or 0, exchange.first_application_us or 0)


def _ticket_segments(trial: TrialEvidence, exchange: Exchange) -> int:
    """The server's tickets of TLS 1.3 leave as segments of their own, and so do settings of HTTP/2."""
    together: dict[int, int] = {}
    for one in _tickets(trial, exchange):
        together[one.at_us] = together.get(one.at_us, 0) + RECORD_HEADER_BYTES + one.length_bytes
    return max(1, sum(ceil(size_bytes / mss_of(trial)) for size_bytes in together.values()))


def _fills_too(tickets: int, before_us: int, ruler: Ruler) -> bool:
    """Whether tickets that came so long before the answer were still under way when it began."""
    return tickets > 0 and before_us < LEAST_RTT * ruler.rtt_us


def _may_have_paused(trial: TrialEvidence, exchange: Exchange, gap: Gap, flight_bytes: int, ruler: Ruler) -> bool:
    """Whether the flight ended with a record and not with a full segment, as a server's does that has no more to send
    for the moment; a pause of just a round trip is the window's all the same."""
    ends = accumulate(_record_sizes(trial, exchange))
    exact = ruler.is_exact(gap.duration_us) or ruler.is_exact(gap.period_us)
    return not exact and not ruler.is_whole(flight_bytes) and flight_bytes in ends


def _record_sizes(trial: TrialEvidence, exchange: Exchange) -> list[int]:
    """The bytes on the wire of each record of this answer."""
    since_us = exchange.first_application_us or 0
    answer = (one for one in trial.records if one.application and one.at_us >= since_us)
    return [RECORD_HEADER_BYTES + one.length_bytes for one in answer]


def _unfilled_segments(trial: TrialEvidence, exchange: Exchange, flight_bytes: int, ruler: Ruler) -> float:
    """What segments had left that brought ends of records alone: the head of an answer, as servers of HTTP/2 may send
    it, or all records, as Go sends them. Then not the first flight is made of whole segments, but what is behind."""
    if ruler.is_whole(flight_bytes):
        return 0.0
    sizes = _record_sizes(trial, exchange)
    if sizes and sizes[0] < ruler.mss and ruler.is_whole(flight_bytes - sizes[0]):
        return 1 - sizes[0] / ruler.mss
    ended = [size for size, end in zip(sizes, accumulate(sizes), strict=True) if end <= flight_bytes]
    left = flight_bytes - sum(ended)
    if not ended or (left and not ruler.is_whole(left)):
        return 0.0
    return sum(ceil(size / ruler.mss) - size / ruler.mss for size in ended)


def _is_spread(turn: Turn, ruler: Ruler) -> bool:
    most = SPREAD_BEFORE_PAUSE_RTT if turn.gaps() else _SPREAD_RTT
    return turn.flights[0].spread_us > most * ruler.rtt_us


def _is_slow_start(gap: Gap, window: Window, ruler: Ruler) -> bool:
    """Whether that pause is a full window's: a round trip, and then at most twice as much as before."""
    round_trip = ruler.near(gap.duration_us) or ruler.near(gap.period_us)
    return round_trip and gap.next_bytes <= (2 * window.segments + 1) * ruler.mss


def _handshake_bytes(trial: TrialEvidence) -> int:
    return sum(turn.size_bytes for turn in handshake_turns(trial))
