"""The rule on the small end of an answer that waits for an acknowledgement."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from statistics import median

from workers.diagnosis.case import Case, Verdicts, lost_packets
from workers.diagnosis.probe.ended_answers import at_once_bytes, holding, is_asked_to_end, packets_apart, rest_us
from workers.diagnosis.probe.flights import Gap, answer_turn
from workers.diagnosis.probe.gaps import (
    LEAST_GROWTH,
    USUAL_WINDOW,
    GapKind,
    KnownGap,
    Ruler,
    answer_gaps,
    ruler_of,
    splits_record,
)
from workers.diagnosis.probe.thinking import begun_us
from workers.diagnosis.probe.tls_visits import over_http2, page_over_http2
from workers.diagnosis.probe.weighing import (
    ASKED,
    LEAST_SEEN,
    Sure,
    fact,
    is_blind,
    is_late,
    is_short,
    jitter_us,
    ms_of,
    weigh,
)
from workers.diagnosis.probe.windows import first_answer, known_window
from workers.measurement.evidence import Depth, Exchange, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# What our delayed acknowledgement adds to a wait for it: Linux's timer of 40 ms (TCP_DELACK_MIN).
_DELAY_US = (30_000, 60_000)
# What a stack adds that delays them as long as RFC 1122 allows it to.
_ALWAYS_US = (180_000, 230_000)
# After how long a rest a window is taken back: a timeout (RFC 2861), of Linux 200 ms at least.
LEAST_REST_US = 200_000
# A busy machine may be late for one of eight.
_MOST_AS_LONG = 0.125


def nagle_delayed_ack(case: Case) -> Verdicts:
    """tcp.nagle_delayed_ack: a small end of the answer waits for our acknowledgement, which most clients delay."""
    id = FindingId.TCP_NAGLE_DELAYED_ACK
    quick = [trial for trial in case.evidence.of(*ASKED, Trial.RESUMED) if _can_hold(trial)]
    if not quick and not any(map(first_answer, case.evidence.of(*ASKED))):
        return
    if case.evidence.depth is Depth.LIGHT:
        yield NotJudged(id=id, reason=NotJudgedReason.NEEDS_DEEP_PROBE)
        return
    delayed = [trial for trial in case.evidence.of(Trial.DELAYED_ACK) if _can_hold(trial)]
    found = tuple(_held_at_all(case, quick, delayed))
    sure = any(isinstance(one, Finding) for one in found)
    kept = None if sure else _held_unless_ended(case) or _held_behind_windows(case)
    yield from found if kept is None or (found and isinstance(kept, NotJudged)) else (kept,)


def _held_at_all(case: Case, quick: list[TrialEvidence], delayed: list[TrialEvidence]) -> Verdicts:
    """By first and second answers, where no window can be full: there our acknowledgement may be delayed."""
    id = FindingId.TCP_NAGLE_DELAYED_ACK
    jitter = jitter_us(case)

    def look(trial: TrialEvidence) -> int | None:
        return _held_us(trial, jitter)

    def blind(trial: TrialEvidence) -> bool:
        return is_blind(trial) or is_asked_to_end(case, trial)

    held = weigh(case, id, delayed, look, counts_round_trips=False, unsure=_may_be_held)
    hurried = held if is_short(quick) else weigh(case, id, quick, look, blind=blind, unsure=_may_be_held)
    if isinstance(held, Sure) and isinstance(hurried, Sure):
        if all(_has_room(case, one) for one in held.trials):
            own_us = rest_us(case, _held(held.trials[0], jitter)[0].bytes_after)
            severity = Severity.LOW if _is_free_over_http2(case, held.trials) else Severity.HIGH
            yield from _compared(held, hurried, quick, delayed, jitter, severity, own_us)
    elif isinstance(held, NotJudged) and hurried is not None:
        yield held
    elif isinstance(hurried, NotJudged):
        yield hurried
    elif any(ruler_of(trial, jitter).misses_round_trips for trial in (*quick, *delayed)):
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)


def _has_room(case: Case, trial: TrialEvidence) -> bool:
    """Whether its first answer fits into the window without Nagle's algorithm too: where it does not, only those behind
    it would be sooner, of a window that has grown by then."""
    return packets_apart(trial) <= (known_window(case) or USUAL_WINDOW)


def _is_free_over_http2(case: Case, held: Sequence[TrialEvidence]) -> bool:
    """Whether browsers are spared, since they would use HTTP/2, over which the end of the same answer, the first of a
    connection, comes at once. Where nothing else is spoken, it is HTTP/2's that does not."""
    over = [trial for trial in page_over_http2(case) if _can_hold(trial)]
    alone = any(map(over_http2, case.evidence.of(*ASKED)))
    first = all(_may_hold(trial, trial.exchanges[:1]) for trial in held)
    return bool(over) and not alone and first and not any(_may_hold(trial, holding(trial)) for trial in over)


def _may_hold(trial: TrialEvidence, exchanges: Sequence[Exchange]) -> bool:
    ruler = ruler_of(trial)
    known = (one for exchange in exchanges for one in answer_gaps(trial, exchange, ruler))
    return any(one.kind is GapKind.HELD or _is_unclear(one, ruler) for one in known)


def _held_unless_ended(case: Case) -> Finding | None:
    """By first answers that the run's own, which asks for the end of the connection, gets in one go: the same window
    had room for all of it, and with the end all is sent. Of later answers the end is free where no ticket, or head of
    its own, is under way before it: Linux holds it back for what is small alone (Minshall's variant of Nagle's)."""
    jitter, at_once = jitter_us(case), at_once_bytes(case)

    def look(trial: TrialEvidence) -> int | None:
        gap = _end_behind_gap(trial)
        if gap is None or gap.bytes_before >= at_once or not splits_record(trial, gap) or not _has_room(case, trial):
            return None
        return gap.duration_us if _waits_for_ack(trial, gap, ruler_of(trial, jitter)) else None

    asked = (one for one in case.evidence.of(*ASKED, Trial.DELAYED_ACK) if not is_asked_to_end(case, one))
    sure = weigh(case, FindingId.TCP_NAGLE_DELAYED_ACK, [one for one in asked if first_answer(one) is not None], look)
    if not isinstance(sure, Sure):
        return None
    gap_us = median(sure.seen)
    return Finding(
        id=FindingId.TCP_NAGLE_DELAYED_ACK,
        severity=Severity.LOW if _is_free_over_http2(case, sure.trials) else Severity.HIGH,
        confidence=sure.confidence,
        saving_us=round(gap_us),
        evidence=sure.facts(fact("gap_quick_ack_ms", ms_of(gap_us))),
    )


def _end_behind_gap(trial: TrialEvidence) -> Gap | None:
    """The silence before the end of its first answer, where that is small and there is no other."""
    found = first_answer(trial)
    gaps = () if found is None or found[1].cut else found[1].gaps()
    return gaps[0] if len(gaps) == 1 and gaps[0].bytes_after < ruler_of(trial).mss else None


def _held_behind_windows(case: Case) -> Finding | NotJudged | None:
    """By second answers: so much of a larger one is acknowledged at once that only a round trip is lost. One that is
    larger than the window is known to be may have filled it, unless the server has shown that it holds ends back."""
    id, jitter = FindingId.TCP_NAGLE_DELAYED_ACK, jitter_us(case)
    asked = case.evidence.of(*ASKED, Trial.DELAYED_ACK)
    twice = [trial for trial in asked if _can_hold(trial) and _asked_again(trial) is not None]

    def look(trial: TrialEvidence) -> int | None:
        return _held_again_us(trial, jitter, LEAST_GROWTH * _largest_flight(trial))

    def look_at_all(trial: TrialEvidence) -> int | None:
        return _held_again_us(trial, jitter)

    within, sure = (weigh(case, id, twice, one) for one in (look, look_at_all))
    if not isinstance(sure, Sure):
        return None
    if not isinstance(within, Sure) and not _holds_ends(case):
        return NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)
    gap_us = median(sure.seen)
    return Finding(
        id=FindingId.TCP_NAGLE_DELAYED_ACK,
        # The first answer's end may travel with what its window has kept.
        severity=Severity.MEDIUM,
        # A sender that has left slow start for good may have a window of just as many packets.
        confidence=Confidence.MEDIUM,
        saving_us=round(gap_us),
        evidence=sure.facts(fact("gap_quick_ack_ms", ms_of(gap_us))),
    )


def _asked_again(trial: TrialEvidence) -> Exchange | None:
    """The request that followed the first answer at once."""
    return next((one for one in holding(trial)[1:] if not one.idle_us), None)


def _holds_ends(case: Case) -> bool:
    """Whether first answers prove it, as often as is no chance: the end waited that had room in the window before. It
    is held for an end of the answer before that, which may have been acknowledged by then."""
    clean = (one for one in case.evidence.trials if first_answer(one) and not lost_packets(one) and not is_late(one))
    return sum(map(_holds_end_with_room, clean)) >= LEAST_SEEN


def _holds_end_with_room(trial: TrialEvidence) -> bool:
    kinds = [one.kind for one in answer_gaps(trial, trial.exchanges[0], ruler_of(trial))]
    return kinds[-2:] == [GapKind.WINDOW, GapKind.HELD]


def _largest_flight(trial: TrialEvidence) -> int:
    """Of the first answer, in bytes."""
    first = answer_turn(trial, trial.exchanges[0])
    return 0 if first is None else max(flight.size_bytes for flight in first.flights)


def _held_again_us(trial: TrialEvidence, jitter: int, most_bytes: float = inf) -> int | None:
    """How long the small end of the second answer was held back behind a flight that, with it, is no more than that:
    what the window has grown to with the first, which is half as large again as each that was full, unless the server
    has rested, or grows it by a packet a round trip."""
    again = _asked_again(trial)
    if again is None or _is_free_later(trial, again):
        return None
    ruler = ruler_of(trial, jitter)
    if _creeps(answer_gaps(trial, trial.exchanges[0], ruler)):
        return None
    known = answer_gaps(trial, again, ruler)
    held = [
        one.gap.duration_us
        for place, one in enumerate(known)
        if one.gap.bytes_after < ruler.mss
        and not _windows(known[:place])
        and one.gap.flight_bytes + one.gap.bytes_after <= most_bytes
        and one.turn.start_us - one.turn.asked_us - ruler.rtt_us < LEAST_REST_US
        and _waits_for_ack(trial, one.gap, ruler)
        and _stops_behind_full_packets(trial, again, one.gap)
    ]
    return max(held, default=None)


def _windows(known: Sequence[KnownGap]) -> list[Gap]:
    return [one.gap for one in known if one.kind is GapKind.WINDOW]


def _creeps(known: Sequence[KnownGap]) -> bool:
    """Whether windows that were full grew less than in slow start: then the next may be full by a packet more."""
    return any(later.flight_bytes < LEAST_GROWTH * one.flight_bytes for one, later in pairwise(_windows(known)))


def _is_free_later(trial: TrialEvidence, again: Exchange) -> bool:
    """Whether a later answer came in one go: Nagle's algorithm holds its end back too, a window that grows does not."""
    later = trial.exchanges[trial.exchanges.index(again) + 1 :]
    turns = (answer_turn(trial, one) for one in later)
    return any(turn is not None and not turn.cut and not turn.gaps() for turn in turns)


def _waits_for_ack(trial: TrialEvidence, gap: Gap, ruler: Ruler) -> bool:
    """Whether it takes a round trip and nothing else, or where our acknowledgements are late so much more."""
    late = trial.trial is Trial.DELAYED_ACK and ruler.waits_for_late_ack(gap.duration_us)
    return late or any(_is_exact(trial, us, ruler) for us in (gap.duration_us, gap.period_us))


def _is_exact(trial: TrialEvidence, us: int, ruler: Ruler) -> bool:
    """Whether that is a round trip and nothing else but, where records show that the kernel stopped, the path's own
    unsteadiness."""
    return ruler.is_exact(us) if trial.handshake is None else ruler.may_be_exact(us)


def _can_hold(trial: TrialEvidence) -> bool:
    """Whether something of its answers could have been held back."""
    return first_answer(trial) is not None and bool(holding(trial))


def _held_us(trial: TrialEvidence, jitter: int) -> int | None:
    """How long the end of an answer was held back in this connection; None when it was not."""
    return max((gap.duration_us for gap in _held(trial, jitter)), default=None)


def _first_delayed_us(trial: TrialEvidence, jitter: int, least_us: float) -> int:
    """How long the first end was held back that our late acknowledgement let out, if one was for so long at least: the
    longer of two is by what timers of the kernel happen to count beyond their time."""
    held_us = [gap.duration_us for gap in _held(trial, jitter)]
    return next((one for one in held_us if one >= least_us), max(held_us))


def _held(trial: TrialEvidence, jitter: int) -> list[Gap]:
    """The last silence of each answer, where it is so: what is held before another one costs no more than that."""
    ruler = ruler_of(trial, jitter)
    known = (one for exchange in holding(trial) for one in answer_gaps(trial, exchange, ruler)[-1:])
    return [one.gap for one in known if _is_held(one, trial, ruler)]


def _is_held(one: KnownGap, trial: TrialEvidence, ruler: Ruler) -> bool:
    """Whether it is, or may be but for an unsteady path and lies in the middle of a record."""
    small = one.kind is GapKind.UNCLEAR and one.gap.bytes_after < ruler.mss and not one.turn.cut
    waits = small and ruler.may_wait_for_ack(one.gap.duration_us) and splits_record(trial, one.gap)
    return one.kind is GapKind.HELD or waits


def _may_be_held(trial: TrialEvidence) -> bool:
    """Whether a pause before the small end of an answer has more than one explanation."""
    ruler = ruler_of(trial)
    known = (one for exchange in holding(trial) for one in answer_gaps(trial, exchange, ruler))
    return any(_is_unclear(one, ruler) for one in known)


def _is_unclear(one: KnownGap, ruler: Ruler) -> bool:
    return one.kind is GapKind.UNCLEAR and one.gap.bytes_after < ruler.mss and not one.turn.cut


def _longest_us(trial: TrialEvidence) -> int:
    """The longest silence in the first answers, whatever caused it: a narrow link too."""
    turns = (answer_turn(trial, exchange, longest_us=0) for exchange in holding(trial))
    return max((gap.duration_us for turn in turns if turn is not None for gap in turn.gaps()), default=0)


def _waits_within(trial: TrialEvidence) -> bool:
    """Whether the longest silence lies inside an answer: before its first byte the server may have been thinking."""
    waits = [
        (gap.duration_us, gap.start_us >= begun)
        for exchange in holding(trial)
        if (begun := begun_us(trial, exchange)) is not None
        and (turn := answer_turn(trial, exchange, longest_us=0)) is not None
        for gap in turn.gaps()
    ]
    return bool(waits) and max(waits)[1]


def _is_held_in_record(trial: TrialEvidence, jitter: int) -> bool:
    """Whether what was held back longest is the end of a record that had begun: the kernel had all of it."""
    held = _held(trial, jitter)
    return bool(held) and splits_record(trial, max(held, key=lambda gap: gap.duration_us))


def _is_held_each_time(trials: Sequence[TrialEvidence], jitter: int) -> bool:
    """Whether the end of both answers of each connection waits for exactly a round trip.

    Two full packets before it, and the client acknowledges at once whatever it delays otherwise. It is not the window,
    which has grown by the second answer.
    """
    twice = [trial for trial in trials if len(holding(trial)) > 1]
    return len(twice) >= LEAST_SEEN and all(
        _holds_exactly(trial, one, jitter) for trial in twice for one in holding(trial)
    )


def _holds_exactly(trial: TrialEvidence, exchange: Exchange, jitter: int) -> bool:
    ruler, begun = ruler_of(trial, jitter), begun_us(trial, exchange) or 0
    known = (one for one in answer_gaps(trial, exchange, ruler) if one.gap.start_us >= begun)
    held = [one.gap for one in known if _is_held(one, trial, ruler)]
    exact = len(held) == 1 and _is_exact(trial, held[0].duration_us, ruler)
    return exact and _stops_behind_full_packets(trial, exchange, held[0])


def _stops_behind_full_packets(trial: TrialEvidence, exchange: Exchange, gap: Gap) -> bool:
    """Whether the kernel stopped the answer: an application that rests a round trip has handed over whole records, and
    without TLS it would have to meet the end of a packet."""
    if trial.handshake is not None:
        return splits_record(trial, gap)
    return ruler_of(trial).is_whole(gap.bytes_before - (exchange.head_bytes or 0))


def _stand_out(delayed_us: Sequence[int], quick_us: Sequence[int]) -> bool:
    """Whether hardly a quick one is as long as any: what differs as much by itself is no wait for us."""
    return sum(one >= min(delayed_us) for one in quick_us) <= _MOST_AS_LONG * len(quick_us)


def _compared(
    held: Sure[int],
    hurried: Sure[int],
    quick: list[TrialEvidence],
    delayed: list[TrialEvidence],
    jitter: int,
    severity: Severity,
    own_us: int,
) -> Verdicts:
    """A finding when the wait is as much longer as our acknowledgement is later: then it waits for that, but for the
    `own_us` that the server takes itself."""
    clean = [trial for trial in quick if not lost_packets(trial) and not is_late(trial)]
    waits_us = list(map(_longest_us, clean)) if is_short(clean) else hurried.seen
    # A process that reads late acknowledges late: the least of them is the quick one.
    quick_us = median(waits_us) if is_short(clean) else min(waits_us)
    least, most = _DELAY_US
    delayed_us = median(_first_delayed_us(trial, jitter, quick_us + least) for trial in held.trials)
    longer = least <= delayed_us - quick_us <= most + jitter and _stand_out(held.seen, waits_us)
    # Where something on the way delays all acknowledgements, ours included, the wait itself shows it. So long an
    # application may rest too.
    longest = (_ALWAYS_US[0] <= one <= _ALWAYS_US[1] for one in (quick_us - hurried.rtt_us, delayed_us - held.rtt_us))
    late = all(longest) and bool(clean) and all(map(_waits_within, clean))
    always = late and all(_is_held_in_record(one, jitter) for one in (*clean, *held.trials))
    exactly = not is_short(clean) and _is_held_each_time(
        [one for one in (*quick, *delayed) if not lost_packets(one)], jitter
    )
    if not (longer or always or exactly):
        yield NotJudged(id=FindingId.TCP_NAGLE_DELAYED_ACK, reason=NotJudgedReason.UNSTEADY)
        return
    yield Finding(
        id=FindingId.TCP_NAGLE_DELAYED_ACK,
        severity=severity,
        confidence=held.confidence,
        saving_us=round(delayed_us) - own_us,
        evidence=held.facts(
            fact("gap_delayed_ack_ms", ms_of(delayed_us)),
            fact("gap_quick_ack_ms", ms_of(quick_us)),
            *([fact("alpn", "http/1.1")] if severity is Severity.LOW else []),
        ),
    )
