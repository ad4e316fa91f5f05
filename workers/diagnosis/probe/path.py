"""Rules on the way to the server: how far, how reliable, and over which family."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from workers.diagnosis.case import Case, Rule, Verdicts, lost_packets, lost_syn, rtt_of
from workers.diagnosis.probe.losses import Losses, losses_of
from workers.diagnosis.probe.round_trips import handshake_round_trips
from workers.diagnosis.probe.thinking import begun_us
from workers.diagnosis.probe.weighing import ASKED, LEAST_SEEN, fact, jitter_us, ms_of
from workers.measurement.evidence import Depth, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.thresholds import is_far_slower

# Farther than this is told, and with high severity. A server that is near is taken to be 30 ms away.
FAR_US, VERY_FAR_US = 100_000, 200_000
NEAR_US = 30_000
FAR_SHARE = 0.5
# Two connections of five.
LEAST_LOSSY = 2
LOSSY_SHARE = 0.4
# What a browser waits before it tries the other family (RFC 8305, connection attempt delay).
HAPPY_EYEBALLS_US = 250_000

_FIRST_VISIT = (*ASKED, Trial.TLS12)
_TCP = (*_FIRST_VISIT, Trial.RESUMED, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID, Trial.HTTP2, Trial.PLAIN)
# Failures that say that the server, or the way to it, does not answer; not that this machine has no such network.
_OWN_FAULTS = (FailureKind.CONNECT_UNREACHABLE, FailureKind.BLOCKED_DESTINATION, FailureKind.INTERNAL_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """A first visit's round trips up to the first byte of the answer, and how long that took, from the SYN on, without
    what passed between two of them on our own side."""

    round_trips: int
    first_byte_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trip:
    """How far the server was from a connection that began then."""

    started_us: int
    took_us: int


def rtt_high(case: Case) -> Verdicts:
    """tcp.rtt_high: most of the wait for the first byte is distance."""
    kinds = _FIRST_VISIT if case.evidence.secure else (Trial.FULL, Trial.PLAIN)
    rtt_us = min((trip for trial in case.evidence.of(*kinds) if (trip := rtt_of(trial)) is not None), default=0)
    visits = _visits(case)
    if rtt_us <= FAR_US:
        return
    if case.evidence.profile_verified is not None:
        yield NotJudged(id=FindingId.TCP_RTT_HIGH, reason=NotJudgedReason.SHAPED)
        return
    if not visits:
        yield NotJudged(id=FindingId.TCP_RTT_HIGH, reason=NotJudgedReason.NOT_MEASURED)
        return
    round_trips = round(median(visit.round_trips for visit in visits))
    first_byte_us = median(visit.first_byte_us for visit in visits)
    if round_trips * rtt_us <= FAR_SHARE * first_byte_us:
        return
    yield Finding(
        id=FindingId.TCP_RTT_HIGH,
        severity=Severity.HIGH if rtt_us > VERY_FAR_US else Severity.MEDIUM,
        confidence=Confidence.HIGH if len(visits) >= LEAST_SEEN else Confidence.MEDIUM,
        saving_us=(rtt_us - NEAR_US) * round_trips,
        evidence=(
            fact("rtt_ms", ms_of(rtt_us)),
            fact("round_trips", round_trips),
            fact("ttfb_ms", ms_of(first_byte_us)),
            fact("share_percent", round(100 * round_trips * rtt_us / first_byte_us)),
        ),
    )


def loss(case: Case) -> Verdicts:
    """tcp.loss: packets get lost on the way."""
    trials = [trial for trial in case.evidence.of(*_TCP) if trial.connect_us is not None]
    known = losses_of(trials)
    lossy = known.certain
    if len(lossy) < LEAST_LOSSY or len(lossy) < LOSSY_SHARE * len(trials):
        reason = _why_no_loss(case, known)
        if reason is not None:
            yield NotJudged(id=FindingId.TCP_LOSS, reason=reason)
        return
    ended = [trial.tcp_ended for trial in lossy if trial.tcp_ended is not None]
    yield Finding(
        id=FindingId.TCP_LOSS,
        severity=Severity.MEDIUM,
        confidence=_loss_confidence(known, len(trials)),
        saving_us=_lost_us(lossy, trials),
        evidence=(
            fact("seen", f"{len(lossy)} of {len(trials)}"),
            fact("syn_retransmits", sum(trial.syn_retransmits or 0 for trial in lossy)),
            fact("retransmits", sum(state.total_retransmits or 0 for state in ended)),
            fact("out_of_order_packets", sum(state.out_of_order_packets or 0 for state in ended)),
            fact("connect_ms", ms_of(median(trial.connect_us or 0 for trial in lossy))),
        ),
    )


def _loss_confidence(known: Losses, made: int) -> Confidence:
    if known.strange:
        return Confidence.LOW
    return Confidence.HIGH if made >= LEAST_SEEN else Confidence.MEDIUM


def _why_no_loss(case: Case, known: Losses) -> NotJudgedReason | None:
    """None where nothing was lost for certain: packets that only came in another order are none of this."""
    if known.certain:
        return NotJudgedReason.NEEDS_DEEP_PROBE if case.evidence.depth is Depth.LIGHT else NotJudgedReason.NOT_REPEATED
    if known.late:
        return NotJudgedReason.LATE_CLOCK
    if known.queued or known.doubled:
        return NotJudgedReason.UNSTEADY
    if known.paced:
        return NotJudgedReason.PACED
    return NotJudgedReason.RTT_SHORT if known.short else None


def ipv6(case: Case) -> Verdicts:
    """ipv6.broken_or_slow: the name has IPv6 addresses, and over them the site is not there, or farther."""
    both = {":" in address for name in case.evidence.names for address in name.addresses if _is_target(case, name.host)}
    others = [trial for trial in case.evidence.of(Trial.OTHER_FAMILY) if trial.address is not None]
    if len(both) < 2:
        return
    if not others:
        light = case.evidence.depth is Depth.LIGHT
        reason = NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED
        yield NotJudged(id=FindingId.IPV6_BROKEN_OR_SLOW, reason=reason)
        return
    alike = [one for one in case.evidence.trials if one.trial not in (Trial.HTTP3, Trial.RESUMED_ELSEWHERE)]
    six = [trial for trial in alike if ":" in (trial.address or "")]
    four = [trial for trial in alike if "." in (trial.address or "")]
    failed = [trial for trial in six if trial in others and trial.failure is not None]
    if failed:
        yield _broken(case, failed, others)
    else:
        yield from _slower(case, six, four)


def _visits(case: Case) -> list[_Visit]:
    """Those of browsers, and only where none of them came so far others, which may take a round trip more. Where some
    lost nothing those alone."""
    jitter = jitter_us(case)
    if not case.evidence.secure:
        return _undisturbed(case.evidence.of(Trial.FULL, Trial.PLAIN), jitter)
    return _undisturbed(case.evidence.of(*ASKED), jitter) or _undisturbed(case.evidence.of(Trial.TLS12), jitter)


def _undisturbed(trials: Sequence[TrialEvidence], jitter: int) -> list[_Visit]:
    known = [(trial, visit) for trial in trials if (visit := _visit(trial, jitter)) is not None]
    clean = [visit for trial, visit in known if not lost_packets(trial)]
    return clean or [visit for _, visit in known]


def _visit(trial: TrialEvidence, jitter: int) -> _Visit | None:
    sent_us, begun = (
        (trial.exchanges[0].sent_us, begun_us(trial, trial.exchanges[0])) if trial.exchanges else (None, None)
    )
    if sent_us is None or begun is None or trial.connect_us is None:
        return None
    connect_and_ask, network_us = 2, trial.connect_us + begun - sent_us
    if trial.handshake is None:
        return _Visit(round_trips=connect_and_ask, first_byte_us=network_us)
    shake, shake_us = handshake_round_trips(trial, jitter), trial.handshake.network_us
    if shake is None or shake_us is None:
        return None
    return _Visit(round_trips=connect_and_ask + shake, first_byte_us=network_us + shake_us)


def _lost_us(lossy: Sequence[TrialEvidence], trials: Sequence[TrialEvidence]) -> int | None:
    """What a connection with loss takes longer than one without; None where there is none of its kind to compare."""
    extras = [extra for trial in lossy if (extra := _extra_us(trial, trials)) is not None]
    return round(median(extras)) if extras else None


def _extra_us(trial: TrialEvidence, trials: Sequence[TrialEvidence]) -> int | None:
    rtt_us = rtt_of(trial)
    if trial.syn_retransmits and rtt_us is not None and trial.connect_us is not None:
        return max(0, trial.connect_us - rtt_us)
    alike = [took for one in trials if one.trial is trial.trial and not lost_packets(one) and (took := _took_us(one))]
    took_us = _took_us(trial)
    return max(0, round(took_us - median(alike))) if alike and took_us is not None else None


def _took_us(trial: TrialEvidence) -> int | None:
    return trial.exchanges[0].ended_us if trial.exchanges else None


def _is_target(case: Case, host: str) -> bool:
    return host == case.evidence.host


def _broken(case: Case, failed: list[TrialEvidence], others: list[TrialEvidence]) -> Finding | NotJudged:
    id = FindingId.IPV6_BROKEN_OR_SLOW
    failures = [trial.failure for trial in failed if trial.failure is not None]
    own = any(failure.kind in _OWN_FAULTS for failure in failures)
    silent = all(failure.kind is FailureKind.CONNECT_TIMEOUT for failure in failures)
    if own or (silent and not case.evidence.ipv6_passes):
        # Silence may be that of our own network, as long as nobody else is reached over IPv6.
        return NotJudged(id=id, reason=NotJudgedReason.NOT_MEASURED)
    if len(failed) < LEAST_SEEN or len(failed) < len(others):
        return NotJudged(id=id, reason=NotJudgedReason.NOT_REPEATED)
    return Finding(
        id=id,
        severity=Severity.HIGH,
        confidence=Confidence.HIGH if failures[0].kind is FailureKind.CONNECT_REFUSED else Confidence.MEDIUM,
        saving_us=_fallback_us(case, failures[0].kind, failures[0].stage),
        evidence=(
            fact("address", failed[0].address),
            fact("failure", failures[0].kind.value),
            fact("stage", failures[0].stage.value),
            fact("seen", f"{len(failed)} of {len(others)}"),
        ),
    )


def _fallback_us(case: Case, kind: FailureKind, stage: Stage) -> int | None:
    """What a browser loses before it uses the other family. After a connection was made it does not try it."""
    if stage is not Stage.CONNECT:
        return None
    if kind is FailureKind.CONNECT_REFUSED:
        return min(case.rtt_us or HAPPY_EYEBALLS_US, HAPPY_EYEBALLS_US)
    return HAPPY_EYEBALLS_US


def _slower(case: Case, six: list[TrialEvidence], four: list[TrialEvidence]) -> Verdicts:
    id = FindingId.IPV6_BROKEN_OR_SLOW
    far, near = _trips(six), _trips(four)
    if not far or not near:
        # Where each SYN got lost nothing is known of the way.
        yield NotJudged(id=id, reason=NotJudgedReason.LOSS)
        return
    pairs = [(trip.took_us, _around_us(trip, near)) for trip in far]
    slow = [(far_us, near_us) for far_us, near_us in pairs if is_far_slower(far_us, near_us)]
    if not slow or len(slow) < len(far):
        return
    if len(slow) < LEAST_SEEN or len(near) < LEAST_SEEN:
        yield NotJudged(id=id, reason=NotJudgedReason.NOT_REPEATED)
        return
    far_us, near_us = min(slow, key=lambda pair: pair[0] - pair[1])
    round_trips = _round_trips(case)
    yield Finding(
        id=id,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=_detour_us(far_us, near_us, round_trips),
        evidence=(
            fact("ipv6_rtt_ms", ms_of(far_us)),
            fact("ipv4_rtt_ms", ms_of(near_us)),
            fact("round_trips", round_trips),
            fact("seen", f"{len(slow)} of {len(far)}"),
        ),
    )


def _around_us(trip: _Trip, others: Sequence[_Trip]) -> int:
    """What the slower of those took that were made right before and right after: what makes any way slower for a while,
    as a queue that fills, makes those slower too."""
    before = [other for other in others if other.started_us <= trip.started_us]
    after = [other for other in others if other.started_us > trip.started_us]
    return max(other.took_us for other in (*before[-1:], *after[:1]))


def _round_trips(case: Case) -> int:
    """What a first visit takes up to the first byte; where none came so far, the connection alone."""
    return round(median([visit.round_trips for visit in _visits(case)] or [1]))


def _detour_us(far_us: int, near_us: int, round_trips: int) -> int:
    """What IPv6 costs a first visit. Where it is so far that IPv4 answers first, although it was tried later, browsers
    use that one."""
    given_up = far_us > HAPPY_EYEBALLS_US + near_us
    return HAPPY_EYEBALLS_US if given_up else round_trips * (far_us - near_us)


def _trips(trials: Iterable[TrialEvidence]) -> list[_Trip]:
    """In the order in which they were made."""
    whole = ((one.started_us, rtt_of(one)) for one in trials if not lost_syn(one))
    known = (_Trip(started_us=began_us, took_us=trip_us) for began_us, trip_us in whole if trip_us is not None)
    return sorted(known, key=lambda trip: trip.started_us)


RULES: tuple[Rule, ...] = (rtt_high, loss, ipv6)
