"""The rule on what a rest does to the server's congestion window."""

from dataclasses import dataclass
from itertools import accumulate
from statistics import median

from workers.diagnosis.case import Case, Verdicts
from workers.diagnosis.probe.flights import Flight, Gap, Turn, answer_turn, mss_of, packet_time_us
from workers.diagnosis.probe.gaps import USUAL_WINDOW, Ruler, ruler_of, splits_record
from workers.diagnosis.probe.held_ends import LEAST_REST_US
from workers.diagnosis.probe.slow_start import AT_ONCE_RTT, is_slow_start, longest_us, rounds, waits_of
from workers.diagnosis.probe.thinking import think_us
from workers.diagnosis.probe.weighing import ASKED, Sure, fact, jitter_us, ms_of, weigh
from workers.diagnosis.probe.windows import LEAST_ANSWER_BYTES, answer_alone
from workers.measurement.evidence import Depth, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# A window that was taken back is so much smaller than the one of before at least.
_LESS = 0.75
# What a rest costs is told from the way's unsteadiness from this part of a round trip on.
_TELLING_RTT = 0.25
# Less than this part of a saving may be missing from it.
_LITTLE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restart:
    """The first pause of an answer after a rest, and what all the pauses cost that the window of before spares: with
    `at_least` it may be more. `open` where that window is known to be one that may cost round trips more or fewer."""

    gap: Gap
    saving_us: int
    at_least: bool = False
    open: bool = False


def idle_restart(case: Case) -> Verdicts:
    """tcp.idle_restart: after a pause the server begins again with its initial window."""
    id = FindingId.TCP_IDLE_RESTART
    asked = [trial for trial in case.evidence.of(*ASKED) if trial.exchanges]
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
    known = [one for one in sure.seen if not one.open] if isinstance(sure, Sure) else []
    if isinstance(sure, Sure) and not known:
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)
    elif isinstance(sure, Sure):
        yield Finding(
            id=id,
            severity=Severity.LOW,
            confidence=Confidence.MEDIUM if any(one.at_least or one.open for one in sure.seen) else sure.confidence,
            saving_us=round(median(one.saving_us for one in known)),
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
    elif any(ruler_of(trial, jitter).misses_round_trips for trial in trials):
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)


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
    counts = all(is_slow_start(trial, turn, ruler) for turn in turns)
    if counts:
        rested = next(exchange for exchange in trial.exchanges if exchange.idle_us)
        counted_us = longest_us(trial, rested, waits_of(turns[1], ruler), needless)
        saving_us = max(saving_us, min(counted_us, saving_us + waited_us))
    if saving_us < _TELLING_RTT * ruler.rtt_us:
        return None
    return _Restart(
        gap=gaps[0],
        saving_us=saving_us,
        at_least=not counts and waited_us > _LITTLE * saving_us,
        open=_may_wait_again(trial, *turns, ruler),
    )


def _may_wait_again(trial: TrialEvidence, again: Turn, rested: Turn, ruler: Ruler) -> bool:
    """Whether nobody knows if with the window of before the answer would have waited too, as the one before the rest
    did for nothing but its window: slow start doubles that, and where it has ended, which does not show, it grows by a
    few segments (RFC 9406, RFC 5681)."""
    gaps = again.gaps()
    needed = rounds(rested.size_bytes, ruler.mss, _kept_window(again, ruler.mss))
    full = all(ruler.is_whole(gap.flight_bytes) or splits_record(trial, gap) for gap in gaps)
    return full and len(waits_of(again, ruler)) == len(gaps) and needed < len(again.flights)


def _pauses_alike(again: Turn, rested: Turn, ruler: Ruler) -> bool:
    """Whether the server's own pauses may be the same in both answers: the one after the rest waits longer than for its
    window only where the one before it did too, and is never ahead of that."""
    gaps_us, spreads_us = (gap.duration_us for gap in again.gaps()), (one.spread_us for one in again.flights)
    longest_us = max(*gaps_us, *spreads_us, 0)
    spare_us = AT_ONCE_RTT * ruler.rtt_us + ruler.jitter_us

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
    waits_us = sum(gap.duration_us for gap in waits_of(turn, ruler))
    spread_us = sum(flight.spread_us for flight in turn.flights)
    return waits_us + max(0, spread_us - turn.size_bytes * packet_us // ruler.mss)


def _needless_flights(trial: TrialEvidence) -> int:
    """By how many the answer after the rest takes more than the window of before it would have needed."""
    turns = _kept_turns(trial)
    if turns is None:
        return 0
    again, rested = turns
    taken = 1 + len(waits_of(rested, ruler_of(trial)))
    return max(0, taken - rounds(rested.size_bytes, mss_of(trial), _kept_window(again, mss_of(trial))))


def _begins_with_as_much(trial: TrialEvidence) -> bool:
    """Whether the answer after the rest begins with as much as one before it that needed several flights."""
    turns = _kept_turns(trial)
    if turns is None:
        return False
    again, rested = turns
    return len(again.flights) > 1 and rested.flights[0].size_bytes > _LESS * again.flights[0].size_bytes


def _may_have_restarted(trial: TrialEvidence) -> bool:
    """Also where the answer before it came after a rest too: the server's own, who thought that long."""
    again = next((one for one in trial.exchanges[1:] if not one.idle_us), None)
    rested = again is not None and (think_us(trial, again) or 0) > LEAST_REST_US
    return _needless_flights(trial) > 0 and (rested or not _begins_with_as_much(trial))


def _is_interrupted(trial: TrialEvidence) -> bool:
    """Whether the answer after the rest stops for longer than a full window: then nothing is known of its flights."""
    turns = _kept_turns(trial)
    return turns is not None and len(turns[1].gaps()) > len(waits_of(turns[1], ruler_of(trial)))


def _kept_window(again: Turn, mss: int) -> int:
    """What the server had when the pause began, in segments: each flight that filled the window doubled it."""
    return -(-again.flights[0].size_bytes // mss) << (len(again.flights) - 1)
