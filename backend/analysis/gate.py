"""May this release go out? Fresh runs against history, with three honest answers.

For each rule, on logarithms: the shift between history and fresh runs by region, averaged over regions
(`gate_estimate`), with an interval that knows the noise of runs and of batches (`gate_noise`), of several looks
(`gate_bounds`) and of several rules (Holm). Then

- pass: the interval lies below the limit;
- fail: it lies above zero, and the shift is at least half the limit and the least change that counts;
- inconclusive: neither, so that more runs are needed, or as slow without the release: at this time the day before, in
  the last hour (`gate_hours`), or by chance among so many runs of history (`gate_chance`);
- error: too little was measured to say anything.

The lower bound holds for all rules together, so that none fails by chance. The upper bound holds for each alone: a
release passes only when every rule does.
"""

from collections.abc import Sequence

from backend.analysis.gate_bounds import quantile
from backend.analysis.gate_case import Case, Quantiles, case_of, found_of, verdict_of
from backend.analysis.gate_estimate import TooLittleError
from backend.analysis.gate_types import Comparison, Judged, Judgement, Plan, Verdict, overall


def judge(comparisons: Sequence[Comparison], plan: Plan) -> Judgement:
    """The verdict on all rules together, and on each in the order given."""
    read = [_read(comparison, plan) for comparison in comparisons]
    alphas = _holm([case for case in read if isinstance(case, Case) and case.rule.decides], plan)
    judged = tuple(
        _judged(case, alphas.get(id(case), plan.alpha), plan) if isinstance(case, Case) else case for case in read
    )
    return Judgement(
        verdict=overall([(rule.verdict, rule.rule.decides) for rule in judged]),
        rules=judged,
    )


def _read(comparison: Comparison, plan: Plan) -> Case | Judged:
    try:
        return case_of(comparison, plan)
    except TooLittleError as error:
        return Judged(rule=comparison.rule, verdict=Verdict.ERROR, reason=f"{error}.")


def _holm(cases: Sequence[Case], plan: Plan) -> dict[int, float]:
    """The error that each case may make, by its identity (Holm, 1979): strongest first, who exceeds it frees room."""
    alphas, left = {}, len(cases)
    for case in sorted(cases, key=lambda case: -case.strength):
        alphas[id(case)] = plan.alpha / left
        if case.estimate.shift > case.too_high(quantile(plan.alpha / left, plan.planned_looks)):
            left -= 1
    return alphas


def _judged(case: Case, alpha: float, plan: Plan) -> Judged:
    quantiles = Quantiles(low=quantile(alpha, plan.planned_looks), high=quantile(plan.alpha, plan.planned_looks))
    verdict, reason = verdict_of(case, quantiles)
    judged = Judged(rule=case.rule, verdict=verdict, found=found_of(case, quantiles, verdict))
    return judged.left_open(reason) if reason else judged
