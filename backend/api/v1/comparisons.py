"""Comparisons: whether the CDN helps, where, by how much and why, from the pairs of a period."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.utils import timezone
from ninja import Router

from backend.api.v1.access import ApiRequest
from backend.api.v1.pairings import VerdictWord, owned_pairing
from backend.api.v1.shapes import Ms, Out
from backend.api.v1.sites import READ
from backend.compare import queries
from backend.compare.queries import PERIODS, RegionComparison
from backend.compare.samples import Window
from backend.fleet.queries import usable_regions
from workers.diagnosis.pair.facts import NOT_PACKED, LegFacts
from workers.diagnosis.pair.samples import Parts
from workers.diagnosis.pair.verdict import PairVerdict
from workers.measurement.document import milliseconds

router = Router(tags=["CDN against origin"])


class DifferenceMs(Out):
    """The CDN's time less the origin's: positive means that the CDN is slower."""

    estimate: Ms
    low: Ms | None
    high: Ms | None
    confidence: float


class PhasesMs(Out):
    """They add up to the whole; `wait` contains the sending of the request."""

    dns: Ms
    connect: Ms
    tls: Ms
    wait: Ms
    download: Ms


class ReasonOfPair(Out):
    id: str
    text: str
    ms: Ms


class WarningOfPair(Out):
    id: str
    text: str


class LegOfPair(Out):
    """What is usual on a leg. `phases_ms` is the mean of the middle half of its exchanges."""

    phases_ms: PhasesMs
    total_ms: Ms
    protocol: str | None
    tls_version: str | None
    content_encoding: str | None
    body_bytes: float | None
    cache: dict[str, int]
    age_s: float | None
    rtt_ms: Ms | None


class VerdictOfPairs(Out):
    """A verdict needs 20 pairs; before, it is `inconclusive`."""

    verdict: VerdictWord
    sentence: str
    pairs: int
    difference_ms: DifferenceMs | None
    margin_ms: Ms | None
    by_phase_ms: PhasesMs | None
    main_reason: str | None
    reasons: list[ReasonOfPair]
    warnings: list[WarningOfPair]
    cdn: LegOfPair | None
    origin: LegOfPair | None


class RegionOfComparison(Out):
    """`failed` counts runs that brought no pair. `newest_run` is the last that did."""

    region: str
    name: str
    cold: VerdictOfPairs
    reused: VerdictOfPairs
    failed: int
    newest_run: UUID | None


class Comparison(Out):
    """`cold` and `reused` are over all regions, each counting the same; fresh connections are the headline."""

    pairing_id: UUID
    since: datetime
    until: datetime
    cold: VerdictOfPairs
    reused: VerdictOfPairs
    regions: list[RegionOfComparison]


@router.get("/pairings/{uuid:pairing_id}/comparison", auth=READ, response=Comparison)
def get_comparison(request: ApiRequest, pairing_id: UUID, range: Literal["24h", "7d"] = "24h") -> Comparison:
    """The verdicts on the pairs of the last 24 hours or 7 days, at most the newest 400 of each region."""
    pairing = owned_pairing(request, pairing_id)
    # To the end of this minute, so that an answer is the same for a while and has an ETag that helps.
    until = timezone.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
    window = Window(since=until - PERIODS[range], until=until)
    found = queries.comparison_of(pairing, usable_regions(request.caller.organisation), window)
    return Comparison(
        pairing_id=pairing.public_id,
        since=found.since,
        until=window.until,
        cold=_verdict(found.cold),
        reused=_verdict(found.reused),
        regions=[_region(one) for one in found.regions],
    )


def _region(one: RegionComparison) -> RegionOfComparison:
    return RegionOfComparison(
        region=one.region.code,
        name=one.region.name,
        cold=_verdict(one.cold),
        reused=_verdict(one.reused),
        failed=one.failed,
        newest_run=one.newest,
    )


def _verdict(found: PairVerdict) -> VerdictOfPairs:
    difference, main = found.difference, found.main_reason
    return VerdictOfPairs(
        verdict=found.verdict.value,
        sentence=found.sentence,
        pairs=found.pairs,
        difference_ms=None
        if difference is None
        else DifferenceMs(
            estimate=_ms(difference.estimate_us),
            low=milliseconds(difference.low_us),
            high=milliseconds(difference.high_us),
            confidence=difference.confidence,
        ),
        margin_ms=milliseconds(found.margin_us),
        by_phase_ms=None if found.by_phase is None else _phases(found.by_phase),
        main_reason=None if main is None else main.id,
        reasons=[ReasonOfPair(id=one.id, text=one.text, ms=_ms(one.difference_us)) for one in found.reasons],
        warnings=[WarningOfPair(id=one.id, text=one.text) for one in found.warnings],
        cdn=_leg(found.a),
        origin=_leg(found.b),
    )


def _leg(facts: LegFacts | None) -> LegOfPair | None:
    if facts is None:
        return None
    return LegOfPair(
        phases_ms=_phases(facts.parts),
        total_ms=_ms(facts.parts.total),
        protocol=facts.protocol,
        tls_version=facts.tls_version,
        content_encoding=None if facts.content_encoding == NOT_PACKED else facts.content_encoding,
        body_bytes=facts.body_bytes,
        cache={state.value: count for state, count in facts.caches.items()},
        age_s=facts.age_s,
        rtt_ms=milliseconds(facts.rtt_us),
    )


def _phases(parts: Parts) -> PhasesMs:
    return PhasesMs(**{name: _ms(us) for name, us in parts._asdict().items()})


def _ms(us: float) -> float:
    return round(us / 1000, 3)
