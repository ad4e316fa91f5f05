"""Rules on TCP as the server is set up: its window, what idling does to it, and small writes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import median

from workers.diagnosis.case import Case, Rule, Verdicts, lost_packets
from workers.diagnosis.flights import Flight, Gap, Turn, answer_turn, mss_of, packet_time_us, tickets_before
from workers.diagnosis.gaps import (
    LONGEST_ROUND_RTT,
    USUAL_WINDOW,
    GapKind,
    Ruler,
    handshake_gaps,
    ruler_of,
)
from workers.diagnosis.held_ends import LEAST_REST_US, nagle_delayed_ack
from workers.diagnosis.slow_start import needed_us, rounds
from workers.diagnosis.thinking import think_us
from workers.diagnosis.weighing import Sure, fact, is_late, is_short, jitter_us, ms_of, visits, weigh
from workers.diagnosis.windows import (
    LEAST_ANSWER_BYTES,
    Window,
    agreed,
    answer_alone,
    first_answer,
    grows,
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
from workers.measurement.evidence import Depth, Exchange, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity

_ASKED = (Trial.FULL, Trial.CLASSICAL)
# Tickets of TLS 1.3 and settings of HTTP/2 come in packets of their own, and fill a window of so many segments.
_TICKETS_FILL = 3
# A window that was taken back is so much smaller than the one of before at least.
_LESS = 0.75
# What a rest costs is told from the way's unsteadiness from this part of a round trip on.
_TELLING_RTT = 0.25
# Less than this part of a saving may be missing from it.
_LITTLE = 0.1
# What a server has written as a whole comes within this part of a round trip, or so many times what its link takes.
_AT_ONCE_RTT, _AT_ONCE_LINK = 0.15, 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restart:
    """The first pause of an answer after a rest, and what all the pauses cost that the window of before spares: with
    `at_least` it may be more."""

    gap: Gap
    saving_us: int
    at_least: bool = False


def iw_small(case: Case) -> Verdicts:
    """tcp.iw_small: the server begins with fewer than ten segments."""
    id = FindingId.TCP_IW_SMALL
    if not any(first_answer(trial) for trial in visits(case, _ASKED)):
        return
    telling = telling_trials(case)
    if not telling:
        # A large one that tells nothing comes after a handshake that has opened the window.
        large = any(map(is_large, visits(case, _ASKED)))
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


def idle_restart(case: Case) -> Verdicts:
    """tcp.idle_restart: after a pause the server begins again with its initial window."""
    id = FindingId.TCP_IDLE_RESTART
    asked = [trial for trial in case.evidence.of(*_ASKED) if trial.exchanges]
    trials = [trial for trial in asked if _kept_turns(trial) is not None]
    if not trials:
        if asked and asked[0].exchanges[0].kept is not False:
            light = case.evidence.depth is Depth.LIGHT
            yield NotJudged(id=id, reason=NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED)
        return
    if all(_fits_window(trial) for trial in trials):
        yield NotJudged(id=id, reason=NotJudgedReason.RESPONSE_SMALL)
        return
    jitter = jitter_us(case)
    sure = weigh(case, id, trials, lambda trial: _restart(trial, ruler_of(trial, jitter)), unsure=_may_have_restarted)
    if isinstance(sure, Sure):
        yield Finding(
            id=id,
            severity=Severity.LOW,
            confidence=Confidence.MEDIUM if any(one.at_least for one in sure.seen) else sure.confidence,
            saving_us=round(median(one.saving_us for one in sure.seen)),
            evidence=sure.facts(
                fact("gap_ms", ms_of(median(one.gap.duration_us for one in sure.seen))),
                fact("bytes_before", sure.seen[0].gap.bytes_before),
                fact("idle_ms", ms_of(_kept_idle_us(sure.trials[0]))),
            ),
        )
    elif sure is not None:
        yield sure
    elif all(map(_is_interrupted, trials)):
        yield NotJudged(id=id, reason=NotJudgedReason.HIDDEN, hidden_by=FindingId.HTTP_BODY_STALL)


def _small_window(trial: TrialEvidence) -> Window | None:
    window = window_of(trial)
    return window if window is not None and window.small else None


def _small(case: Case, sure: Sure[Window]) -> Iterator[Finding]:
    window = known_window(case)
    new = [trial for trial in visits(case, _ASKED) if first_answer(trial) and not lost_packets(trial)]
    timely = [trial for trial in new if not is_late(trial)]
    quick_us = min(
        (us for trial in new for one in trial.exchanges if (us := think_us(trial, one)) is not None), default=0
    )
    saving_us = round(median(_spared_us(trial, window, quick_us) for trial in timely or sure.trials))
    if not saving_us and not any(_spared_us(trial, window, quick_us) for trial in sure.trials):
        return
    segments = [one.segments for one in sure.seen]
    first = first_answer(sure.trials[0])
    yield Finding(
        id=FindingId.TCP_IW_SMALL,
        # A long handshake may have opened the window for new visitors; for those who come back it is as small as ever.
        severity=Severity.HIGH if saving_us else Severity.MEDIUM,
        confidence=sure.confidence,
        saving_us=saving_us or None,
        evidence=sure.facts(
            fact("initial_window_segments", usual_setting(agreed(segments) or min(segments))),
            fact("estimates", tuple(round(one, 1) for one in segments)),
            fact("mss_bytes", mss_of(sure.trials[0])),
            fact("answer_bytes", None if first is None else first[1].size_bytes),
        ),
    )


def _spared_us(trial: TrialEvidence, window: float | None, quick_us: int) -> int:
    """For a server that begins an answer so soon where nothing holds it back."""
    return _answer_extra_us(trial, window, quick_us) + _handshake_extra_us(trial, window)


def _answer_extra_us(trial: TrialEvidence, window: float | None, quick_us: int) -> int:
    """What the rounds of the answer cost that a usual window, grown by the handshake, would not have needed."""
    found = first_answer(trial)
    if found is None:
        return 0
    exchange, mss = found[0], mss_of(trial)
    held = _is_behind_tickets(trial, exchange, window, quick_us)
    turn, ruler = found[1] if held else answer_alone(trial, *found), ruler_of(trial)
    waits = _waits(turn, ruler)
    size_bytes = with_tickets_whole(trial, exchange, turn)
    usual = usual_window_after(trial)
    needless = 1 + len(waits) - rounds(size_bytes, mss, usual)
    if needless <= 0:
        return 0
    began_us = turn.start_us if held else max(turn.start_us, exchange.first_application_us or 0)
    # Flights that a pause has parted come in turns, so that less is waited for than round trips.
    least_us = max(needed_us(size_bytes, ruler, usual, packet_time_us(trial)), _wide_open_us(trial, turn))
    most_us = turn.end_us - began_us - least_us
    return max(0, min(_longest_us(trial, exchange, waits, needless), most_us))


def _wide_open_us(trial: TrialEvidence, first: Turn) -> int:
    """How long an answer that the server itself interrupts takes from its first byte to its last where its window has
    opened, as the same connection shows when asked again; 0 where that is not known."""
    second = next((one for one in trial.exchanges[1:] if not one.idle_us), None)
    turn = None if second is None else answer_turn(trial, second)
    if second is None or turn is None or _is_slow_start(trial, first, ruler_of(trial)):
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


def _kept_turns(trial: TrialEvidence) -> tuple[Turn, Turn] | None:
    """The answers to the request asked at once again, and to the one after a pause."""
    again = [exchange for exchange in trial.exchanges[1:] if not exchange.idle_us]
    later = [exchange for exchange in trial.exchanges[1:] if exchange.idle_us]
    if not again or not later:
        return None
    turns = answer_turn(trial, again[0]), answer_turn(trial, later[0])
    if turns[0] is None or turns[1] is None:
        return None
    return answer_alone(trial, again[0], turns[0]), answer_alone(trial, later[0], turns[1])


def _kept_idle_us(trial: TrialEvidence) -> int:
    return next((exchange.idle_us for exchange in trial.exchanges if exchange.idle_us), 0)


def _fits_window(trial: TrialEvidence) -> bool:
    turns = _kept_turns(trial)
    return turns is None or turns[1].size_bytes < max(LEAST_ANSWER_BYTES, USUAL_WINDOW * mss_of(trial))


def _restart(trial: TrialEvidence, ruler: Ruler) -> _Restart | None:
    """The answer after the rest begins with less than the one before it did, and takes more flights than it needed."""
    turns = _kept_turns(trial)
    if turns is None:
        return None
    gaps, needless = turns[1].gaps(), _needless_flights(trial)
    if not needless or _begins_with_as_much(trial) or not _pauses_alike(*turns, ruler):
        return None
    if not (ruler.near(gaps[0].duration_us) or ruler.near(gaps[0].period_us)):
        return None
    saving_us, waited_us = _later_us(turns), _most_waited_us(turns[0], ruler, packet_time_us(trial))
    counts = all(_is_slow_start(trial, turn, ruler) for turn in turns)
    if counts:
        rested = next(exchange for exchange in trial.exchanges if exchange.idle_us)
        counted_us = _longest_us(trial, rested, _waits(turns[1], ruler), needless)
        saving_us = max(saving_us, min(counted_us, saving_us + waited_us))
    if saving_us < _TELLING_RTT * ruler.rtt_us:
        return None
    return _Restart(gap=gaps[0], saving_us=saving_us, at_least=not counts and waited_us > _LITTLE * saving_us)


def _pauses_alike(again: Turn, rested: Turn, ruler: Ruler) -> bool:
    """Whether the server's own pauses may be the same in both answers: the one after the rest waits longer than for its
    window only where the one before it did too, and is never ahead of that."""
    gaps_us, spreads_us = (gap.duration_us for gap in again.gaps()), (one.spread_us for one in again.flights)
    longest_us = max(*gaps_us, *spreads_us, 0)
    spare_us = _AT_ONCE_RTT * ruler.rtt_us + ruler.jitter_us

    def known(gap: Gap) -> bool:
        near = ruler.may_be_near(gap.duration_us) or ruler.may_be_near(gap.period_us)
        return near or gap.duration_us <= longest_us + spare_us

    def ahead(flight: Flight, size_bytes: int) -> bool:
        came = next((one for one, end in zip(again.flights, _ends(again), strict=True) if end >= size_bytes), None)
        since_us = flight.end_us - rested.start_us + spare_us
        return came is not None and came.start_us - again.start_us > since_us

    behind = not any(ahead(one, end) for one, end in zip(rested.flights, _ends(rested), strict=True))
    return behind and all(map(known, rested.gaps()))


def _ends(turn: Turn) -> list[int]:
    """How many bytes of it had come with each flight."""
    return list(accumulate(flight.size_bytes for flight in turn.flights))


def _later_us(turns: tuple[Turn, Turn]) -> int:
    """By how much longer than the answer before it the one after the rest took. With the window of before it would have
    taken no longer, since the server's own pauses are in both; and less by what that one waited for its window."""
    again, rested = turns
    return (rested.end_us - rested.start_us) - (again.end_us - again.start_us)


def _most_waited_us(turn: Turn, ruler: Ruler, packet_us: int) -> int:
    """What an answer may have waited for its window: all that neither the link nor longer pauses explain."""
    waits_us = sum(gap.duration_us for gap in _waits(turn, ruler))
    spread_us = sum(flight.spread_us for flight in turn.flights)
    return waits_us + max(0, spread_us - turn.size_bytes * packet_us // ruler.mss)


def _is_slow_start(trial: TrialEvidence, turn: Turn, ruler: Ruler) -> bool:
    """Whether all its pauses may be a full window's, and all between these came as fast as the link lets it, or as
    early hints before it were acknowledged: then the server has not paused itself."""
    packet_us = packet_time_us(trial)
    hinted = any(one.interim for one in trial.exchanges)

    def at_once(flight: Flight) -> bool:
        link_us = flight.size_bytes * packet_us / ruler.mss
        return hinted or flight.spread_us <= max(_AT_ONCE_RTT * ruler.rtt_us, _AT_ONCE_LINK * link_us)

    def full(gap: Gap) -> bool:
        passed_us = (gap.duration_us, gap.period_us, gap.period_us - packet_us)
        return grows(gap) and any(map(ruler.may_be_exact, passed_us))

    return all(map(at_once, turn.flights)) and all(map(full, turn.gaps()))


def _needless_flights(trial: TrialEvidence) -> int:
    """By how many the answer after the rest takes more than the window of before it would have needed."""
    turns = _kept_turns(trial)
    if turns is None:
        return 0
    again, rested = turns
    taken = 1 + len(_waits(rested, ruler_of(trial)))
    return max(0, taken - rounds(rested.size_bytes, mss_of(trial), _kept_window(again, mss_of(trial))))


def _begins_with_as_much(trial: TrialEvidence) -> bool:
    """Whether the answer after the rest begins with as much as one before it that needed several flights."""
    turns = _kept_turns(trial)
    if turns is None:
        return False
    again, rested = turns
    return len(again.flights) > 1 and rested.flights[0].size_bytes > _LESS * again.flights[0].size_bytes


def _waits(turn: Turn, ruler: Ruler) -> list[Gap]:
    """The pauses that are no longer than a full window's: in the others the server had nothing to send."""
    return [gap for gap in turn.gaps() if gap.period_us <= LONGEST_ROUND_RTT * ruler.rtt_us]


def _may_have_restarted(trial: TrialEvidence) -> bool:
    """Also where the answer before it came after a rest too: the server's own, who thought that long."""
    again = next((one for one in trial.exchanges[1:] if not one.idle_us), None)
    rested = again is not None and (think_us(trial, again) or 0) > LEAST_REST_US
    return _needless_flights(trial) > 0 and (rested or not _begins_with_as_much(trial))


def _is_interrupted(trial: TrialEvidence) -> bool:
    """Whether the answer after the rest stops for longer than a full window: then nothing is known of its flights."""
    turns = _kept_turns(trial)
    return turns is not None and len(turns[1].gaps()) > len(_waits(turns[1], ruler_of(trial)))


def _kept_window(again: Turn, mss: int) -> int:
    """What the server had when the pause began, in segments: each flight that filled the window doubled it."""
    return -(-again.flights[0].size_bytes // mss) << (len(again.flights) - 1)


def _longest_us(trial: TrialEvidence, exchange: Exchange, waits: Sequence[Gap], count: int) -> int:
    """What so many of a full window's pauses cost. What came ahead of an answer is acknowledged ahead of it, which lets
    a part of each flight out: then from the beginning of the flight before, less what a narrow link takes for that."""
    mss, packet_us = mss_of(trial), packet_time_us(trial)
    ahead = exchange.interim or tickets_before(trial, exchange)
    costs = (gap.period_us - gap.flight_bytes * packet_us // mss if ahead else gap.duration_us for gap in waits)
    return sum(sorted(costs)[-count:])


RULES: tuple[Rule, ...] = (iw_small, idle_restart, nagle_delayed_ack)
