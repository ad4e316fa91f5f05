"""The rule on the server's key: how long it takes before it says anything, as long as it signs.

Who continues a session is answered without a signature: as late as that handshake begins, it is not the key's doing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from workers.diagnosis.case import Case, Verdicts, lost_packets, rtt_of
from workers.diagnosis.probe.flights import handshake_turns, packet_time_us
from workers.diagnosis.probe.gaps import GapKind, handshake_gaps, ruler_of
from workers.diagnosis.probe.late_begins import (
    begun_late_us,
    continued,
    first_packet_bytes,
    lead_us,
    least_unsigned_us,
    unsigned_us,
    up_us_per_byte,
)
from workers.diagnosis.probe.thinking import first_words_us, plain_think_us, think_us, way_behind_us
from workers.diagnosis.probe.weighing import Sure, fact, jitter_us, lost_in_handshake, ms_of, own_lag_us, visits, weigh
from workers.diagnosis.probe.windows import first_answer, known_window
from workers.measurement.evidence import ChainCertificate, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Fact, Finding, FindingId, NotJudged, NotJudgedReason, Severity

# What a signature costs more than this a visitor notices.
MIN_KEY_COST_US = 15_000
LARGE_RSA_BITS = 2048
# A shorter silence may be a busy machine's; a longer one within the handshake is told as a stall.
MIN_STALL_US = 50_000
# The packets of one write come closer together.
_LEAST_PAUSE_US = 1_000
_SIGNED = (Trial.FULL, Trial.CLASSICAL, Trial.HTTP2, Trial.TLS12)
# What it takes must stand out of what the path itself does by so much.
_JITTERS = 1.5
_PACKETS = 3
# What connections wait for whatever is said in them takes as long in all of them, but for so much.
_AS_LATE = 0.8


def key_cost(case: Case) -> Verdicts:
    """tls.key_cost: the server takes long before it says anything, or has a key that makes it."""
    trials = [trial for trial in visits(case, _SIGNED, ()) if lead_us(trial) is not None]
    scale, key = _scale(case, trials), server_key(case)
    loses = any(map(lost_packets, case.evidence.trials))
    sure = weigh(
        case,
        FindingId.TLS_KEY_COST,
        trials,
        scale.slow_us,
        counts_round_trips=False,
        spoilt=scale.may_be_lost if loses else lost_in_handshake,
        blind=scale.stands_out,
        unsure=scale.may_be_slow,
    )
    comparable = bool(continued(case)) or first_words_us(case) is not None
    if isinstance(sure, Sure) and comparable:
        yield _slow_key(key, round(median(sure.seen)), sure.confidence, sure.facts())
    elif key is not None and _is_large_rsa(key):
        yield _slow_key(key, _signing_us(case, trials, scale) if comparable else None, Confidence.HIGH, ())
    elif isinstance(sure, Sure):
        yield NotJudged(id=FindingId.TLS_KEY_COST, reason=NotJudgedReason.ONLY_WITH_TLS)
    elif sure is not None:
        yield sure


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """By what is judged how long a server took for its first word: what the way does by itself, what the server takes
    for an answer that is no trouble, how late connections begin in which nothing is signed, and the soonest flight."""

    jitter_us: int
    plain_us: int
    always_us: int
    up_us_per_byte: float
    soonest_us: int
    rtt_us: int

    @property
    def unsteady_us(self) -> float:
        return _JITTERS * self.jitter_us

    def lead_us(self, trial: TrialEvidence) -> int:
        return max(0, begun_late_us(trial, self.up_us_per_byte) - self.always_us)

    def stands_out(self, trial: TrialEvidence, lag_us: int = 0) -> bool:
        link_us = max(_PACKETS * packet_time_us(trial), _JITTERS * _by_link_us(trial))
        return self.lead_us(trial) - lag_us > max(MIN_KEY_COST_US, self.unsteady_us, self.plain_us, link_us)

    def slow_us(self, trial: TrialEvidence) -> int | None:
        return self.lead_us(trial) if self.stands_out(trial, own_lag_us(trial)) else None

    def may_be_slow(self, trial: TrialEvidence) -> bool:
        """A way that may have made an answer as late says nothing of how long it was thought about, and a round trip
        that was longer than others hides as much of what the server took."""
        hidden_us = (rtt_of(trial) or 0) - self.rtt_us
        known_us = self.plain_us if self.plain_us > self.unsteady_us else 0
        return self.lead_us(trial) + hidden_us > max(MIN_KEY_COST_US, known_us)

    def may_be_lost(self, trial: TrialEvidence) -> bool:
        return lost_in_handshake(trial) or _may_have_been_lost(trial, self.jitter_us, self.soonest_us)


def _scale(case: Case, trials: Sequence[TrialEvidence]) -> _Scale:
    return _Scale(
        jitter_us=jitter_us(case),
        plain_us=plain_think_us(case) or 0,
        always_us=_without_signature_us(case),
        up_us_per_byte=up_us_per_byte(case),
        soonest_us=min(map(_begun_us, trials), default=0),
        rtt_us=case.rtt_us or 0,
    )


def _signing_us(case: Case, trials: Sequence[TrialEvidence], scale: _Scale) -> int | None:
    """What the server takes for its handshakes besides what it takes for an answer. None where that is nothing: what is
    no longer than thinking about an answer says nothing of the key."""
    pauses = [(scale.lead_us(trial), _pause_us(case, trial)) for trial in trials if not scale.may_be_lost(trial)]
    known = [before + within for before, within in pauses if within is not None]
    cost_us = round(median(known)) - scale.plain_us if known else 0
    return cost_us if cost_us > 0 else None


def begins_late(case: Case) -> Sure[int] | NotJudged | None:
    """How late each handshake begins though nothing may have to be signed: what those took that continue a session,
    less what connections without TLS wait for too, which is no matter of handshakes.

    None where it is hardly any, or answers are as late, as behind a proxy near us: that is the way.
    """
    id, jitter = FindingId.TLS_HANDSHAKE_STALL, jitter_us(case)
    late_us, words_us, up_us = unsigned_us(case), first_words_us(case), up_us_per_byte(case)
    if late_us < MIN_STALL_US or 2 * way_behind_us(case) >= late_us:
        return None
    doubt = _doubt(late_us, words_us, jitter)
    if doubt is not None:
        return NotJudged(id=id, reason=doubt)
    own_us = late_us - _noticed_us(words_us)
    if own_us < MIN_STALL_US:
        return None
    trials = [trial for trial in (*visits(case), *continued(case)) if lead_us(trial) is not None]
    soonest_us = min(map(_begun_us, trials))

    def look(trial: TrialEvidence) -> int | None:
        is_late = begun_late_us(trial, up_us) - own_lag_us(trial) >= MIN_STALL_US
        return own_us if is_late else None

    def spoilt(trial: TrialEvidence) -> bool:
        return lost_in_handshake(trial) or _may_have_been_lost(trial, jitter, soonest_us)

    return weigh(case, id, trials, look, counts_round_trips=False, spoilt=spoilt)


def _doubt(late_us: int, words_us: int | None, jitter: int) -> NotJudgedReason | None:
    """Why handshakes that begin so late say nothing of the server."""
    if words_us is not None and words_us >= _AS_LATE * late_us:
        return NotJudgedReason.WITHOUT_TLS_TOO
    if late_us < _JITTERS * jitter:
        return NotJudgedReason.UNSTEADY
    return NotJudgedReason.ONLY_WITH_TLS if words_us is None else None


def _noticed_us(words_us: int | None) -> int:
    """How late first answers without TLS are; 0 for hardly any."""
    return words_us if words_us is not None and words_us >= MIN_KEY_COST_US else 0


def _without_signature_us(case: Case) -> int:
    """How late connections begin in which nothing is signed: such as continue a session, or else such without TLS."""
    return least_unsigned_us(case) if continued(case) else first_words_us(case) or 0


def _pause_us(case: Case, trial: TrialEvidence) -> int | None:
    """How long the server was silent in the middle of its flight: OpenSSL sends the first 4 KB of a long chain, and
    signs then. None where that is told as a stall, or may have been a wait for us."""
    ruler, packet_us = ruler_of(trial, jitter_us(case), known_window(case)), packet_time_us(trial)
    known = handshake_gaps(trial, ruler)
    if any(one.kind is not GapKind.SERVER or one.gap.duration_us >= MIN_STALL_US for one in known):
        return None
    turns = handshake_turns(trial, round(max(_LEAST_PAUSE_US, _JITTERS * ruler.jitter_us, _PACKETS * packet_us)))
    return max((gap.duration_us for turn in turns for gap in turn.gaps()), default=0)


def _begun_us(trial: TrialEvidence) -> int:
    """How long after the hello the first flight came."""
    first = handshake_turns(trial)[0]
    return first.start_us - first.asked_us


def _may_have_been_lost(trial: TrialEvidence, jitter: int, soonest_us: int) -> bool:
    """Whether a flight of one packet, whose loss leaves no other trace, came as late as one that was sent again: the
    first, with which what is signed comes, after the soonest."""
    ruler = ruler_of(trial, jitter)
    first, *later = handshake_turns(trial)
    waits_us = [turn.start_us - turn.asked_us - ruler.rtt_us for turn in later if turn.size_bytes <= ruler.mss]
    if first.size_bytes <= ruler.mss:
        waits_us.append(_begun_us(trial) - soonest_us)
    late_us = (us for us in waits_us if us > MIN_KEY_COST_US)
    return any(ruler.may_be_repeated(us) or ruler.may_be_repeated_twice(us) for us in late_us)


def _is_large_rsa(key: ChainCertificate) -> bool:
    """Whether signing with it takes the server several times what RSA 2048 takes."""
    return (key.key_type or "").upper().startswith("RSA") and (key.key_bits or 0) > LARGE_RSA_BITS


def server_key(case: Case) -> ChainCertificate | None:
    """The server's own certificate, as the first full handshake brought it."""
    certificates = case.evidence.certificates
    for trial in case.evidence.of(*_SIGNED):
        chain = trial.handshake.chain if trial.handshake is not None else ()
        if chain and chain[0] < len(certificates):
            return certificates[chain[0]]
    return None


def _by_link_us(trial: TrialEvidence) -> float:
    """What the first packet of the handshake may take on a narrow link, if that is why the answer's first took as long
    as it did."""
    answer, turns = first_answer(trial), handshake_turns(trial)
    think = None if answer is None else think_us(trial, answer[0])
    if answer is None or think is None or not turns:
        return 0
    return think * max(1, first_packet_bytes(trial, turns[0]) / first_packet_bytes(trial, answer[1]))


def _slow_key(
    key: ChainCertificate | None, saving_us: int | None, confidence: Confidence, facts: tuple[Fact, ...]
) -> Finding:
    return Finding(
        id=FindingId.TLS_KEY_COST,
        severity=Severity.MEDIUM,
        confidence=confidence,
        saving_us=saving_us,
        evidence=(
            fact("key_type", None if key is None else key.key_type),
            fact("key_bits", None if key is None else key.key_bits),
            fact("server_stall_ms", None if saving_us is None else ms_of(saving_us)),
            *facts,
        ),
    )
