"""A CDN that is slower than the origin it stands before, from pairs that were asked back to back."""

from collections.abc import Sequence
from statistics import median

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms, seen
from workers.diagnosis.pair.facts import LegFacts
from workers.diagnosis.pair.samples import PairRun, PairSample, Verdict
from workers.diagnosis.pair.verdict import MIN_PAIRS, Comparison, PairVerdict, counting, is_dns_counted
from workers.measurement.finding import Confidence, Diagnosis, Finding, FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.thresholds import MIN_RTT_US

# Slower by more than this share of the origin's time, each time.
SLOWER_SHARE = 0.20
# The handshake against TCP's one round trip: so many on the CDN, while the origin needs two at most.
MAX_TLS_PER_CONNECT = 2.5
USUAL_TLS_PER_CONNECT = 2.2
_ID = FindingId.PAGE_CDN_SLOWER_THAN_ORIGIN


def diagnosis_of_pairs(runs: Sequence[PairRun], comparison: Comparison, *, host: str | None = None) -> Diagnosis:
    """What the pairs of a CDN and its origin, and the verdicts on them, say of the CDN. `host` is its name."""
    colds = [run.cold for run in runs if run.cold is not None]
    said = tuple(cdn_slower(counting(colds), comparison.cold, host=host))
    return Diagnosis(
        findings=tuple(one for one in said if isinstance(one, Finding)),
        not_judged=tuple(one for one in said if isinstance(one, NotJudged)),
    )


def cdn_slower(samples: Sequence[PairSample], verdict: PairVerdict, *, host: str | None) -> Verdicts:
    """From the cold pairs of one asset that count, and the verdict on them; leg `a` is the CDN.

    Without the 20 pairs that a verdict needs nothing is said, since a wrong word about a CDN is dear.
    """
    if verdict.pairs < MIN_PAIRS or verdict.a is None or verdict.b is None or verdict.difference is None:
        yield NotJudged(id=_ID, reason=NotJudgedReason.TOO_FEW_SAMPLES)
        return
    if verdict.verdict is not Verdict.ORIGIN_FASTER:
        return
    slower_us = verdict.difference.estimate_us
    much = slower_us > SLOWER_SHARE * verdict.b.parts.total
    if much or _handshake_to_blame(verdict.a, verdict.b):
        yield _finding(verdict, verdict.a, verdict.b, samples, host)


def _handshake_to_blame(cdn: LegFacts, origin: LegFacts) -> bool:
    """The CDN's handshake takes round trips that the origin's does not, and longer altogether."""
    cdn_trips, origin_trips = _tls_per_connect(cdn), _tls_per_connect(origin)
    if cdn_trips is None or origin_trips is None or cdn.parts.tls <= origin.parts.tls:
        return False
    return cdn_trips > MAX_TLS_PER_CONNECT and origin_trips <= USUAL_TLS_PER_CONNECT


def _tls_per_connect(leg: LegFacts) -> float | None:
    """None where a round trip is too short to count by."""
    return leg.parts.tls / leg.parts.connect if leg.parts.connect >= MIN_RTT_US and leg.parts.tls else None


def _finding(
    verdict: PairVerdict, cdn: LegFacts, origin: LegFacts, samples: Sequence[PairSample], host: str | None
) -> Finding:
    slower_us = verdict.estimate_us
    with_dns = is_dns_counted(samples)
    totals = [(pair.a.parts(with_dns=with_dns).total, pair.b.parts(with_dns=with_dns).total) for pair in samples]
    cdn_ratio, origin_ratio = _tls_per_connect(cdn), _tls_per_connect(origin)
    return Finding(
        id=_ID,
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        saving_us=slower_us,
        host=host,
        evidence=facts(
            cdn_ms=in_ms(median(a for a, _ in totals)),
            origin_ms=in_ms(median(b for _, b in totals)),
            slower_in=seen(sum(a > b for a, b in totals), len(totals)),
            main_reason=None if verdict.main_reason is None else verdict.main_reason.text,
            cdn_tls_per_connect=None if cdn_ratio is None else round(cdn_ratio, 1),
            origin_tls_per_connect=None if origin_ratio is None else round(origin_ratio, 1),
        ),
    )
