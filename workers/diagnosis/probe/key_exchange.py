"""The hybrid key exchange that browsers offer: supported, not supported, or deadly."""

from statistics import median

from workers.diagnosis.case import REPEATS, Case, Rule, Verdicts
from workers.diagnosis.facts import facts, in_ms, seen
from workers.diagnosis.probe.full_packets import is_stuck
from workers.diagnosis.probe.late_begins import lead_us
from workers.diagnosis.probe.tls_visits import AS_BROWSERS, completed, speaks_tls13
from workers.diagnosis.probe.weighing import is_blind, is_late, lost_in_handshake, unrepeated
from workers.measurement.evidence import Depth, Trial, TrialEvidence
from workers.measurement.failure import FailureKind
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.thresholds import LEAST_RTT
from workers.measurement.tls_records import TLS13

# The public key of ML-KEM-768 alone takes 1,184 bytes (FIPS 203): a smaller hello did not bring it.
MIN_HYBRID_HELLO_BYTES = 1_184
# What is less may be the way's own unsteadiness, or what the larger key costs to compute.
_LEAST_WAIT_US = 50_000
_MUCH_US = 200_000
_DIED = frozenset(
    {FailureKind.CONNECTION_RESET, FailureKind.TLS_TIMEOUT, FailureKind.TLS_ALERT, FailureKind.TLS_FAILED}
)


def post_quantum(case: Case) -> Verdicts:
    """Servers and boxes before them that break on the larger hello shut browsers out; others just do without."""
    offered = [trial for trial in case.evidence.of(*AS_BROWSERS) if _offered(trial)]
    agreed = completed(offered)
    died = [trial for trial in offered if _died(trial)]
    if agreed:
        slow = _waits(case)
        groups = {one.group for one in agreed if one.version == TLS13 and one.group}
        yield from _supported(case, groups) if slow is None else (slow,)
    elif died and completed(case.evidence.of(Trial.CLASSICAL)):
        yield _broken(case, died)
    elif speaks_tls13(case) is not None:
        yield NotJudged(id=FindingId.TLS_PQ, reason=NotJudgedReason.NOT_MEASURED)


def is_hybrid(group: str) -> bool:
    """By OpenSSL's names: X25519MLKEM768, SecP256r1MLKEM768 and others."""
    return "MLKEM" in group.upper()


def _supported(case: Case, groups: set[str]) -> Verdicts:
    if any(is_hybrid(group) for group in groups):
        return
    if not groups:
        hidden_by = FindingId.TLS_VERSION_OLD if speaks_tls13(case) is False else None
        reason = NotJudgedReason.HIDDEN if hidden_by else NotJudgedReason.NOT_MEASURED
        yield NotJudged(id=FindingId.TLS_PQ, reason=reason, hidden_by=hidden_by)
        return
    yield Finding(
        id=FindingId.TLS_PQ,
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        evidence=facts(supported=False, group=min(groups)),
    )


def _waits(case: Case) -> Finding | NotJudged | None:
    """A server, or a box before it, that lets the larger hello wait, as for its second packet. What is longer because
    the answer is, or because another hello was asked for, is not this."""
    hybrid, classical = (_leads_us(case, kinds) for kinds in (AS_BROWSERS, (Trial.CLASSICAL,)))
    if not hybrid or not classical:
        return None
    # On a narrow way to the server a hello takes the longer the larger it is.
    by_size_us = max(classical) * max(_hello_sizes(case, AS_BROWSERS)) / min(_hello_sizes(case, (Trial.CLASSICAL,)))
    if min(hybrid) - max(classical) <= max(_LEAST_WAIT_US, by_size_us):
        return None
    if min(len(hybrid), len(classical)) < REPEATS:
        return NotJudged(id=FindingId.TLS_PQ, reason=unrepeated(case))
    saving_us = round(median(hybrid) - median(classical))
    return Finding(
        id=FindingId.TLS_PQ,
        severity=Severity.HIGH if saving_us >= min(_MUCH_US, LEAST_RTT * (case.rtt_us or 0)) else Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=saving_us,
        evidence=facts(
            hybrid_ms=in_ms(median(hybrid)), classical_ms=in_ms(median(classical)), rtt_ms=in_ms(case.rtt_us)
        ),
    )


def _leads_us(case: Case, kinds: tuple[Trial, ...]) -> list[int]:
    """How long the server took, beyond a round trip, to begin its full handshakes of these connections, where nothing
    else made it longer."""
    return [
        lead
        for trial in case.evidence.of(*kinds)
        if (shake := trial.handshake) is not None
        and not (shake.resumed or shake.hello_retry or lost_in_handshake(trial) or is_late(trial) or is_blind(trial))
        and (lead := lead_us(trial)) is not None
    ]


def _hello_sizes(case: Case, kinds: tuple[Trial, ...]) -> list[int]:
    return [one.hello_bytes for one in completed(case.evidence.of(*kinds))]


def _broken(case: Case, died: list[TrialEvidence]) -> Finding | NotJudged:
    if len(died) < REPEATS:
        light = case.evidence.depth is Depth.LIGHT
        reason = NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_REPEATED
        return NotJudged(id=FindingId.TLS_PQ, reason=reason)
    classical = completed(case.evidence.of(Trial.CLASSICAL))
    return Finding(
        id=FindingId.TLS_PQ,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        evidence=facts(
            hybrid=f"fails {seen(len(died), len(died))}",
            failure=str(died[0].failure.kind) if died[0].failure is not None else None,
            classical=f"works {seen(len(classical), len(case.evidence.of(Trial.CLASSICAL)))}",
            hello_bytes=died[0].handshake.hello_bytes if died[0].handshake is not None else None,
            classical_hello_bytes=classical[0].hello_bytes,
            # Then it is not the hello but the answer, which a hybrid key makes longer than the way can carry.
            full_packets_vanish=True if all(map(is_stuck, died)) else None,
        ),
    )


def _offered(trial: TrialEvidence) -> bool:
    return trial.handshake is not None and trial.handshake.hello_bytes >= MIN_HYBRID_HELLO_BYTES


def _died(trial: TrialEvidence) -> bool:
    """The hello left and no handshake came of it."""
    return trial.failure is not None and trial.failure.kind in _DIED and not completed((trial,))


RULES: tuple[Rule, ...] = (post_quantum,)
