"""One rule in logarithms: an estimate that passes below a limit, and fails above zero from a floor on."""

from dataclasses import dataclass, field, replace
from math import exp, expm1, inf, log
from statistics import NormalDist

import numpy as np

from backend.analysis.gate_bounds import quantile
from backend.analysis.gate_chance import chance_of
from backend.analysis.gate_estimate import Estimate, Sides, level_of, shift_of, sides
from backend.analysis.gate_hours import Already, of_this_hour
from backend.analysis.gate_metrics import least_change_of, offset_of
from backend.analysis.gate_pairs import difference_of, pairs
from backend.analysis.gate_types import Comparison, Found, Interval, Plan, RegionChange, Rule, Side, Verdict
from backend.analysis.students import students

_NORMAL = NormalDist()
_HABIT = "It was as high at this time the day before."
_ALREADY = "It was as high in the hour before the release. If that was its rollout, tell of the deploy as that begins."
_LOST = "It was lower in the hour before the release, and rose with it by more than the limit."
_CHANCE = "So many of the earlier runs were as high that these may be among them by chance."
# Of what comes every day, each day shows so much at least, and of what had come before the release the hour before it.
# Measured at 99 %, one region, 20 minutes into half an hour of every day that is a fifth slower: with 0.6 in its place
# 7 of a hundred unchanged gates fail in place of 5 (CV 15 %, a run each five minutes) and 14 in place of 6 (CV 5 %,
# each quarter of an hour). Of releases that are a fifth slower where all hours are alike 45 would be found in place of
# 44 (CV 15 %), and 94 in place of 92 by five regions; with 0.4 these are 89.
_HABIT_PART = 0.5
# What a logarithm leaves of nothing begins behind these: 10 ms there and back are no longer 10, in the sixteenth.
_DIGITS = 9
# More runs show besides how much they scatter: by then so many squares tell it at least.
_KNOWN_LATER = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`base` is the value at a shift of 0: what is typical in history, or the greatest value allowed."""

    rule: Rule
    both: Sides
    estimate: Estimate
    offset: float
    base: float
    limit: float
    floor: float
    already: Already = field(default_factory=Already)
    # Which part of picks from history may be as slow as fresh runs that are slower, at each look; None: not asked.
    chance: float | None = None

    @property
    def is_change(self) -> bool:
        return self.rule.max_change_pct is not None

    @property
    def excuse(self) -> str:
        """Why the shift is hardly the release's: most of it was there without it. Empty when nothing says so."""
        part = _HABIT_PART * self.estimate.shift
        if part <= 0:
            return ""
        if self.already.day_before >= part:
            return _HABIT
        return _ALREADY if self.already.hour_before >= part else ""

    @property
    def loses_a_gain(self) -> bool:
        """Whether it rose by more than is allowed from what it had come down to right before the release."""
        before = max(self.value_at(-self.already.quicker), 0.0)
        return self.value_at(self.estimate.shift) - before > _allowed(self.rule, before, self.offset)

    @property
    def is_chance(self) -> bool:
        """Whether runs picked from history are as slow too often."""
        return self.chance is not None and chance_of(self.both, self.estimate.shift) > self.chance

    @property
    def strength(self) -> float:
        """How far above zero the shift is, in its own uncertainty: what rules are ordered by."""
        return self.estimate.shift / self.too_high(2.0)

    def too_high(self, normal_quantile: float) -> float:
        """How far the true shift may lie below: with what history may hide, and may have grown by without a release."""
        estimate = self.estimate
        bound = _bound(normal_quantile, estimate.freedom, estimate.variance + estimate.hidden_variance)
        return self.already.perhaps + bound

    def too_low(self, normal_quantile: float) -> float:
        """How far the true shift may lie above."""
        return _bound(normal_quantile, self.estimate.freedom, self.estimate.variance)

    def value_at(self, shift: float) -> float:
        """The metric itself at a shift."""
        return (self.base + self.offset) * exp(shift) - self.offset

    def part_of(self, part: float) -> float:
        """A part of the value with what is added to it, as one of the value alone; of nothing, as one of what a value
        counts as at least."""
        return part * (self.base + self.offset) / (self.base if self.base > 0 else self.offset)

    def pct_at(self, shift: float) -> float:
        """The change in per cent."""
        return 100 * self.part_of(expm1(shift))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Of the normal distribution: for the lower bound, which holds for all rules together, and for the upper one."""

    low: float
    high: float


def case_of(comparison: Comparison, plan: Plan) -> Case:
    """Raises TooLittleError."""
    rule = comparison.rule
    offset = offset_of(rule.metric)
    if comparison.paired and rule.max_value is None:
        both = pairs(comparison, offset=offset, least=plan.min_fresh)
        return _change(rule, both, difference_of(both), offset)
    least_history = 0 if rule.max_change_pct is None else plan.min_history
    both = sides(
        comparison.history,
        comparison.fresh,
        offset=offset,
        least_fresh=plan.min_fresh,
        least_history=least_history,
        lost=comparison.lost,
    )
    if rule.max_value is not None:
        level = level_of(both, log(rule.max_value + offset))
        return Case(rule=rule, both=both, estimate=level, offset=offset, base=rule.max_value, limit=0.0, floor=-inf)
    both, already = of_this_hour(comparison, both, offset=offset)
    chance = 1 - _NORMAL.cdf(quantile(plan.alpha, plan.planned_looks))
    return replace(_change(rule, both, shift_of(both), offset), already=already, chance=chance)


def _change(rule: Rule, both: Sides, estimate: Estimate, offset: float) -> Case:
    level = float(np.mean([np.median(values) for values in both.history]))
    base = max(round(exp(level) - offset, _DIGITS), 0.0)
    most = _allowed(rule, base, offset)

    def shift_to(increase: float) -> float:
        return log((base + increase + offset) / (base + offset))

    return Case(
        rule=rule,
        both=both,
        estimate=estimate,
        offset=offset,
        base=base,
        limit=shift_to(most),
        floor=shift_to(max(most / 2, _least(rule))),
    )


def _allowed(rule: Rule, base: float, offset: float) -> float:
    """By how much a value may rise. From nothing, per cents mean nothing: then by as much as one counts as at least."""
    return max(base * (rule.max_change_pct or 0.0) / 100, _least(rule)) or offset


def _least(rule: Rule) -> float:
    return rule.min_change or least_change_of(rule.metric)


def verdict_of(case: Case, quantiles: Quantiles) -> tuple[Verdict, str]:
    """PASS where even the upper bound is below the limit and it loses no gain of right before, FAIL where a slowdown is
    sure, as large as the floor, was not there already and is none of history's own; and why it is neither, where there
    is more to say than its bounds."""
    shift = case.estimate.shift
    if shift + case.too_low(quantiles.high) < case.limit:
        return (Verdict.INCONCLUSIVE, _LOST) if case.loses_a_gain else (Verdict.PASS, "")
    is_slower = shift - case.too_high(quantiles.low) > 0 and shift >= case.floor
    if case.excuse or not is_slower:
        return Verdict.INCONCLUSIVE, case.excuse
    return (Verdict.INCONCLUSIVE, _CHANCE) if case.is_chance else (Verdict.FAIL, "")


def found_of(case: Case, quantiles: Quantiles, verdict: Verdict) -> Found:
    """What the runs say, in the metric's own unit."""
    estimate, noise = case.estimate, case.estimate.noise
    low, high = estimate.shift - case.too_high(quantiles.low), estimate.shift + case.too_low(quantiles.high)
    value = Interval(value=case.value_at(estimate.shift), low=case.value_at(low), high=case.value_at(high))
    pct = Interval(value=case.pct_at(estimate.shift), low=case.pct_at(low), high=case.pct_at(high))
    is_change = case.is_change
    return Found(
        value=value,
        pct=pct if is_change else None,
        limit_pct=case.pct_at(case.limit) if is_change else None,
        p_value=_p_value(case),
        before=Side(runs=case.both.before, typical=case.base) if is_change else None,
        after=Side(runs=case.both.after, typical=value.value),
        failed=case.both.failed,
        robust_cv=case.part_of(expm1(float(np.mean(noise.run_sds**2))) ** 0.5),
        batch_sd=case.part_of(noise.batch_variance**0.5),
        smallest_detectable_pct=case.pct_at(case.too_high(quantiles.low)),
        extra_runs_to_decide=_extra_runs(case, quantiles) if verdict is Verdict.INCONCLUSIVE else 0,
        regions=_regions(case, quantiles) if is_change else (),
        left_out=case.both.left_out,
    )


def _regions(case: Case, quantiles: Quantiles) -> tuple[RegionChange, ...]:
    """Each alone: that all of them agree cannot be asked of so few runs."""
    freedom, changes = case.estimate.freedom, []
    for part in case.estimate.regions:
        low = part.shift - _bound(quantiles.low, freedom, part.variance + part.hidden_variance)
        high = part.shift + _bound(quantiles.high, freedom, part.variance)
        pct = Interval(value=case.pct_at(part.shift), low=case.pct_at(low), high=case.pct_at(high))
        changes.append(RegionChange(region=part.region, pct=pct))
    return tuple(changes)


def _extra_runs(case: Case, quantiles: Quantiles) -> int | None:
    """For whichever verdict is nearer, if what was seen so far is the truth. From the limit on it is the floor."""
    shift, freedom = case.estimate.shift, max(case.estimate.freedom, _KNOWN_LATER)
    rooms = [(case.limit - shift) / students(quantiles.high, freedom)]
    if shift >= case.floor:
        room = max(shift - case.already.perhaps, 0.0) / students(quantiles.low, freedom)
        beside = room**2 - case.estimate.hidden_variance
        rooms.append(max(beside, 0.0) ** 0.5)
    return case.estimate.extra_runs(max(rooms))


def _p_value(case: Case) -> float:
    """The chance of such a shift or a larger one without any change, by Student's distribution."""
    size = abs(case.estimate.shift)
    low, high = 0.0, 8.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if case.too_high(middle) < size else (low, middle)
    beyond = 1 - _NORMAL.cdf(high)
    return beyond if case.estimate.shift > 0 else 1 - beyond


def _bound(normal_quantile: float, freedom: float, variance: float) -> float:
    return float(students(normal_quantile, freedom) * variance**0.5)
