"""Which of two legs is faster, by how much, how surely and why: from pairs that were asked back to back.

Differences are a minus b (the CDN minus the origin): negative means that a is faster. What is compared is the whole
exchange, to its last byte; the headline is the cold one, over fresh connections, which is what a visitor's first
request costs. DNS counts only where both names were looked up.

A verdict needs 20 pairs. A leg is called faster when the middle difference is at least the practical margin (2 ms, or
3 % of the quicker leg when that is more) and the interval at five times less doubt than the one that is told (99 % for
95 %) lies wholly on its side. There is no difference when the told interval lies within the margin on both sides.
Everything else is inconclusive. Since a coin decides the order in each pair, the differences of two equal legs are
symmetric whatever their noise looks like, and the test is exact: two equal legs are called different once in 100 times.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from statistics import NormalDist, fmean

from workers.diagnosis.pair.facts import LegFacts, facts_of
from workers.diagnosis.pair.reasons import Evidence, Reason, leading, mean_reasons, not_kept_reason, reasons_of
from workers.diagnosis.pair.samples import CDN_AND_ORIGIN, LegSample, Names, PairRun, PairSample, Parts, Verdict
from workers.diagnosis.pair.signed_rank import Interval, PairedDifferences
from workers.diagnosis.pair.split import mean_parts, split
from workers.diagnosis.pair.warnings import PairWarning, dns_left_out, pairs_left_out, protocols_differ, warnings_of
from workers.diagnosis.units import begin, counted, ms, signed_ms
from workers.measurement.pair import Leg

MIN_PAIRS = 20
# Beyond these only the newest count: the Walsh averages of more take seconds, and sites change.
MAX_PAIRS = 400
CONFIDENCE = 0.95
MARGIN_US = 2_000
MARGIN_SHARE = 0.03
_DOUBT_SHARE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A minus b. `low_us` and `high_us` are None when there are too few pairs for an interval of that confidence."""

    estimate_us: int
    low_us: int | None
    high_us: int | None
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """`by_phase` adds up to the estimate. `sentence` says it all in words. `pairs` are those that were compared.

    Without any pair there are no `difference`, `by_phase` and legs.
    """

    verdict: Verdict
    sentence: str
    pairs: int
    difference: Difference | None = None
    margin_us: int | None = None
    by_phase: Parts | None = None
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[PairWarning, ...] = ()
    a: LegFacts | None = None
    b: LegFacts | None = None

    def of(self, leg: Leg) -> LegFacts | None:
        return self.a if leg is Leg.A else self.b

    @property
    def estimate_us(self) -> int:
        """How much longer leg `a` takes; 0 without any pair."""
        return 0 if self.difference is None else self.difference.estimate_us

    @property
    def main_reason(self) -> Reason | None:
        """What acts most in the direction of the difference."""
        return None if self.difference is None else leading(self.reasons, self.difference.estimate_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`cold` is the headline: fresh connections. `reused` compares requests over connections that were open."""

    cold: PairVerdict
    reused: PairVerdict


def compare(runs: Sequence[PairRun], *, names: Names = CDN_AND_ORIGIN, failed: int = 0) -> Comparison:
    """The verdicts on runs in time order. `failed` counts those that brought no pair, to be told."""
    colds = [run.cold for run in runs if run.cold is not None]
    cold = judge(colds, names=names)
    reused = [run.reused for run in runs if run.reused is not None]
    closing = [leg for leg in Leg if 2 * sum(leg in run.not_kept for run in runs) > len(runs)]
    missing = pairs_left_out(
        failed + len(runs) - len(colds),
        sum(not _is_comparable(pair) for pair in colds),
        not_kept=tuple(names.of(leg) for leg in closing),
    )
    unlike = sum(not _is_comparable(pair) for pair in reused)
    missing_again = pairs_left_out(0, unlike, not_kept=tuple(names.of(leg) for leg in closing))
    again = judge(reused, names=names)
    closed = (not_kept_reason(leg, facts, names) for leg in closing if (facts := cold.of(leg)) is not None)
    if failed and not runs:
        cold = replace(cold, sentence="No pair could be measured.")
    return Comparison(
        cold=replace(cold, reasons=(*cold.reasons, *closed), warnings=(*missing, *cold.warnings)),
        reused=replace(again, warnings=(*missing_again, *again.warnings)),
    )


def judge(
    samples: Sequence[PairSample], *, names: Names = CDN_AND_ORIGIN, confidence: float = CONFIDENCE
) -> PairVerdict:
    """The verdict on pairs of one kind (all cold, or all reused) in time order; the newest 400 count."""
    pairs = counting(samples)
    if not pairs:
        return PairVerdict(verdict=Verdict.INCONCLUSIVE, sentence=_too_few(0), pairs=0)
    with_dns = is_dns_counted(pairs)
    apart = [_minus(pair.a.parts(with_dns=with_dns), pair.b.parts(with_dns=with_dns)) for pair in pairs]
    differences = PairedDifferences([parts.total for parts in apart])
    difference = _difference(differences, confidence)
    evidence = Evidence(
        parts=split(apart, difference.estimate_us),
        differences=apart,
        trips_apart=_apart(pairs, lambda leg: leg.tls_round_trips),
        rtts_apart=_apart(pairs, lambda leg: leg.rtt_us),
        confidence=_surer(confidence),
        a=facts_of(pairs, Leg.A, with_dns=with_dns),
        b=facts_of(pairs, Leg.B, with_dns=with_dns),
        names=names,
    )
    margin_us = max(MARGIN_US, round(MARGIN_SHARE * min(evidence.a.parts.total, evidence.b.parts.total)))
    sure = differences.interval(_surer(confidence))
    verdict = _decide(difference, sure, margin_us, names) if len(pairs) >= MIN_PAIRS else Verdict.INCONCLUSIVE
    return PairVerdict(
        verdict=verdict,
        sentence=_sentence(verdict, difference, margin_us, len(pairs), names),
        pairs=len(pairs),
        difference=difference,
        margin_us=margin_us,
        by_phase=evidence.parts,
        reasons=reasons_of(evidence),
        warnings=(*_one_sided_dns(pairs, names), *_unlike_protocols(pairs, names), *warnings_of(evidence)),
        a=evidence.a,
        b=evidence.b,
    )


def overall(by_region: Mapping[str, PairVerdict], *, names: Names = CDN_AND_ORIGIN) -> PairVerdict:
    """One verdict for several regions: the mean of their differences, each region counting the same.

    Only regions with 20 pairs or more count, for the reasons too. Regions that contradict each other are named in a
    warning.
    """
    judged = {region: one for region, one in by_region.items() if one.pairs >= MIN_PAIRS}
    known = [(one.difference, one.by_phase) for one in judged.values() if one.difference and one.by_phase]
    total = sum(one.pairs for one in judged.values())
    if not known:
        most = max((one.pairs for one in by_region.values()), default=0)
        return PairVerdict(verdict=Verdict.INCONCLUSIVE, sentence=_too_few(most), pairs=total)
    confidence = known[0][0].confidence
    estimate_us = round(fmean(difference.estimate_us for difference, _ in known))
    spread_us = sqrt(sum(_spread_us(difference) ** 2 for difference, _ in known)) / len(known)
    low_us, high_us = _around(estimate_us, spread_us, confidence)
    difference = Difference(estimate_us=estimate_us, low_us=low_us, high_us=high_us, confidence=confidence)
    margin_us = round(fmean(one.margin_us or MARGIN_US for one in judged.values()))
    verdict = _decide(difference, _around(estimate_us, spread_us, _surer(confidence)), margin_us, names)
    return PairVerdict(
        verdict=verdict,
        sentence=_sentence(verdict, difference, margin_us, total, names, regions=len(known)),
        pairs=total,
        difference=difference,
        margin_us=margin_us,
        by_phase=mean_parts([parts for _, parts in known], estimate_us),
        reasons=mean_reasons({region: one.reasons for region, one in judged.items()}, estimate_us),
        warnings=_contradictions(judged, names),
    )


def counting(samples: Sequence[PairSample]) -> list[PairSample]:
    """Those of which a verdict is made."""
    return [pair for pair in samples if _is_comparable(pair)][-MAX_PAIRS:]


def is_dns_counted(pairs: Sequence[PairSample]) -> bool:
    """A lookup that one side has not would make the other slower for nothing."""
    return all(_looked_up(pair.a) and _looked_up(pair.b) for pair in pairs)


def _is_comparable(pair: PairSample) -> bool:
    """An answer of another status is another answer: that it is faster says nothing."""
    return pair.a.status == pair.b.status


def _looked_up(leg: LegSample) -> bool:
    return leg.phases.dns_us is not None


def _minus(a: Parts, b: Parts) -> Parts:
    return Parts(*(one - other for one, other in zip(a, b, strict=True)))


def _apart(pairs: Sequence[PairSample], of: Callable[[LegSample], int | None]) -> list[int]:
    """By how much the legs of each pair differ, where it is known of both."""
    both = ((of(pair.a), of(pair.b)) for pair in pairs)
    return [a - b for a, b in both if a is not None and b is not None]


def _difference(differences: PairedDifferences, confidence: float) -> Difference:
    interval = differences.interval(confidence)
    return Difference(
        estimate_us=round(differences.middle),
        low_us=None if interval is None else round(interval[0]),
        high_us=None if interval is None else round(interval[1]),
        confidence=confidence,
    )


def _surer(confidence: float) -> float:
    """The confidence that a claim needs: a fifth of the doubt."""
    return 1 - (1 - confidence) / _DOUBT_SHARE


def _decide(difference: Difference, sure: Interval | None, margin_us: int, names: Names) -> Verdict:
    estimate_us, low_us, high_us = difference.estimate_us, difference.low_us, difference.high_us
    if sure is None or low_us is None or high_us is None:
        return Verdict.INCONCLUSIVE
    if estimate_us <= -margin_us and sure[1] < 0:
        return names.a_faster
    if estimate_us >= margin_us and sure[0] > 0:
        return names.b_faster
    return Verdict.NO_DIFFERENCE if -margin_us <= low_us and high_us <= margin_us else Verdict.INCONCLUSIVE


def _one_sided_dns(pairs: Sequence[PairSample], names: Names) -> tuple[PairWarning, ...]:
    """A leg that is dialled by its address has no DNS to compare with."""
    one_sided = [pair for pair in pairs if _looked_up(pair.a) is not _looked_up(pair.b)]
    if not one_sided:
        return ()
    return (dns_left_out(names.b if _looked_up(one_sided[-1].a) else names.a),)


def _unlike_protocols(pairs: Sequence[PairSample], names: Names) -> tuple[PairWarning, ...]:
    """Both legs are asked in the same protocol wherever they have one in common."""
    unlike = [pair for pair in pairs if pair.a.protocol and pair.b.protocol and pair.a.protocol != pair.b.protocol]
    if not unlike:
        return ()
    last = (unlike[-1].a.protocol, unlike[-1].b.protocol)
    return (protocols_differ(len(unlike), len(pairs), names, last),)


def _spread_us(difference: Difference) -> float:
    """The standard error that an interval's width stands for."""
    if difference.low_us is None or difference.high_us is None:
        return inf
    return (difference.high_us - difference.low_us) / (2 * NormalDist().inv_cdf((1 + difference.confidence) / 2))


def _around(middle_us: int, spread_us: float, confidence: float) -> tuple[int, int]:
    reach_us = round(spread_us * NormalDist().inv_cdf((1 + confidence) / 2))
    return middle_us - reach_us, middle_us + reach_us


def _contradictions(judged: Mapping[str, PairVerdict], names: Names) -> tuple[PairWarning, ...]:
    quicker = {side: [region for region, one in judged.items() if one.verdict is side] for side in _sides(names)}
    if not all(quicker.values()):
        return ()
    a, b = (", ".join(regions) for regions in quicker.values())
    text = f"The regions contradict each other: {names.a} is faster in {a}, {names.b} in {b}."
    return (PairWarning(id="regions_contradict", text=text),)


def _sides(names: Names) -> tuple[Verdict, Verdict]:
    return names.a_faster, names.b_faster


def _too_few(count: int) -> str:
    return f"{count} of {MIN_PAIRS} pairs: no verdict yet."


def _sentence(
    verdict: Verdict, difference: Difference, margin_us: int, pairs: int, names: Names, *, regions: int = 1
) -> str:
    if pairs < MIN_PAIRS:
        return _too_few(pairs)
    sample = f"{counted(pairs, 'pair')}{f' in {regions} regions' if regions > 1 else ''}"
    if verdict in _sides(names):
        quick, slow = (names.a, names.b) if verdict is names.a_faster else (names.b, names.a)
        size = _interval(difference, ms)
        return f"{begin(quick)} is {ms(difference.estimate_us)} faster than {slow} ({size}, {sample})."
    basis = f"{_interval(difference, signed_ms)}, {sample}"
    if verdict is Verdict.NO_DIFFERENCE:
        return f"No difference between {names.a} and {names.b} beyond {ms(margin_us)} ({basis})."
    return f"Not conclusive: {names.a} minus {names.b} is {signed_ms(difference.estimate_us)} ({basis})."


def _interval(difference: Difference, told: Callable[[float], str]) -> str:
    """The smaller end first, as it is told: by its size alone where the sentence says which leg is faster."""
    low_us, high_us = difference.low_us, difference.high_us
    if low_us is None or high_us is None:
        return "too few pairs for an interval"
    near_us, far_us = sorted((low_us, high_us), key=abs) if told is ms else (low_us, high_us)
    return f"{100 * difference.confidence:g} %: {told(near_us)} to {told(far_us)}"
