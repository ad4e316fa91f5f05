"""The rule on the server's initial congestion window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from statistics import median_low

from workers.diagnosis.case import Case, Verdicts, lost_packets
from workers.diagnosis.probe.flights import Turn, answer_turn, mss_of, packet_time_us, tickets_before
from workers.diagnosis.probe.gaps import LEAST_GROWTH, USUAL_WINDOW, GapKind, Ruler, handshake_gaps, ruler_of
from workers.diagnosis.probe.slow_start import is_slow_start, longest_us, needed_us, rounds, waits_of
from workers.diagnosis.probe.thinking import think_us
from workers.diagnosis.probe.weighing import ASKED, Sure, fact, is_late, is_short, jitter_us, visits, weigh
from workers.diagnosis.probe.windows import (
    Window,
    agreed,
    answer_alone,
    first_answer,
    is_large,
    is_paced,
    keeps_coming,
    known_window,
    spared_us,
    telling_trials,
    usual_setting,
    usual_window_after,
    window_of,
    with_tickets_whole,
)
from workers.measurement.evidence import Exchange, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# Tickets of TLS 1.3 and settings of HTTP/2 come in packets of their own, and fill a window of so many segments.
_TICKETS_FILL = 3
# By so much may the cost differ between connections, or from what is true.
_LITTLE = 0.1
# A narrow link tells the beginning and the end of an answer within a packet each.
_BLURRED_SEGMENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """What a small window costs one visit. `certain` where the answer waited for nothing else, and is far enough from
    needing another round trip of the usual window."""

    saving_us: int = 0
    certain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """One that a small window held up. `window` are the segments it had, as far as is known, `size_bytes` its bytes
    with tickets as they fill the window; `counts` tells that it waited for nothing but its window."""

    trial: TrialEvidence
    exchange: Exchange
    turn: Turn
    ruler: Ruler
    began_us: int
    size_bytes: int
    window: float
    packet_us: int
    counts: bool

    @classmethod
    def of(
        cls, trial: TrialEvidence, exchange: Exchange, turn: Turn, window: float | None, quick_us: int, jitter: int
    ) -> "_Answer":
        held = _is_behind_tickets(trial, exchange, window, quick_us)
        alone, ruler = turn if held else answer_alone(trial, exchange, turn), ruler_of(trial, jitter)
        own = window_of(trial)
        return cls(
            trial=trial,
            exchange=exchange,
            turn=alone,
            ruler=ruler,
            began_us=alone.start_us if held else max(alone.start_us, exchange.first_application_us or 0),
            size_bytes=with_tickets_whole(trial, exchange, alone),
            window=(window or 0) if own is None else own.segments,
            packet_us=packet_time_us(trial),
            counts=is_slow_start(trial, alone, ruler),
        )

    @property
    def segments(self) -> float:
        return self.size_bytes / self.ruler.mss

    @property
    def taken_segments(self) -> float:
        """What of its window the server did not fill with it, as tickets took it or waits for more to come."""
        return max(0.0, self.window - self.turn.flights[0].size_bytes / self.ruler.mss)


def iw_small(case: Case) -> Verdicts:
    """tcp.iw_small: the server begins with fewer than ten segments."""
    id = FindingId.TCP_IW_SMALL
    if not any(first_answer(trial) for trial in visits(case, ASKED)):
        return
    telling = telling_trials(case)
    if not telling:
        # A large one that tells nothing comes after a handshake that has opened the window.
        large = any(map(is_large, visits(case, ASKED)))
        yield NotJudged(id=id, reason=NotJudgedReason.NOT_MEASURED if large else NotJudgedReason.RESPONSE_SMALL)
        return
    countable = [trial for trial in telling if not is_paced(trial)]
    if not countable and not is_short(telling):
        yield NotJudged(id=id, reason=NotJudgedReason.PACED)
        return
    sure = weigh(case, id, countable or telling, _small_window, unsure=lambda trial: window_of(trial) is None)
    if isinstance(sure, Sure):
        yield from _small(case, sure)
    elif sure is not None:
        yield _unless_paced(case, sure, countable)


def _unless_paced(case: Case, open_one: NotJudged, trials: Sequence[TrialEvidence]) -> NotJudged:
    """What looks unsteady is the server's own pace where most answers keep coming as no window lets them."""
    jitter = jitter_us(case)
    paced = [trial for trial in trials if keeps_coming(trial, ruler_of(trial, jitter))]
    is_paced_by_most = open_one.reason is NotJudgedReason.UNSTEADY and 2 * len(paced) > len(trials)
    return replace(open_one, reason=NotJudgedReason.PACED) if is_paced_by_most else open_one


def _small_window(trial: TrialEvidence) -> Window | None:
    window = window_of(trial)
    return window if window is not None and window.small else None


def _small(case: Case, sure: Sure[Window]) -> Iterator[Finding]:
    window, jitter = known_window(case), jitter_us(case)
    new = [trial for trial in visits(case, ASKED) if first_answer(trial) and not lost_packets(trial)]
    timely = [trial for trial in new if not is_late(trial)]
    quick_us = min(
        (us for trial in new for one in trial.exchanges if (us := think_us(trial, one)) is not None), default=0
    )
    costs = [_cost(trial, window, quick_us, jitter) for trial in timely or sure.trials]
    saving_us = median_low(cost.saving_us for cost in costs)
    if not saving_us and not any(_cost(trial, window, quick_us, jitter).saving_us for trial in sure.trials):
        return
    segments = [one.segments for one in sure.seen]
    first = first_answer(sure.trials[0])
    yield Finding(
        id=FindingId.TCP_IW_SMALL,
        # A long handshake may have opened the window for new visitors; for those who come back it is as small as ever.
        severity=Severity.HIGH if saving_us else Severity.MEDIUM,
        confidence=sure.confidence if _is_certain(costs, jitter) else Confidence.MEDIUM,
        saving_us=saving_us or None,
        evidence=sure.facts(
            fact("initial_window_segments", usual_setting(agreed(segments) or min(segments))),
            fact("estimates", tuple(round(one, 1) for one in segments)),
            fact("mss_bytes", mss_of(sure.trials[0])),
            fact("answer_bytes", None if first is None else first[1].size_bytes),
        ),
    )


def _is_certain(costs: Sequence[_Cost], jitter: int) -> bool:
    """Whether each connection shows the same cost, and leaves no doubt about it."""
    least, most = min(cost.saving_us for cost in costs), max(cost.saving_us for cost in costs)
    return all(cost.certain for cost in costs) and most - least <= _LITTLE * most + jitter


def _cost(trial: TrialEvidence, window: float | None, quick_us: int, jitter: int) -> _Cost:
    """For a server that begins an answer so soon where nothing holds it back."""
    found = first_answer(trial)
    seen = None if found is None else _Answer.of(trial, *found, window, quick_us, jitter)
    answer = _Cost() if seen is None else _answer_cost(seen)
    return replace(answer, saving_us=answer.saving_us + _handshake_extra_us(trial, window))


def _answer_cost(seen: _Answer) -> _Cost:
    """What the rounds of the answer cost that a usual window, grown by the handshake, would not have needed."""
    # On a narrow link larger flights leave less to be waited for between those that remain.
    if seen.counts and seen.segments * seen.packet_us > _LITTLE * seen.ruler.rtt_us:
        return _narrow_cost(seen)
    waits = waits_of(seen.turn, seen.ruler)
    flights, usual = 1 + len(waits), usual_window_after(seen.trial)
    fewest = rounds(seen.size_bytes, seen.ruler.mss, usual)
    needless = flights - max(fewest, _rounds_as_seen(seen, usual))
    if needless <= 0:
        return _Cost(certain=seen.counts and flights <= fewest)
    saving_us = max(0, min(longest_us(seen.trial, seen.exchange, waits, needless), _sooner_us(seen)))
    certain = seen.counts and _sends_evenly(seen, saving_us) and _rounds_as_seen(seen, USUAL_WINDOW) == fewest
    return _Cost(saving_us=saving_us, certain=certain)


def _narrow_cost(seen: _Answer) -> _Cost:
    saving_us = max(0, _sooner_us(seen))
    blurred_us = (_BLURRED_SEGMENTS + seen.taken_segments) * seen.packet_us
    return _Cost(saving_us=saving_us, certain=_sends_evenly(seen, saving_us) and blurred_us <= _LITTLE * saving_us)


def _sooner_us(seen: _Answer) -> int:
    """How much sooner it would have ended with the usual window. Flights that a pause has parted come in turns, so that
    less is waited for than round trips."""
    usual = usual_window_after(seen.trial)
    least_us = needed_us(seen.size_bytes, seen.ruler, usual, seen.packet_us)
    return seen.turn.end_us - seen.began_us - max(least_us, _wide_open_us(seen.trial, seen.turn))


def _rounds_as_seen(seen: _Answer, window: int) -> int:
    """How many flights it takes from another window at most: where as much is taken from its first flight as was from
    the one seen, and each grows as slowly as the slowest that was seen, up to where those stopped to grow (RFC 5681,
    slow start threshold). The second has as much more as was let out by what came ahead of it."""
    sizes = [flight.size_bytes / seen.ruler.mss for flight in seen.turn.flights[:-1]]
    limit = next((max(one, after) for one, after in pairwise(sizes) if after < LEAST_GROWTH * one), inf)
    growth = min([2.0, *(after / before for before, after in pairwise(sizes[1:]) if before < limit)])
    more = sizes[1] - 2 * sizes[0] if len(sizes) > 1 else 0
    flight, count, left = window - seen.taken_segments, 0, seen.segments
    while left > 0:
        left -= max(1.0, flight)
        flight = min(growth * flight if count else 2 * flight + more, max(flight, limit))
        count += 1
    return count


def _sends_evenly(seen: _Answer, saving_us: int) -> bool:
    """Whether next to nothing of the cost can be what the server itself took between the packets of a flight."""
    link_us = seen.turn.size_bytes * seen.packet_us / seen.ruler.mss
    return sum(flight.spread_us for flight in seen.turn.flights) - link_us <= _LITTLE * saving_us


def _wide_open_us(trial: TrialEvidence, first: Turn) -> int:
    """How long an answer that the server itself interrupts takes from its first byte to its last where its window has
    opened, as the same connection shows when asked again; 0 where that is not known."""
    second = next((one for one in trial.exchanges[1:] if not one.idle_us), None)
    turn = None if second is None else answer_turn(trial, second)
    if second is None or turn is None or is_slow_start(trial, first, ruler_of(trial)):
        return 0
    again = answer_alone(trial, second, turn)
    opened = again.flights[0].size_bytes >= min(again.size_bytes, USUAL_WINDOW * mss_of(trial))
    return again.end_us - again.start_us if opened else 0


def _is_behind_tickets(trial: TrialEvidence, exchange: Exchange, window: float | None, quick_us: int) -> bool:
    """Whether the answer waited until its tickets were acknowledged, since they had filled the window."""
    think, filled = think_us(trial, exchange), window is not None and round(window) <= _TICKETS_FILL
    return filled and tickets_before(trial, exchange) > 0 and ruler_of(trial).near((think or 0) - quick_us)


def _handshake_extra_us(trial: TrialEvidence, window: float | None) -> int:
    """What the handshake waited for the small window. What it would wait for the usual one too is its chain's fault."""
    known = handshake_gaps(trial, ruler_of(trial, window_segments=window))
    full = [one for one in known if one.kind is GapKind.WINDOW]
    turns = dict.fromkeys(one.turn for one in full)
    return sum(spared_us([one for one in full if one.turn is turn], mss_of(trial)) for turn in turns)
