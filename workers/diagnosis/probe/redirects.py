"""Redirects that stand before the page, and pages without TLS."""

from statistics import median_low
from urllib.parse import urljoin

from workers.diagnosis.case import SYN_TIMER_US, Case, Rule, Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.probe.headers import hsts_max_age_s, values
from workers.diagnosis.probe.hsts import MIN_HSTS_S, hsts_of_journey, hsts_word, is_address, origin
from workers.measurement.connection import Header
from workers.measurement.evidence import Depth, Exchange, Trial, TrialEvidence
from workers.measurement.finding import Confidence, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.messages import Hop
from workers.measurement.statuses import REDIRECTS
from workers.measurement.target import DEFAULT_PORTS
from workers.measurement.timing import Phases, phases_of

_PAGE = range(200, 300)
_TOLD = 5


def redirect_cost(case: Case) -> Verdicts:
    """Hops before the page; or none, but a plain http:// that leads here without HSTS to spare visitors the step."""
    hops = case.hops
    arrived = bool(hops) and hops[-1].status is not None and not _redirects(hops[-1].status)
    if len(hops) > 1 and arrived:
        yield _hops_finding(case)
    elif case.evidence.secure:
        yield from _step_from_plain(case)


def _hops_finding(case: Case) -> Finding:
    hops, before = case.hops, case.hops[:-1]
    costs = [_cost_us(case, place) for place, _ in enumerate(before)]
    known = [cost for cost in costs if cost is not None]
    return Finding(
        id=FindingId.HTTP_REDIRECT_COST,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=sum(known) if len(known) == len(before) else None,
        evidence=facts(
            redirects=len(before),
            urls=tuple(hop.url for hop in hops[: _TOLD + 1]),
            statuses=tuple(str(hop.status) for hop in before[:_TOLD]),
            costs_ms=tuple(cost / 1000 for cost in known[:_TOLD]),
            hsts=hsts_of_journey([(hop.url, hop.response_headers) for hop in hops]),
        ),
    )


def _cost_us(case: Case, place: int) -> int | None:
    """What a browser spends on this hop alone.

    It looks each name up once and sends further requests of one origin over the connection that is open, so what a
    later hop would need anyway is no cost of this one.
    """
    hop, later = case.hops[place], case.hops[place + 1 :]
    phases = phases_of(hop.timing)
    if phases.total_us is None:
        return None
    origins = {origin(one.url) for one in later}
    if origin(hop.url) in origins:
        return phases.total_us - _opening_us(phases)
    cost_us = phases.total_us - _lost_us(case, hop, phases)
    hosts = {host for _, host, _ in origins}
    return cost_us - (phases.dns_us or 0) if origin(hop.url)[1] in hosts else cost_us


def _lost_us(case: Case, hop: Hop, phases: Phases) -> int:
    """What connecting took because a SYN got lost, where it is known how far the host is."""
    rtt_us, connect_us = case.rtt_us, phases.connect_us or 0
    if rtt_us is None or origin(hop.url)[1] != case.evidence.host or connect_us < SYN_TIMER_US + rtt_us:
        return 0
    return connect_us - rtt_us


def _opening_us(phases: Phases) -> int:
    return (phases.dns_us or 0) + (phases.connect_us or 0) + (phases.tls_us or 0)


def _step_from_plain(case: Case) -> Verdicts:
    answer = _plain_answer(case)
    if answer is None:
        yield from _unseen(case, FindingId.HTTP_REDIRECT_COST)
        return
    if not _leads_to_tls(case, answer):
        return
    max_age_s = hsts_max_age_s(_secure_headers(case))
    if is_address(case.evidence.host) or (max_age_s is not None and max_age_s >= MIN_HSTS_S):
        return
    cost_us = _step_us(case)
    yield Finding(
        id=FindingId.HTTP_REDIRECT_COST,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        saving_us=cost_us,
        evidence=facts(
            hsts=hsts_word(max_age_s),
            hsts_max_age_s=max_age_s,
            plain_status=answer.status,
            plain_ms=in_ms(cost_us),
            rtt_ms=in_ms(case.rtt_us),
        ),
    )


def _step_us(case: Case) -> int | None:
    """What the step takes, as it mostly does: one connection may have met a loss, or a server that was busy."""
    took = [
        ended_us - _late_us(trial, one)
        for trial, one in _plain_exchanges(case)
        if (ended_us := one.ended_us or one.head_us) is not None and ended_us >= one.asked_us
    ]
    return median_low(took) if took else None


def _late_us(trial: TrialEvidence, one: Exchange) -> int:
    """How late we were ourselves to ask over a connection that was there."""
    return 0 if trial.connect_us is None else max(0, one.asked_us - trial.connect_us)


def no_tls(case: Case) -> Verdicts:
    """The page comes over plain http:// and leads to no https://."""
    if not case.evidence.secure:
        last = case.hops[-1] if case.hops else None
        if last is not None and last.status in _PAGE and origin(last.url)[0] == "http":
            yield _no_tls(last.url, last.status)
        return
    answer = _plain_answer(case)
    if answer is None:
        yield from _unseen(case, FindingId.HTTP_NO_TLS)
    elif answer.status in _PAGE:
        yield _no_tls(f"http://{case.evidence.host}/", answer.status)


def _no_tls(url: str, status: int | None) -> Finding:
    return Finding(
        id=FindingId.HTTP_NO_TLS,
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        evidence=facts(url=url, status=status),
    )


def _plain_answer(case: Case) -> Exchange | None:
    return next(iter(_plain_answers(case)), None)


def _plain_answers(case: Case) -> list[Exchange]:
    return [one for _, one in _plain_exchanges(case)]


def _plain_exchanges(case: Case) -> list[tuple[TrialEvidence, Exchange]]:
    """What http:// answered on port 80; beside a site on a port of its own that is another site."""
    if case.evidence.port != DEFAULT_PORTS["https"]:
        return []
    exchanges = ((trial, one) for trial in case.evidence.of(Trial.PLAIN) for one in trial.exchanges)
    return [(trial, one) for trial, one in exchanges if one.status is not None]


def _unseen(case: Case, id: FindingId) -> Verdicts:
    """In one connection nobody asked; where nobody answers there is nothing to mend."""
    if case.evidence.depth is Depth.LIGHT and case.evidence.port == DEFAULT_PORTS["https"]:
        yield NotJudged(id=id, reason=NotJudgedReason.NEEDS_DEEP_PROBE)


def _leads_to_tls(case: Case, answer: Exchange) -> bool:
    location = next(iter(values(answer.headers, "location")), "")
    scheme, _, port = origin(_joined(case.evidence.host, location))
    return _redirects(answer.status) and scheme == "https" and port == case.evidence.port


def _joined(host: str, location: str) -> str:
    try:
        return urljoin(f"http://{host}/", location)
    except ValueError:
        return ""


def _redirects(status: int | None) -> bool:
    return status in REDIRECTS


def _secure_headers(case: Case) -> tuple[Header, ...]:
    """Of the last answer over TLS: of the journey where it ended, else of the first connection that brought one."""
    if case.hops and case.hops[-1].response_headers:
        return case.hops[-1].response_headers
    answers = (one for trial in case.evidence.trials if trial.handshake for one in trial.exchanges)
    return next((one.headers for one in answers if one.headers), ())


RULES: tuple[Rule, ...] = (redirect_cost, no_tls)
