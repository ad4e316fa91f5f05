"""What a gate says of series whose answer is plain to see."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest

from backend.analysis.gate import judge
from backend.analysis.gate_metrics import OFFSETS
from backend.analysis.gate_types import Comparison, Judged, Plan, Rule, Verdict

REGIONS = ("fra", "iad", "sin")
PLAN = Plan(confidence=0.99, looks=1, planned_looks=3)
TEN = Rule(metric="ttfb_ms", max_change_pct=10)


def series(level: float, count: int, *, cv: float = 0.05, seed: int = 1) -> dict[str, Sequence[float | None]]:
    rng = np.random.default_rng(seed)
    return {region: list(level * np.exp(rng.normal(0, cv, count))) for region in REGIONS}


def compare(
    before: float = 200, after: float = 200, *, rule: Rule = TEN, runs: int = 12, cv: float = 0.05
) -> Comparison:
    return Comparison(rule=rule, history=series(before, 60, cv=cv), fresh=series(after, runs, cv=cv, seed=2))


def judged(comparison: Comparison, plan: Plan = PLAN) -> Judged:
    return judge([comparison], plan).rules[0]


def test_an_unchanged_site_passes_and_its_change_is_about_nothing() -> None:
    found = judged(compare()).found
    assert found is not None
    assert found.pct is not None
    assert abs(found.pct.value) < 3
    assert found.pct.low < 0 < found.pct.high < 10
    assert found.before is not None
    assert (found.before.runs, found.after.runs, found.extra_runs_to_decide) == (180, 36, 0)
    assert found.before.typical == pytest.approx(200, rel=0.02)


def test_a_third_slower_fails_and_says_by_how_much_and_where() -> None:
    result = judged(compare(after=266))
    assert result.verdict is Verdict.FAIL
    assert result.found is not None
    assert result.found.pct is not None
    assert result.found.pct.value == pytest.approx(33, abs=3)
    assert result.found.change == pytest.approx(66, abs=6)
    assert result.found.p_value < 0.001
    assert [part.region for part in result.found.regions] == list(REGIONS)
    assert all(part.pct.low < 33 < part.pct.high for part in result.found.regions)


def test_getting_faster_passes() -> None:
    assert judged(compare(after=120)).verdict is Verdict.PASS


def test_too_much_noise_is_inconclusive_and_says_how_many_runs_would_help() -> None:
    result = judged(compare(runs=3, cv=0.2))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.found is not None
    extra = result.found.extra_runs_to_decide
    assert extra is None or extra > 0
    assert result.found.smallest_detectable_pct > 10


def evenly(count: int, cv: float) -> dict[str, Sequence[float | None]]:
    """A sample that is as its distribution is, so that nothing but its size matters."""
    places = [NormalDist().inv_cdf((place + 0.5) / count) for place in range(count)]
    return {region: list(200 * np.exp(cv * np.random.default_rng(1).permutation(places))) for region in REGIONS}


def test_the_runs_that_it_asks_for_do_decide_when_nothing_else_changes() -> None:
    plan = Plan(confidence=0.95)
    few = judged(Comparison(rule=TEN, history=evenly(200, 0.22), fresh=evenly(4, 0.22)), plan)
    assert few.verdict is Verdict.INCONCLUSIVE
    assert few.found is not None
    assert few.found.extra_runs_to_decide is not None
    assert 3 <= few.found.extra_runs_to_decide < 300
    enough = 5 + few.found.extra_runs_to_decide // len(REGIONS)
    more = judged(Comparison(rule=TEN, history=evenly(200, 0.22), fresh=evenly(enough, 0.22)), plan)
    assert more.verdict is Verdict.PASS


def test_when_batches_alone_vary_more_than_the_limit_no_number_of_runs_decides() -> None:
    narrow = Rule(metric="ttfb_ms", max_change_pct=1)
    result = judged(compare(rule=narrow))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.found is not None
    assert result.found.extra_runs_to_decide is None


def test_a_change_too_small_to_count_passes_however_large_it_is_in_per_cent() -> None:
    rule = Rule(metric="tls_ms", max_change_pct=10, min_change=10)
    slower = compare(8, 11, rule=rule)
    assert judged(slower).verdict is Verdict.PASS
    assert judged(compare(8, 30, rule=rule)).verdict is Verdict.FAIL


def test_a_phase_that_took_no_time_may_take_as_much_as_does_not_count() -> None:
    rule = Rule(metric="dns_ms", max_change_pct=10, min_change=5)
    cached: dict[str, list[float | None]] = {region: [0.0] * 60 for region in REGIONS}
    fresh: dict[str, list[float | None]] = {region: [0.0] * 6 for region in REGIONS}
    assert judged(Comparison(rule=rule, history=cached, fresh=fresh)).verdict is Verdict.PASS
    slow: dict[str, list[float | None]] = {region: [40.0] * 6 for region in REGIONS}
    assert judged(Comparison(rule=rule, history=cached, fresh=slow)).verdict is Verdict.FAIL


@pytest.mark.parametrize(("level", "verdict"), [(1_800, "pass"), (2_480, "inconclusive"), (3_300, "fail")])
def test_a_greatest_value_is_judged_with_the_same_care(level: float, verdict: str) -> None:
    rule = Rule(metric="lcp_ms", max_value=2_500)
    result = judged(compare(level, level, rule=rule))
    assert result.verdict == verdict
    assert result.found is not None
    assert (result.found.pct, result.found.before) == (None, None)
    assert result.found.value.low < level < result.found.value.high


def test_a_greatest_value_needs_no_history() -> None:
    rule = Rule(metric="lcp_ms", max_value=2_500)
    fresh = series(1_000, 6)
    assert judged(Comparison(rule=rule, history={}, fresh=fresh)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("history", "fresh", "reason"),
    [
        (60, 2, "2 fresh runs in a region; at least 3 are needed."),
        (9, 6, "at most 9 earlier runs to compare with in fra, iad, sin; at least 10 are needed."),
    ],
)
def test_too_few_runs_are_an_error_and_no_verdict(history: int, fresh: int, reason: str) -> None:
    result = judged(Comparison(rule=TEN, history=series(200, history), fresh=series(200, fresh)))
    assert (result.verdict, result.reason, result.found) == (Verdict.ERROR, reason, None)


@pytest.mark.parametrize(
    ("earlier", "fresh", "reason"),
    [
        ((5, 7, 10), (3, 3, 3), "at most 7 earlier runs to compare with in fra, iad; at least 10 are needed."),
        ((60, 60, 60), (2, 1, 3), "fewer than 3 fresh runs in fra, iad."),
    ],
)
def test_of_what_too_little_was_measured_is_said_of_the_regions_that_are_short_of_it(
    earlier: tuple[int, ...], fresh: tuple[int, ...], reason: str
) -> None:
    before, after = (
        {region: values[:count] for (region, values), count in zip(series(200, 60).items(), counts, strict=True)}
        for counts in (earlier, fresh)
    )
    assert judged(Comparison(rule=TEN, history=before, fresh=after)).reason == reason


def test_nothing_measured_at_all_is_an_error_and_so_is_nothing_to_compare_with() -> None:
    nothing = judged(Comparison(rule=TEN, history={}, fresh={}))
    assert (nothing.verdict, nothing.reason) == (Verdict.ERROR, "0 fresh runs in a region; at least 3 are needed.")
    alone = judged(Comparison(rule=TEN, history={}, fresh=series(200, 6)))
    assert (alone.verdict, alone.reason[:44]) == (Verdict.ERROR, "at most 0 earlier runs to compare with in fr")


def test_a_third_of_the_runs_failing_is_an_error_less_is_only_told() -> None:
    fresh = {region: [*values[:6], None, None] for region, values in series(200, 6).items()}
    result = judged(Comparison(rule=TEN, history=series(200, 60), fresh=fresh))
    assert result.found is not None
    assert result.found.failed == 6
    fresh = {region: [*values, None] for region, values in fresh.items()}
    result = judged(Comparison(rule=TEN, history=series(200, 60), fresh=fresh))
    assert (result.verdict, result.reason) == (Verdict.ERROR, "9 of 27 runs failed; at most 30 % may.")


def test_one_region_without_enough_is_left_out_but_not_most_of_them() -> None:
    fresh = series(200, 12)
    result = judged(Comparison(rule=TEN, history=series(200, 60), fresh=fresh | {"sin": [200.0]}))
    assert result.found is not None
    assert (result.verdict, result.found.left_out) == (Verdict.PASS, ("sin",))
    both = fresh | {"sin": [200.0], "iad": []}
    assert judged(Comparison(rule=TEN, history=series(200, 60), fresh=both)).verdict is Verdict.ERROR


@pytest.mark.parametrize(("earlier", "is_error"), [(10, False), (9, True)])
def test_ten_earlier_runs_of_a_region_are_enough(earlier: int, is_error: bool) -> None:
    history, fresh = series(200, earlier, cv=0.01), series(200, 12, cv=0.01)
    result = judged(Comparison(rule=TEN, history=history, fresh=fresh))
    assert (result.verdict is Verdict.ERROR) is is_error
    greatest = Rule(metric="ttfb_ms", max_value=300)
    assert judged(Comparison(rule=greatest, history=history, fresh=fresh)).verdict is Verdict.PASS


def test_half_of_the_regions_are_enough() -> None:
    fresh = {region: values for region, values in series(200, 12).items() if region != "sin"}
    result = judged(Comparison(rule=TEN, history=series(200, 60), fresh=fresh | {"iad": [200.0]}))
    assert result.found is not None
    assert (result.verdict, result.found.left_out) == (Verdict.PASS, ("iad",))


def test_of_several_rules_the_worst_decides_and_a_warning_never() -> None:
    warns = Rule(metric="ttfb_ms", max_change_pct=10, decides=False)
    assert judge([compare(), compare(after=300, rule=warns)], PLAN).verdict is Verdict.PASS
    assert judge([compare(), compare(runs=3, cv=0.3)], PLAN).verdict is Verdict.INCONCLUSIVE
    nothing = Comparison(rule=TEN, history={}, fresh={})
    assert judge([compare(), nothing], PLAN).verdict is Verdict.ERROR
    assert judge([nothing, compare(after=300)], PLAN).verdict is Verdict.FAIL


def test_with_many_rules_each_must_be_surer_to_fail_but_not_to_pass() -> None:
    alone = judge([compare()], PLAN).rules[0].found
    among = judge([compare()] * 6, PLAN).rules[-1].found
    assert alone is not None
    assert among is not None
    assert alone.pct is not None
    assert among.pct is not None
    assert among.pct.low < alone.pct.low
    assert among.pct.high == alone.pct.high


def test_one_outlier_changes_little() -> None:
    spiked = series(200, 12) | {"fra": [*series(200, 11)["fra"], 6_000.0]}
    found = judged(Comparison(rule=TEN, history=series(200, 60), fresh=spiked)).found
    assert found is not None
    assert found.pct is not None
    assert abs(found.pct.value) < 4


@pytest.mark.parametrize(("confidence", "looks", "planned"), [(0.5, 1, 1), (1.0, 1, 1), (0.9, 2, 1), (0.9, 1, 9)])
def test_a_plan_that_makes_no_sense_is_refused(confidence: float, looks: int, planned: int) -> None:
    with pytest.raises(ValueError, match=r"confidence|look"):
        Plan(confidence=confidence, looks=looks, planned_looks=planned)


def test_a_rule_is_of_one_kind() -> None:
    with pytest.raises(ValueError, match="one of"):
        Rule(metric="ttfb_ms")


def test_what_is_added_to_a_short_phase_before_its_logarithm_is_in_no_number_that_is_told() -> None:
    found = judged(compare(8, 12, rule=Rule(metric="tls_ms", max_change_pct=20))).found
    assert found is not None
    assert found.before is not None
    assert found.pct is not None
    assert found.before.typical == pytest.approx(8, rel=0.03)
    assert found.after.typical == pytest.approx(12, rel=0.03)
    assert found.pct.value == pytest.approx(50, abs=5)
    assert found.limit_pct == pytest.approx(20)


def test_how_much_a_short_phase_scatters_and_what_can_be_told_of_it_are_parts_of_the_phase_itself() -> None:
    """Of 2 ms a twentieth is 0.1, although it is the logarithm of 3 ms that is taken."""
    found = judged(compare(2, 2.2, rule=Rule(metric="tls_ms", max_change_pct=10))).found
    assert found is not None
    assert found.before is not None
    assert found.pct is not None
    assert found.robust_cv == pytest.approx(0.05, rel=0.2)
    # As far as the lower bound lies below the change, of 3 ms; told is its part of 2.
    low, changed = (1 + pct / 150 for pct in (found.pct.low, found.pct.value))
    assert 1.5 * (changed / low - 1) == pytest.approx(found.smallest_detectable_pct / 100, rel=0.001)


def test_of_what_took_no_time_the_change_is_told_in_parts_of_what_counts_as_nothing() -> None:
    """A lookup of 0 ms counts as one of a millisecond, and not as nothing at all."""
    rule = Rule(metric="dns_ms", max_change_pct=10, min_change=5)
    cached: dict[str, list[float | None]] = {region: [0.0] * 60 for region in REGIONS}
    slow: dict[str, list[float | None]] = {region: [40.0] * 6 for region in REGIONS}
    found = judged(Comparison(rule=rule, history=cached, fresh=slow)).found
    assert found is not None
    assert found.pct is not None
    assert found.pct.value == pytest.approx(4_000)
    assert found.limit_pct == pytest.approx(500)


def test_a_slowdown_that_is_sure_and_less_than_what_counts_is_no_failure() -> None:
    """12 % slower are 25 ms, of which 30 do not count; whether it is more cannot be told."""
    rule = Rule(metric="ttfb_ms", max_change_pct=10, min_change=30)
    result = judged(compare(200, 224, rule=rule))
    assert result.found is not None
    assert result.found.pct is not None
    assert 0 < result.found.pct.low < result.found.pct.value < 15 < result.found.pct.high
    assert result.verdict is Verdict.INCONCLUSIVE
    assert judged(compare(200, 240, rule=rule)).verdict is Verdict.FAIL


@pytest.mark.parametrize(("misses", "verdict"), [(6, "inconclusive"), (0, "fail")])
def test_runs_as_slow_as_history_has_them_by_chance_are_no_failure_of_the_release(misses: int, verdict: str) -> None:
    """Six of sixty runs missed the cache, which takes twice as long: so do all three in one of two regions now."""
    before: list[float | None] = [200.0 * (2 if n % 10 < misses / 6 else 1) + n % 7 for n in range(60)]
    fresh: dict[str, list[float | None]] = {"fra": [400.0, 401.0, 399.0], "iad": [201.0, 203.0, 204.0]}
    comparison = Comparison(rule=TEN, history={"fra": before, "iad": before}, fresh=fresh)
    result = judged(comparison, Plan(confidence=0.95, looks=1, planned_looks=3))
    assert result.verdict == Verdict(verdict)
    assert result.reason.startswith("So many of the earlier runs were as high") is (misses > 0)


def test_the_smallest_change_that_is_told_from_none_is_as_far_as_the_lower_bound_lies_below() -> None:
    found = judged(compare(after=230)).found
    assert found is not None
    assert found.pct is not None
    told = (1 + found.pct.low / 100) * (1 + found.smallest_detectable_pct / 100)
    assert told == pytest.approx(1 + found.pct.value / 100, rel=1e-3)
    assert 0.003 < found.batch_sd < 0.05
    assert found.robust_cv == pytest.approx(0.05, rel=0.2)


def test_more_than_half_of_the_limit_fails_where_it_is_sure_and_the_limit_may_be_passed() -> None:
    result = judged(compare(after=217, cv=0.03, runs=6))
    assert result.verdict is Verdict.FAIL
    assert result.found is not None
    assert result.found.pct is not None
    assert result.found.pct.low > 0
    assert 5 < result.found.pct.value < 10 < result.found.pct.high


def test_a_greatest_value_is_asked_of_the_second_address_alone() -> None:
    greatest = Rule(metric="ttfb_ms", max_value=300)
    for value, verdict in ((200, Verdict.PASS), (400, Verdict.FAIL)):
        alone = Comparison(rule=greatest, history={}, fresh=series(value, 12), paired=True)
        assert judged(alone).verdict is verdict


@pytest.mark.parametrize(("greatest", "verdict"), [(5.5, Verdict.PASS), (4.5, Verdict.FAIL)])
def test_a_greatest_value_of_a_few_milliseconds_is_held_against_values_as_they_are(
    greatest: float, verdict: Verdict
) -> None:
    rule = Rule(metric="dns_ms", max_value=greatest)
    assert judged(Comparison(rule=rule, history={}, fresh=series(5, 12, cv=0.01))).verdict is verdict


@pytest.mark.parametrize("metric", OFFSETS)
def test_what_was_nothing_and_still_is_passes(metric: str) -> None:
    """Blocking time above all: most pages have none."""
    nothing = {region: [0.0] * 60 for region in REGIONS}
    fresh = {region: [0.0] * 12 for region in REGIONS}
    rule = Rule(metric=metric, max_change_pct=10)
    result = judged(Comparison(rule=rule, history=nothing, fresh=fresh))
    assert result.verdict is Verdict.PASS
    assert result.found is not None
    assert result.found.pct is not None
    assert result.found.pct.value == pytest.approx(0)
    assert result.found.limit_pct == pytest.approx(100)


@pytest.mark.parametrize(
    ("metric", "before", "after", "verdict"),
    [
        ("tbt_ms", 3, 9, "pass"),
        ("tbt_ms", 3, 17, "fail"),
        ("dns_ms", 0.4, 1.0, "pass"),
        ("connect_ms", 0.4, 1.9, "fail"),
        ("tls_ms", 3, 3.6, "pass"),
        ("download_ms", 3, 4.6, "fail"),
        ("cls", 0.001, 0.012, "pass"),
        ("cls", 0.001, 0.03, "fail"),
        # From here on per cents say more.
        ("tbt_ms", 400, 420, "pass"),
        ("tbt_ms", 400, 480, "fail"),
        # A first byte is never next to nothing.
        ("ttfb_ms", 3, 3.6, "fail"),
    ],
)
def test_what_is_next_to_nothing_may_grow_by_as_much_as_it_counts_as_at_least(
    metric: str, before: float, after: float, verdict: str
) -> None:
    rule = Rule(metric=metric, max_change_pct=10)
    assert judged(compare(before, after, rule=rule, cv=0.01)).verdict == verdict


def test_a_rule_that_says_from_which_change_on_it_counts_is_heard_also_of_what_is_next_to_nothing() -> None:
    assert judged(compare(2, 2.6, rule=Rule(metric="tls_ms", max_change_pct=10), cv=0.01)).verdict is Verdict.PASS
    finer = Rule(metric="tls_ms", max_change_pct=10, min_change=0.2)
    assert judged(compare(2, 2.6, rule=finer, cv=0.01)).verdict is Verdict.FAIL


@pytest.mark.parametrize(("blocked_ms", "verdict"), [(3.0, "pass"), (9.95, "inconclusive"), (12.0, "fail")])
def test_a_page_that_did_not_block_may_do_so_for_what_counts_as_nothing(blocked_ms: float, verdict: str) -> None:
    history = {region: [*[0.0] * 55, *[4.0] * 5] for region in REGIONS}
    fresh = {region: [blocked_ms] * 6 for region in REGIONS}
    result = judged(Comparison(rule=Rule(metric="tbt_ms", max_change_pct=10), history=history, fresh=fresh))
    assert result.verdict == verdict
    assert result.found is not None
    assert result.found.pct is not None
    assert result.found.pct.value == pytest.approx(10 * blocked_ms)
