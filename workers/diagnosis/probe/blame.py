"""Why a probe failed, where its evidence says more than the failure itself."""

from dataclasses import replace
from datetime import timedelta

from workers.diagnosis.case import Case
from workers.diagnosis.probe.clocks import ahead
from workers.diagnosis.probe.full_packets import vanish_on_the_way
from workers.measurement.failure import Blame, Failure, FailureKind
from workers.measurement.finding import NotJudgedReason
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.measurement.verify_codes import OF_TIME

_BY_TIME = (FailureKind.CERTIFICATE_EXPIRED, FailureKind.CERTIFICATE_NOT_YET_VALID)
_BY_PATIENCE = (FailureKind.TLS_TIMEOUT, FailureKind.RESPONSE_TIMEOUT, FailureKind.DOWNLOAD_TIMEOUT)


def explained(outcome: Measured | Failed) -> Measured | Failed:
    """The same; a failure says whom to blame and why as far as the diagnosed evidence tells."""
    measurement = outcome.measurement
    if not isinstance(outcome, Failed) or not isinstance(measurement, ProbeMeasurement):
        return outcome
    if measurement.evidence is None:
        return outcome
    case = Case(evidence=measurement.evidence, hops=measurement.hops)
    if outcome.failure.kind in _BY_TIME and _hangs_on_our_clock(case, measurement):
        return replace(outcome, failure=_of_our_clock(outcome.failure, ahead(case) or timedelta()))
    if outcome.failure.kind in _BY_PATIENCE and vanish_on_the_way(case):
        return replace(outcome, failure=_of_the_way(outcome.failure))
    return outcome


def _hangs_on_our_clock(case: Case, measurement: ProbeMeasurement) -> bool:
    """Whether the chain's dates were not judged, and nothing else is wrong with it."""
    left_open = measurement.diagnosis.not_judged if measurement.diagnosis is not None else ()
    shaken = (one.handshake for one in case.evidence.trials if one.handshake is not None)
    codes = {fault.code for one in shaken for fault in one.faults}
    apart = any(one.reason is NotJudgedReason.CLOCKS_APART for one in left_open)
    return apart and bool(codes) and codes <= OF_TIME


def _of_our_clock(failure: Failure, apart: timedelta) -> Failure:
    """Nobody may be told that the site is down: one of the two clocks is wrong, and it may be ours."""
    where = "behind" if apart > timedelta() else "ahead of"
    seen = failure.detail.partition(":")[0].removesuffix(".")
    told = (
        f"{seen}, by the clock of the monitor. That is {_span(abs(apart))} {where} the server's, by which the "
        "certificate is valid; set the clock that is wrong."
    )
    return replace(failure, blame=Blame.MONITOR, detail=told)


def _span(apart: timedelta) -> str:
    for name, unit in (("days", timedelta(days=1)), ("hours", timedelta(hours=1))):
        if apart >= 2 * unit:
            return f"{apart / unit:.1f} {name}"
    return f"{apart / timedelta(minutes=1):.0f} minutes"


def _of_the_way(failure: Failure) -> Failure:
    told = (
        f"{failure.detail}. Small packets of the server came through, and those before them never did: it seems that "
        "full ones are lost on the way (a smaller path MTU, and a filter that keeps ICMP from saying so)."
    )
    return replace(failure, detail=told)
