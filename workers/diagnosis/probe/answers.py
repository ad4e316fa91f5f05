"""Rules on answers: when they begin, whether they flow, and what becomes of the connection.

Each stretch of waiting is told once: before the first byte it is thinking, after it a stall.
"""

from collections.abc import Sequence
from statistics import median, quantiles

from workers.diagnosis.case import Case, Rule, Verdicts, lost_once_connected, lost_packets, rtt_of
from workers.diagnosis.probe.body_stalls import body_stall, pauses_in
from workers.diagnosis.probe.flights import mss_of, packet_time_us, tickets_before
from workers.diagnosis.probe.gaps import GapKind, Ruler, answer_gaps, ruler_of
from workers.diagnosis.probe.late_begins import always_late_us, lead_us
from workers.diagnosis.probe.path import loss
from workers.diagnosis.probe.quick_answers import hangs_on_window
from workers.diagnosis.probe.thinking import (
    THOUGHTFUL,
    answer_was_disturbed,
    begun_us,
    first_think_us,
    may_be_repaired,
    think_us,
    way_behind_us,
)
from workers.diagnosis.probe.tls_visits import over_http2
from workers.diagnosis.probe.weighing import (
    ASKED,
    LEAST_SEEN,
    Sure,
    asked_again,
    fact,
    is_late,
    jitter_us,
    ms_of,
    never,
    own_lag_us,
    unrepeated,
    visits,
    weigh,
)
from workers.diagnosis.probe.windows import answer_alone, behind_tickets_us, first_answer, known_window
from workers.measurement.evidence import Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.statuses import EARLY_HINTS

# From here on thinking is told, and with high severity. What a good server may take is no fault.
SLOW_THINK_US, VERY_SLOW_THINK_US = 200_000, 600_000
GOOD_THINK_US = 50_000
# A server that is slow now and then is so for this part of those who ask, and not by a single chance.
NOW_AND_THEN = 0.25
BUFFERED_THINK_US = 150_000
BUFFERED_BODY_BYTES = 14_000
# On a path as unsteady as this part of its round trip thinking is not told from the way.
_THINK_RTT = 0.3
_JITTERS = 1.5
# A packet that takes a link so long is a good part of a wait; where nothing is known of the link, this part of it.
_NARROW_US = 15_000
_LINK_SHARE = 0.5
# Statuses of those who did what they were asked for; one that switches protocols has gone on to something else.
_OBLIGING = range(200, 400)
_MOST_HEADER = 200


def keepalive_off(case: Case) -> Verdicts:
    """http.keepalive_off: the server closes the connection after each answer; that of HTTP/2 alone is one too, since
    browsers use it where they can.
    """
    usual, multiplexed = _closes(case, visits(case, ASKED)), _closes(case, _visits_over_http2(case))
    if isinstance(usual, Sure):
        yield _closing(case, usual, Severity.LOW if _keeps_over_http2(case) else Severity.HIGH)
    elif isinstance(multiplexed, Sure):
        yield _closing(case, multiplexed, Severity.HIGH)
    elif unsure := usual or multiplexed:
        yield unsure


def think_time(case: Case) -> Verdicts:
    """http.think_time: the server takes long to begin its answer."""
    id = FindingId.HTTP_THINK_TIME
    least_us = _least_us(case, SLOW_THINK_US)
    timely = [trial for trial in _thoughtful(case) if not is_late(trial)]
    trials = [trial for trial in timely if not _is_slow_by_lag(trial, least_us)]
    behind_us = way_behind_us(case)
    unharmed = [trial for trial in trials if not _is_slow_by_loss(trial, least_us)]
    clean = _as_browsers_ask(unharmed, least_us + behind_us)
    thinks = [max(0, think - behind_us) for think in _thinks(clean)]
    slow = [think for think in thinks if think > least_us]
    # All that the server says may be as late, whatever it thinks.
    late_us = max(0, always_late_us(clean) - behind_us)
    if slow and (_may_be_the_links(clean, median(slow)) or median(slow) - late_us <= least_us):
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)
    elif len(slow) >= LEAST_SEEN and len(slow) >= NOW_AND_THEN * len(thinks):
        # A lost answer of one packet comes late and leaves no other trace: on such a path some are late by it.
        some = median(thinks) <= least_us and any(map(lost_packets, case.evidence.trials))
        if some or _may_all_have_been_lost(case, clean, least_us + behind_us):
            yield NotJudged(id=id, reason=NotJudgedReason.LOSS)
        else:
            yield _thinking(case, clean, thinks, slow)
    elif len(thinks) >= LEAST_SEEN and median(thinks) > least_us:
        yield NotJudged(id=id, reason=NotJudgedReason.NOT_REPEATED)
    elif len(thinks) < LEAST_SEEN and any(think > least_us for think in _thinks(trials)):
        lossy = len(unharmed) < len(trials)
        yield NotJudged(id=id, reason=NotJudgedReason.LOSS if lossy else unrepeated(case))
    elif slow:
        yield NotJudged(id=id, reason=NotJudgedReason.NOT_REPEATED)
    elif thinks and median(thinks) + behind_us > SLOW_THINK_US:
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)
    elif len(trials) < len(timely) or (not timely and _thoughtful(case)):
        yield NotJudged(id=id, reason=NotJudgedReason.LATE_CLOCK)
    elif not timely and _may_be_held_back(case, least_us):
        yield NotJudged(id=id, reason=NotJudgedReason.UNSTEADY)


def buffered_response(case: Case) -> Verdicts:
    """http.buffered_response: a page that takes thinking is sent when all of it is ready, not as it grows."""
    id = FindingId.HTTP_BUFFERED_RESPONSE
    least_us, jitter = _least_us(case, BUFFERED_THINK_US), jitter_us(case)
    late_us = max(way_behind_us(case), always_late_us(_thoughtful(case)))

    def look(trial: TrialEvidence) -> int | None:
        think = (_own_think_us(trial) or 0) - late_us
        return think if think - own_lag_us(trial) > least_us and _in_one_go(trial, jitter) else None

    def unsure(trial: TrialEvidence) -> bool:
        think = _own_think_us(trial)
        return think is not None and think > BUFFERED_THINK_US and _in_one_go(trial, jitter, unclear=True)

    def spoilt(trial: TrialEvidence) -> bool:
        return _is_slow_by_loss(trial, least_us)

    trials = [trial for trial in visits(case, ASKED) if _is_page(trial)]
    sure = weigh(case, id, trials, look, counts_round_trips=False, spoilt=spoilt, unsure=unsure)
    if isinstance(sure, Sure):
        # The milliseconds of a server that thinks for too long are told by `think_time`.
        told = any(isinstance(one, Finding) for one in think_time(case))
        think = round(median(sure.seen))
        yield Finding(
            id=id,
            severity=Severity.MEDIUM,
            confidence=sure.confidence,
            saving_us=None if told else think,
            evidence=sure.facts(
                fact("think_ms", ms_of(think)), fact("body_bytes", sure.trials[0].exchanges[0].body_bytes)
            ),
        )
    elif sure is not None:
        yield sure


def header(trial: TrialEvidence, name: str) -> str | None:
    """The first header of this name in the first answer of a connection, cut to what evidence may hold."""
    headers = trial.exchanges[0].headers if trial.exchanges else ()
    return next((one.value[:_MOST_HEADER] for one in headers if one.name.lower() == name), None)


def _was_answered(trial: TrialEvidence) -> bool:
    """Whether there was an answer that a server gives whose mind is not on closing."""
    status = trial.exchanges[0].status if trial.exchanges else None
    return status in _OBLIGING


def _undisturbed(trials: Sequence[TrialEvidence]) -> list[TrialEvidence]:
    """Those that lost nothing once connected, if there are any: what a loss costs is the way's."""
    return [trial for trial in trials if not lost_once_connected(trial)] or list(trials)


def _connecting_us(trial: TrialEvidence) -> int:
    """Without the wait for a SYN that got lost."""
    return (rtt_of(trial) if trial.syn_retransmits else trial.connect_us) or 0


def _slow_start_us(trial: TrialEvidence, ruler: Ruler) -> int:
    """What the answer waited for its window: on a connection that was kept, an answer like the one before has room."""
    pauses = [] if lost_once_connected(trial) else pauses_in(trial, ruler, GapKind.WINDOW)
    if not pauses:
        return 0
    exchange = trial.exchanges[0]
    spread_us = behind_tickets_us(trial, exchange, answer_alone(trial, exchange, pauses[0].turn)) or 0
    return sum(one.gap.duration_us + spread_us for one in pauses)


def _handshake_us(trial: TrialEvidence) -> int:
    shake = trial.handshake
    return 0 if shake is None or shake.ended_us is None else shake.ended_us - shake.started_us


def _is_resumed(trial: TrialEvidence) -> bool:
    shake = trial.handshake
    return shake is not None and shake.ended_us is not None and bool(shake.resumed)


def _closes(case: Case, made: Sequence[TrialEvidence]) -> Sure[bool] | NotJudged | None:
    """Whether each of these connections was closed behind its first answer."""
    id = FindingId.HTTP_KEEPALIVE_OFF
    answered = [trial for trial in made if _was_answered(trial)]
    trials = [trial for trial in answered if trial.exchanges[0].kept is not None]
    if answered and not trials:
        # The run's own connection asks but once.
        reason = unrepeated(case)
        light = reason is NotJudgedReason.NEEDS_DEEP_PROBE
        return NotJudged(id=id, reason=reason if light else NotJudgedReason.NOT_MEASURED)

    def look(trial: TrialEvidence) -> bool | None:
        return True if trial.exchanges[0].kept is False else None

    return weigh(case, id, trials, look, counts_round_trips=False, spoilt=never, blind=never)


def _closing(case: Case, sure: Sure[bool], severity: Severity) -> Finding:
    closed = _undisturbed(sure.trials)
    # A browser that must open a connection anew continues its session where the server lets it.
    resumed = [one for one in case.evidence.of(Trial.RESUMED) if _is_resumed(one) and first_answer(one) is not None]
    opened = _undisturbed(resumed) or closed
    opening_us = median(map(_connecting_us, closed)) + median(map(_handshake_us, opened))
    jitter, window = jitter_us(case), known_window(case)
    slow_starts = [_slow_start_us(trial, ruler_of(trial, jitter, window)) for trial in opened]
    return Finding(
        id=FindingId.HTTP_KEEPALIVE_OFF,
        severity=severity,
        confidence=Confidence.HIGH,
        saving_us=round(opening_us + median(slow_starts)),
        evidence=sure.facts(
            fact("opening_ms", ms_of(opening_us)),
            fact("connection_header", header(sure.trials[0], "connection")),
            *([fact("alpn", "h2")] if all(map(over_http2, sure.trials)) else []),
        ),
    )


def _visits_over_http2(case: Case) -> list[TrialEvidence]:
    return [trial for trial in visits(case, (Trial.HTTP2,), ()) if over_http2(trial)]


def _keeps_over_http2(case: Case) -> bool:
    """Whether browsers are spared, since they would use HTTP/2 and its connection stays. Where nothing else is spoken,
    it is HTTP/2's that does not."""
    return not any(map(over_http2, case.evidence.of(*ASKED))) and any(
        over_http2(trial) and _was_answered(trial) and trial.exchanges[0].kept is not False
        for trial in case.evidence.of(Trial.HTTP2)
    )


def _thoughtful(case: Case) -> list[TrialEvidence]:
    kinds = THOUGHTFUL if case.evidence.secure else (*THOUGHTFUL, Trial.PLAIN)
    return [trial for trial in case.evidence.of(*kinds) if first_think_us(trial) is not None]


def _may_be_held_back(case: Case, least_us: float) -> bool:
    """Whether answers come as late as that, of which none is known to have waited for the server alone."""
    asked = (trial for trial in case.evidence.of(*THOUGHTFUL) if trial.exchanges)
    return any((think_us(trial, trial.exchanges[0]) or 0) > least_us for trial in asked)


def _thinks(trials: Sequence[TrialEvidence]) -> list[int]:
    return [think for trial in trials if (think := _own_think_us(trial)) is not None]


def _as_browsers_ask(trials: list[TrialEvidence], least_us: float) -> list[TrialEvidence]:
    """Those over HTTP/2 alone where all of them are slower than that: browsers ask over nothing else where they can."""
    over = [trial for trial in trials if over_http2(trial)]
    slow = [think for think in _thinks(over) if think > least_us]
    return over if len(slow) == len(over) >= LEAST_SEEN else trials


def _is_slow_by_loss(trial: TrialEvidence, least_us: float) -> bool:
    """Whether a wait that is longer than that may be a lost packet's: our request's, or the first one of the answer."""
    think = _own_think_us(trial)
    return asked_again(trial) or (think is not None and may_be_repaired(trial, think, least_us))


def _may_all_have_been_lost(case: Case, trials: Sequence[TrialEvidence], least_us: float) -> bool:
    """Whether no answer is slower than that but such as may have got lost. Where others are quick that is enough, since
    nothing tells of a packet that is lost alone; all of them get lost only on a way that is known to lose as many."""
    slow = [trial for trial in trials if (_own_think_us(trial) or 0) > least_us]
    loses = len(slow) < len(trials) or _came_sooner(case, slow) or any(isinstance(one, Finding) for one in loss(case))
    jitter = jitter_us(case)
    once = [trial for trial in slow if any(map(ruler_of(trial, jitter).may_be_repeated, _alone_us(trial)))]
    twice = [trial for trial in slow if any(map(ruler_of(trial, jitter).may_be_repeated_twice, _alone_us(trial)))]
    # Those that got lost twice are fewer.
    return loses and all(trial in once or trial in twice for trial in slow) and 2 * len(once) >= len(slow)


def _came_sooner(case: Case, slow: Sequence[TrialEvidence]) -> bool:
    """Whether there are others that came in less than half the time, although they may have been held back too."""
    least_us = min((_own_think_us(trial) or 0 for trial in slow), default=0)
    others = (one for one in case.evidence.of(*THOUGHTFUL) if one.exchanges and first_think_us(one) is None)
    thinks = (think for one in others if (think := think_us(one, one.exchanges[0])) is not None)
    return any(2 * think < least_us for think in thinks)


def _alone_us(trial: TrialEvidence) -> list[int]:
    """How long the answer took after its request, if it was one packet: a loss of that leaves no other trace. Where
    what came behind it told of it, it came a round trip later; so does what is held back behind lost tickets."""
    exchange, rtt_us = trial.exchanges[0], rtt_of(trial) or 0
    if (exchange.head_bytes or 0) + (exchange.body_bytes or 0) >= mss_of(trial):
        return []
    think, told = _own_think_us(trial) or 0, answer_was_disturbed(trial)
    behind = told or tickets_before(trial, exchange) > 0
    return [*([] if told else [think]), *([think - rtt_us] if behind else [])]


def _is_slow_by_lag(trial: TrialEvidence, least_us: float) -> bool:
    """Whether a wait may be longer than that by our own process alone."""
    think = _own_think_us(trial) or 0
    return think > least_us >= think - own_lag_us(trial)


def _own_think_us(trial: TrialEvidence) -> int | None:
    """Without what a narrow link took."""
    think = first_think_us(trial)
    return None if think is None else max(0, think - _by_link_us(trial))


def _may_be_the_links(trials: Sequence[TrialEvidence], think: float) -> bool:
    """Whether a narrow link may take as long for a first packet: those of the handshake, which need no thinking, came
    no sooner, and no packets were seen that came quickly one after the other."""
    if any(map(packet_time_us, trials)):
        return False
    leads = [lead for trial in trials if (lead := lead_us(trial)) is not None]
    return bool(leads) and median(leads) > _LINK_SHARE * think


def _by_link_us(trial: TrialEvidence) -> int:
    """What of the wait for the first byte a narrow link took for the packet that brought it, and for tickets before."""
    found, packet_us = first_answer(trial), packet_time_us(trial)
    if found is None or packet_us < _NARROW_US:
        return 0
    exchange, turn = found
    tickets = tickets_before(trial, exchange)
    first = min(mss_of(trial), max(0, turn.size_bytes - tickets))
    return round(packet_us * (first + tickets) / mss_of(trial))


def _least_us(case: Case, law_us: int) -> float:
    """The threshold, or what stands out of this path where that is more."""
    return max(law_us, _THINK_RTT * (case.rtt_us or 0), _JITTERS * jitter_us(case))


def _thinking(case: Case, trials: Sequence[TrialEvidence], thinks: list[int], slow: list[int]) -> Finding:
    middle, high = median(thinks), quantiles(thinks, n=20, method="inclusive")[-1]
    timing, saving_us = header(trials[0], "server-timing"), _spared_by_quick_answers_us(thinks, slow)
    window = known_window(case)
    known = not any(hangs_on_window(trial, window, saving_us) for trial in trials)
    return Finding(
        id=FindingId.HTTP_THINK_TIME,
        severity=Severity.HIGH if middle > VERY_SLOW_THINK_US else Severity.MEDIUM,
        confidence=Confidence.HIGH if known and len(slow) == len(thinks) else Confidence.MEDIUM,
        saving_us=saving_us,
        evidence=(
            fact("think_ms", ms_of(middle)),
            fact("think_p95_ms", ms_of(high)),
            fact("spread", round(high / max(1, middle), 2)),
            fact("slow_ms", ms_of(median(slow))),
            fact("seen", f"{len(slow)} of {len(thinks)}"),
            *([fact("alpn", "h2")] if all(map(over_http2, trials)) else []),
            *([fact("server_timing", timing)] if timing else []),
        ),
    )


def _spared_by_quick_answers_us(thinks: list[int], slow: list[int]) -> int:
    """What an answer would come sooner on average. Quick and slow ones are weighed by how many they are: between two
    heads lies no middle that anybody waits for."""
    quick = sorted(thinks)[: len(thinks) - len(slow)]
    heads = ((part, median(part)) for part in (quick, slow) if part)
    return round(sum(len(part) * max(0, middle - GOOD_THINK_US) for part, middle in heads) / len(thinks))


def _is_page(trial: TrialEvidence) -> bool:
    if not trial.exchanges or not (header(trial, "content-type") or "").lower().startswith("text/html"):
        return False
    return (trial.exchanges[0].body_bytes or 0) > BUFFERED_BODY_BYTES and EARLY_HINTS not in trial.exchanges[0].interim


def _in_one_go(trial: TrialEvidence, jitter: int, *, unclear: bool = False) -> bool:
    """Whether nothing but the network stopped the answer once it had begun: the window, or a lost packet. With
    `unclear`, whether that may be so."""
    exchange = trial.exchanges[0]
    at_us = begun_us(trial, exchange) or 0
    known = (one for one in answer_gaps(trial, exchange, ruler_of(trial, jitter)) if one.gap.start_us >= at_us)
    harmless = {GapKind.WINDOW, GapKind.UNCLEAR} if unclear or lost_packets(trial) else {GapKind.WINDOW}
    return all(one.kind in harmless for one in known)


RULES: tuple[Rule, ...] = (keepalive_off, think_time, body_stall, buffered_response)
