"""The rule on the server's initial congestion window."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from workers.diagnosis.case import Case, Verdicts, lost_packets
from workers.diagnosis.flights import Turn, answer_turn, mss_of, packet_time_us, tickets_before
from workers.diagnosis.gaps import USUAL_WINDOW, GapKind, handshake_gaps, ruler_of
from workers.diagnosis.slow_start import is_slow_start, longest_us, needed_us, rounds, waits_of
from workers.diagnosis.thinking import think_us
from workers.diagnosis.weighing import Sure, fact, is_late, is_short, jitter_us, visits, weigh
from workers.diagnosis.windows import (
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
from workers.measurement.evidence import Exchange, Trial, TrialEvidence
from workers.measurement.finding import Finding, FindingId, NotJudged, NotJudgedReason, Severity

_ASKED = (Trial.FULL, Trial.CLASSICAL)
# Tickets of TLS 1.3 and settings of HTTP/2 come in packets of their own, and fill a window of so many segments.
_TICKETS_FILL = 3


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
    waits = waits_of(turn, ruler)
    size_bytes = with_tickets_whole(trial, exchange, turn)
    usual = usual_window_after(trial)
    needless = 1 + len(waits) - rounds(size_bytes, mss, usual)
    if needless <= 0:
        return 0
    began_us = turn.start_us if held else max(turn.start_us, exchange.first_application_us or 0)
    # Flights that a pause has parted come in turns, so that less is waited for than round trips.
    least_us = max(needed_us(size_bytes, ruler, usual, packet_time_us(trial)), _wide_open_us(trial, turn))
    most_us = turn.end_us - began_us - least_us
    return max(0, min(longest_us(trial, exchange, waits, needless), most_us))


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
