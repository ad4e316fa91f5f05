"""HTTP/2 and HTTP/3: spoken, announced, reachable."""

from workers.diagnosis.case import REPEATS, Case, Rule, Verdicts
from workers.diagnosis.facts import facts, in_ms, seen
from workers.diagnosis.probe.clocks import valid_there
from workers.diagnosis.probe.headers import offers_http3
from workers.diagnosis.probe.hsts import is_address
from workers.diagnosis.probe.tls_visits import chain_of, completed, judged_chain, negotiated_protocol, over_http2
from workers.measurement.connection import Header
from workers.measurement.evidence import CertificateFault, Depth, Handshake, Trial, TrialEvidence
from workers.measurement.failure import FailureKind
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.verify_codes import ISSUER_UNKNOWN, OF_TIME

# How answers over HTTP/2 break: by the server's doing, and by what browsers may read although we cannot.
_BROKEN = frozenset(
    {
        FailureKind.CONNECTION_RESET,
        FailureKind.TLS_ALERT,
        FailureKind.RESPONSE_TIMEOUT,
        FailureKind.DOWNLOAD_TIMEOUT,
        FailureKind.DOWNLOAD_INCOMPLETE,
    }
)
_UNREADABLE = frozenset({FailureKind.RESPONSE_INVALID})
# With what else they answer, name servers say nothing of the name.
_SAY_WHAT_IS = frozenset({"NOERROR", "NXDOMAIN"})
# What a firewall near us does to UDP looks like this; a closed port is told by the host itself.
_SILENCE = frozenset({FailureKind.CONNECT_TIMEOUT, FailureKind.CONNECT_UNREACHABLE})


def h2_missing(case: Case) -> Verdicts:
    """HTTP/2 was offered in the handshake and not taken up, or was and no answer came over it: browsers shown an error
    page do not try HTTP/1.1."""
    if not case.evidence.secure:
        return
    if negotiated_protocol(case) == "h2":
        if http2_answers(case) is False:
            yield _broken(case)
        return
    offered = completed(case.evidence.of(Trial.HTTP2))
    if not offered:
        yield _not_judged(case, FindingId.HTTP_H2_MISSING)
        return
    yield Finding(
        id=FindingId.HTTP_H2_MISSING,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=facts(alpn=offered[0].protocol or "none", offered=("h2", "http/1.1")),
    )


def http2_answers(case: Case) -> bool | None:
    """Whether anything was answered over HTTP/2 where answers come over HTTP/1.1. None when that was not tried."""
    asked = [one for one in case.evidence.of(Trial.HTTP2) if over_http2(one)]
    otherwise = (one for one in case.evidence.of(Trial.FULL, Trial.CLASSICAL) if not over_http2(one))
    if not asked or not any(one.failure is None and one.exchanges for one in otherwise):
        return None
    return any(map(_is_answered, asked))


def _is_answered(trial: TrialEvidence) -> bool:
    """Whether anything came over it. What failed with a further request was answered before."""
    is_spared = trial.failure is None or trial.failure.kind not in _BROKEN | _UNREADABLE
    return is_spared or len(trial.exchanges) > 1


def _broken(case: Case) -> Finding | NotJudged:
    id = FindingId.HTTP_H2_MISSING
    kinds = [one.failure.kind for one in case.evidence.of(Trial.HTTP2) if one.failure is not None]
    if len(kinds) < REPEATS:
        return NotJudged(id=id, reason=NotJudgedReason.NOT_REPEATED)
    return Finding(
        id=id,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if _BROKEN.issuperset(kinds) else Confidence.MEDIUM,
        evidence=facts(alpn="h2", answers=seen(0, len(kinds)), failure=str(kinds[0])),
    )


def h3(case: Case) -> Verdicts:
    """Not offered is a remark; announced and not answering makes browsers try in vain."""
    if not case.evidence.secure or not answer_headers(case):
        return
    trials = case.evidence.of(Trial.HTTP3)
    announced, reached = http3_announced(case), http3_answers(case)
    if announced and reached is False:
        yield _blocked(case, len(trials))
    elif announced and http3_refused(case):
        yield _refused(case)
    elif announced and reached is None:
        yield _not_judged(case, FindingId.HTTP_H3)
    elif not announced and case.evidence.depth is Depth.LIGHT:
        yield NotJudged(id=FindingId.HTTP_H3, reason=NotJudgedReason.NEEDS_DEEP_PROBE)
    elif not announced and not https_record_known(case):
        yield _not_judged(case, FindingId.HTTP_H3)
    elif not announced:
        yield Finding(
            id=FindingId.HTTP_H3,
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            saving_us=case.rtt_us,
            evidence=facts(announced=False, answers=reached, rtt_ms=in_ms(case.rtt_us)),
        )


def _blocked(case: Case, tried: int) -> Finding | NotJudged:
    if tried < REPEATS:
        return NotJudged(id=FindingId.HTTP_H3, reason=NotJudgedReason.NOT_REPEATED)
    failed = next((one.failure for one in case.evidence.of(Trial.HTTP3) if one.failure is not None), None)
    return Finding(
        id=FindingId.HTTP_H3,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=facts(announced=True, answers=seen(0, tried), failure=None if failed is None else str(failed.kind)),
    )


def _refused(case: Case) -> Finding:
    refused = http3_refused(case)
    return Finding(
        id=FindingId.HTTP_H3,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        evidence=facts(announced=True, answers=seen(0, len(refused)), openssl=refused[0].text),
    )


def http3_refused(case: Case) -> tuple[CertificateFault, ...]:
    """For each QUIC handshake what browsers refuse of its certificates, where they take those over TCP: then they go on
    without HTTP/3. None where any handshake may have been to their liking."""
    judged, shaken = judged_chain(case), completed(case.evidence.of(Trial.HTTP3))
    if judged is None or judged[0].faults:
        return ()
    refused = tuple(fault for one in shaken if (fault := _unforgiven(case, one)) is not None)
    return refused if len(refused) == len(shaken) else ()


def _unforgiven(case: Case, shaken: Handshake) -> CertificateFault | None:
    by_clock = OF_TIME if valid_there(case, chain_of(case, shaken)) else frozenset()
    return next((one for one in shaken.faults if one.code not in ISSUER_UNKNOWN | by_clock), None)


def http3_answers(case: Case) -> bool | None:
    """Whether a QUIC handshake came to its end. None when nobody tried, or when nothing but silence came and for all
    we know nobody can be reached over UDP from there."""
    trials = case.evidence.of(Trial.HTTP3)
    if not trials:
        return None
    if any(one.handshake is not None and one.handshake.ended_us is not None for one in trials):
        return True
    silent = all(one.failure is not None and one.failure.kind in _SILENCE for one in trials)
    return None if silent and not case.evidence.quic_passes else False


def http3_announced(case: Case) -> bool:
    """By the Alt-Svc header of the answer or by the HTTPS record of its name."""
    records = (name.https for name in case.evidence.names if name.host == case.evidence.host)
    by_name = any(record is not None and "h3" in record.protocols for record in records)
    return by_name or offers_http3(answer_headers(case))


def https_record_known(case: Case) -> bool:
    """Whether it is known what the name's HTTPS record says, or that there is none: addresses have none, and of a name
    that was not asked for, or whose name server failed, nothing is known."""
    mine = [name for name in case.evidence.names if name.host == case.evidence.host]
    questions = (one for name in mine for one in name.questions if one.record_type == "HTTPS")
    answered = any(one.took_us is not None and one.code in _SAY_WHAT_IS for one in questions)
    return answered or any(name.https is not None for name in mine) or is_address(case.evidence.host)


def answer_headers(case: Case) -> tuple[Header, ...]:
    """Of all answers of the last host over TLS: each server behind it may say it."""
    return case.once(_answer_headers)


def _answer_headers(case: Case) -> tuple[Header, ...]:
    last = case.hops[-1].response_headers if case.hops else ()
    over_tls = (one for trial in case.evidence.trials if trial.trial is not Trial.PLAIN for one in trial.exchanges)
    return (*last, *(header for one in over_tls for header in one.headers))


def _not_judged(case: Case, id: FindingId) -> NotJudged:
    light = case.evidence.depth is Depth.LIGHT
    return NotJudged(id=id, reason=NotJudgedReason.NEEDS_DEEP_PROBE if light else NotJudgedReason.NOT_MEASURED)


RULES: tuple[Rule, ...] = (h2_missing, h3)
