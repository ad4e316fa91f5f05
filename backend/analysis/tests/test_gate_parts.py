"""What single numbers of a gate's verdict stand for, and what several rules are to each other."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from backend.analysis.gate import judge
from backend.analysis.gate_case import Quantiles, case_of, found_of, verdict_of
from backend.analysis.gate_hours import Already
from backend.analysis.gate_types import Comparison, Found, Judged, Plan, Rule, Verdict
from backend.analysis.students import students
from backend.analysis.tests.test_gate import PLAN, REGIONS, TEN, compare, evenly, judged

WARNS = Rule(metric="ttfb_ms", max_change_pct=10, decides=False)


def found_in(result: Judged) -> Found:
    assert result.found is not None
    return result.found


def low_of(result: Judged) -> float:
    found = found_in(result)
    assert found.pct is not None
    return found.pct.low


def test_rules_that_only_warn_make_no_other_surer() -> None:
    alone = judged(compare())
    beside = judge([compare(), compare(after=300, rule=WARNS), compare(rule=WARNS)], PLAN).rules
    assert low_of(beside[0]) == low_of(alone)
    # Nor do they need to be surer themselves.
    assert low_of(beside[2]) == low_of(alone)


def test_a_rule_that_is_surely_broken_leaves_its_room_to_the_others() -> None:
    alone, among_two = judged(compare()), judge([compare(), compare()], PLAN).rules[0]
    assert low_of(among_two) < low_of(alone)
    for broken in (1, 2):
        rules = judge([compare(), *[compare(after=300)] * broken], PLAN).rules
        assert low_of(rules[0]) == low_of(alone)
    two_left = judge([compare(), compare(after=300), compare()], PLAN).rules
    assert low_of(two_left[0]) == low_of(among_two)


def test_a_rule_that_is_nearly_broken_leaves_no_room() -> None:
    """By chance it is as slow in 4 gates of 100: alone it would fail, and beside another it may not."""
    plan = Plan(confidence=0.95)
    assert low_of(judged(compare(after=204), plan)) > 0
    rules = judge([compare(after=204), compare()], plan).rules
    assert low_of(rules[0]) < 0
    assert low_of(rules[1]) == low_of(judge([compare(), compare()], plan).rules[0])


def test_the_surest_rule_is_asked_first_and_not_that_with_the_largest_change() -> None:
    """The restless one is 30 % slower and may be by chance; the quiet one is surely 10 % slower."""
    rules = judge([compare(after=230, runs=3, cv=0.4), compare(after=220, cv=0.02)], PLAN).rules
    assert [rule.verdict for rule in rules] == [Verdict.INCONCLUSIVE, Verdict.FAIL]
    assert low_of(rules[0]) == low_of(judged(compare(after=230, runs=3, cv=0.4)))


@pytest.mark.parametrize("after", [185, 206, 212])
def test_the_p_value_is_the_doubt_at_which_the_bound_would_reach_nothing(after: float) -> None:
    comparison = compare(after=after)
    p_value = found_in(judged(comparison, Plan(confidence=0.95))).p_value
    if after < 200:
        assert 0.99 < p_value <= 1
    else:
        assert low_of(judged(comparison, Plan(confidence=1 - p_value))) == pytest.approx(0, abs=0.05)


def test_a_greatest_value_has_no_limit_of_a_change_and_no_changes_of_regions() -> None:
    found = found_in(judged(compare(rule=Rule(metric="ttfb_ms", max_value=300))))
    assert (found.limit_pct, found.regions) == (None, ())


@pytest.mark.parametrize(("after", "verdict"), [(270, "inconclusive"), (282, "fail")])
def test_less_than_half_of_a_wide_limit_is_no_failure_however_sure(after: float, verdict: str) -> None:
    result = judged(compare(after=after, rule=Rule(metric="ttfb_ms", max_change_pct=100), runs=4, cv=0.4))
    found = found_in(result)
    assert found.pct is not None
    assert 0 < found.pct.low < 100 < found.pct.high
    assert result.verdict == verdict


def test_a_region_has_the_bounds_that_it_would_have_alone_and_batches_their_deviation() -> None:
    case, quantiles = case_of(compare(after=230), PLAN), Quantiles(low=2.5, high=2.0)
    part, freedom = replace(case.estimate.regions[0], hidden_variance=0.003), case.estimate.freedom
    found = found_of(replace(case, estimate=replace(case.estimate, regions=(part,))), quantiles, Verdict.FAIL)
    (region,) = found.regions
    low = part.shift - students(2.5, freedom) * (part.variance + 0.003) ** 0.5
    high = part.shift + students(2.0, freedom) * part.variance**0.5
    assert region.pct.low == pytest.approx(case.pct_at(low))
    assert region.pct.high == pytest.approx(case.pct_at(high))
    assert found.batch_sd == pytest.approx(case.estimate.noise.batch_variance**0.5, rel=1e-3)


def test_by_what_may_have_grown_all_day_without_the_release_the_lower_bound_lies_further_below() -> None:
    case = case_of(compare(after=220), PLAN)
    drifting = replace(case, already=Already(perhaps=0.05))
    assert drifting.too_high(2.0) == pytest.approx(case.too_high(2.0) + 0.05)
    assert drifting.too_low(2.0) == case.too_low(2.0)
    quantiles = Quantiles(low=2.0, high=2.0)
    assert verdict_of(case, quantiles)[0] is Verdict.FAIL
    assert verdict_of(replace(case, already=Already(perhaps=0.09)), quantiles)[0] is Verdict.INCONCLUSIVE


def test_more_runs_do_not_decide_what_may_have_grown_by_itself() -> None:
    """Of what is left runs can show less; where the day may have brought all of it they can show nothing."""
    case, quantiles = case_of(compare(after=236, runs=3, cv=0.15), PLAN), Quantiles(low=2.0, high=2.0)

    def extra(drift: float) -> int | None:
        return found_of(
            replace(case, already=Already(perhaps=drift)), quantiles, Verdict.INCONCLUSIVE
        ).extra_runs_to_decide

    known = extra(0.0), extra(0.03)
    assert known[0] is not None
    assert known[1] is not None
    assert known[0] < known[1]
    assert extra(0.3) is None


@pytest.mark.parametrize("known", ["day_before", "hour_before"])
@pytest.mark.parametrize(("part", "is_excused"), [(0.49, False), (0.51, True)])
def test_what_was_there_without_the_release_excuses_it_from_half_of_the_change_on(
    known: str, part: float, is_excused: bool
) -> None:
    case = case_of(compare(after=300), PLAN)
    already = {"day_before": 0.0, "hour_before": 0.0, known: part * case.estimate.shift}
    excused = replace(case, already=Already(**already))
    assert bool(excused.excuse) is is_excused
    verdict, reason = verdict_of(excused, Quantiles(low=2.0, high=2.0))
    assert (verdict, reason) == ((Verdict.INCONCLUSIVE, excused.excuse) if is_excused else (Verdict.FAIL, ""))


def test_what_history_may_hide_takes_more_runs_and_in_the_end_no_number_of_them_decides() -> None:
    case, quantiles = case_of(compare(after=236, runs=3, cv=0.15), PLAN), Quantiles(low=2.0, high=2.0)

    def extra(hidden: float) -> int | None:
        estimate = replace(case.estimate, hidden_variance=hidden)
        return found_of(replace(case, estimate=estimate), quantiles, Verdict.INCONCLUSIVE).extra_runs_to_decide

    few, more = extra(0.0), extra(0.0025)
    assert few is not None
    assert more is not None
    assert few < more
    assert extra(0.05) is None


def test_a_change_below_the_floor_is_decided_by_passing_alone() -> None:
    case, quantiles = case_of(compare(after=212, runs=3, cv=0.1), PLAN), Quantiles(low=2.0, high=2.0)

    def extra(floor: float, limit: float) -> int | None:
        asked = replace(case, floor=floor, limit=limit)
        return found_of(asked, quantiles, Verdict.INCONCLUSIVE).extra_runs_to_decide

    shift = case.estimate.shift
    assert extra(shift, shift + 0.001) is not None
    assert extra(shift + 0.0001, shift + 0.001) is None


@pytest.mark.parametrize(("min_change", "floor_ms"), [(0, 1), (0.2, 0.2), (5, 5)])
def test_from_nothing_half_of_what_is_allowed_is_no_failure_either(min_change: float, floor_ms: float) -> None:
    rule = Rule(metric="dns_ms", max_change_pct=10, min_change=min_change)
    nothing: dict[str, Sequence[float | None]] = {region: [0.0] * 60 for region in REGIONS}
    case = case_of(Comparison(rule=rule, history=nothing, fresh=nothing), PLAN)
    assert case.value_at(case.floor) == pytest.approx(floor_ms)
    assert case.value_at(case.limit) == pytest.approx(min_change or 1)


def test_of_half_a_millisecond_per_cents_are_of_that_and_not_of_what_nothing_counts_as() -> None:
    found = found_in(judged(compare(0.5, 1.0, rule=Rule(metric="dns_ms", max_change_pct=10))))
    assert found.pct is not None
    assert found.pct.value == pytest.approx(100, abs=5)


@pytest.mark.parametrize("share", [0, 0.12])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_it_asks_for_as_many_runs_of_all_regions_together_as_decide(count: int, share: float) -> None:
    def after(runs: int) -> Judged:
        history, fresh = evenly(200, 0.22), slower_by(share, runs)
        asked = REGIONS[:count]
        comparison = Comparison(
            rule=TEN, history={one: history[one] for one in asked}, fresh={one: fresh[one] for one in asked}
        )
        return judged(comparison, Plan(confidence=0.95))

    extra = found_in(after(4)).extra_runs_to_decide
    assert extra is not None
    each = extra // count
    assert after(4 + each + 1).verdict is not Verdict.INCONCLUSIVE
    assert after(4 + each // 2).verdict is Verdict.INCONCLUSIVE


def slower_by(share: float, runs: int) -> dict[str, Sequence[float | None]]:
    return {
        region: [value and value * (1 + share) for value in values] for region, values in evenly(runs, 0.22).items()
    }


def test_the_runs_that_it_asks_for_of_a_slower_site_show_that_it_is() -> None:
    plan = Plan(confidence=0.95)
    few = judged(Comparison(rule=TEN, history=evenly(200, 0.22), fresh=slower_by(0.12, 4)), plan)
    assert few.verdict is Verdict.INCONCLUSIVE
    extra = found_in(few).extra_runs_to_decide
    assert extra is not None
    assert 3 <= extra < 60
    enough = 5 + extra // len(REGIONS)
    more = Comparison(rule=TEN, history=evenly(200, 0.22), fresh=slower_by(0.12, enough))
    assert judged(more, plan).verdict is Verdict.FAIL
    assert judged(replace(more, fresh=slower_by(0.12, 5)), plan).verdict is Verdict.INCONCLUSIVE
