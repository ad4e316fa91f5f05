"""Which TLS is spoken, and the round trips that follow from it alone."""

from workers.diagnosis.case import Case, Rule, Verdicts
from workers.diagnosis.facts import facts, in_ms, seen
from workers.diagnosis.probe.tls_visits import (
    AS_BROWSERS,
    browsers_start_early,
    completed,
    false_start_possible,
    first_visits,
)
from workers.measurement.evidence import Depth, Handshake
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.tls_records import TLS13

# Chrome, Firefox, Safari and Edge refuse these since 2020 (RFC 8996 forbids them).
_REFUSED = frozenset({"SSLv3", "TLSv1", "TLSv1.0", "TLSv1.1"})


def version_old(case: Case) -> Verdicts:
    """A server that speaks no TLS 1.3. Where browsers cannot False Start, the round trip is `no_false_start`'s."""
    full = first_visits(case)
    old = [one for one in full if one.version != TLS13]
    if not old:
        return
    refused = all(one.version in _REFUSED for one in full)
    early = browsers_start_early(case, old)
    yield Finding(
        id=FindingId.TLS_VERSION_OLD,
        severity=_severity(refused=refused, early=early is not False),
        confidence=Confidence.HIGH if len(old) == len(full) else Confidence.MEDIUM,
        saving_us=0,
        evidence=facts(
            version=old[0].version,
            seen=seen(len(old), len(full)),
            false_start_possible=early,
            without_false_start_ms=in_ms(case.rtt_us),
        ),
    )


def _severity(*, refused: bool, early: bool) -> Severity:
    if refused:
        return Severity.CRITICAL
    return Severity.MEDIUM if early else Severity.HIGH


def no_false_start(case: Case) -> Verdicts:
    """TLS 1.2 at most, and not in the way that lets browsers send their request a round trip early."""
    full = first_visits(case)
    if not full or any(one.version == TLS13 for one in full):
        return
    late = [one for one in full if not false_start_possible(one)]
    if not late or len(late) < len(full):
        return
    if browsers_start_early(case, full) is None:
        light = case.evidence.depth is Depth.LIGHT
        reason = NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED
        yield NotJudged(id=FindingId.TLS_NO_FALSE_START, reason=reason)
        return
    yield Finding(
        id=FindingId.TLS_NO_FALSE_START,
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        saving_us=case.rtt_us,
        evidence=facts(
            version=late[0].version,
            cipher=late[0].cipher,
            alpn=late[0].protocol or "none",
            rtt_ms=in_ms(case.rtt_us),
            seen=seen(len(late), len(full)),
        ),
    )


def hello_retry(case: Case) -> Verdicts:
    """The server asks for another key share than those that browsers send first."""
    asked = [one for one in completed(case.evidence.of(*AS_BROWSERS)) if one.hello_retry is not None]
    retried = [one for one in asked if one.hello_retry]
    if not retried:
        return
    always = len(retried) == len(asked)
    yield Finding(
        id=FindingId.TLS_HELLO_RETRY,
        severity=Severity.HIGH if always else Severity.MEDIUM,
        confidence=Confidence.HIGH if always else Confidence.MEDIUM,
        saving_us=_share_us(case.rtt_us, len(retried), len(asked)),
        evidence=facts(
            group=_group(retried),
            seen=seen(len(retried), len(asked)),
            rtt_ms=in_ms(case.rtt_us),
        ),
    )


def _share_us(rtt_us: int | None, part: int, whole: int) -> int | None:
    return None if rtt_us is None else round(rtt_us * part / whole)


def _group(shaken: list[Handshake]) -> str | None:
    return next((one.group for one in shaken if one.group), None)


RULES: tuple[Rule, ...] = (version_old, no_false_start, hello_retry)
