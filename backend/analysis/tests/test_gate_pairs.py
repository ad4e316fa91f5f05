"""Two addresses measured in turns: what both share cancels out, and what cannot be said is not."""

from dataclasses import replace

import numpy as np
import pytest

from backend.analysis.gate import judge
from backend.analysis.gate_estimate import LOSS, Estimate, Sides
from backend.analysis.gate_pairs import difference_of
from backend.analysis.gate_types import Comparison, Judged, Plan, Rule, Values, Verdict
from backend.analysis.noise import Floats, scatter
from backend.analysis.tests.pairs_world import World, outcomes, values

GATES = 300
# Of 300 gates that are wrong in 2 (1) of a hundred, more than this many are wrong in one test of a thousand.
MOST_AT_TWO_PER_CENT, MOST_AT_ONE_PER_CENT = 14, 9
TEN = Rule(metric="ttfb_ms", max_change_pct=10)


def judged(before: Values, after: Values, *, rule: Rule = TEN, confidence: float = 0.95) -> Judged:
    comparison = Comparison(rule=rule, history=before, fresh=after, paired=True)
    (found,) = judge([comparison], Plan(confidence=confidence)).rules
    return found


def side(level: float, *, regions: int = 3, runs: int = 6, seed: int = 1) -> dict[str, list[float | None]]:
    rng = np.random.default_rng(seed)
    return {str(region): [level * float(np.exp(rng.normal(0, 0.02))) for _ in range(runs)] for region in range(regions)}


@pytest.mark.parametrize("cv", [0.05, 0.15, 0.30])
@pytest.mark.parametrize(
    "world",
    [
        World(cv=0, regions=5),
        World(cv=0, regions=1),
        World(cv=0, ramp=0.3),
        World(cv=0, drift_sd=0.1),
        World(cv=0, own_sd=0.007),
        World(cv=0, uneven=1.5),
    ],
    ids=["five regions", "one region", "getting slower", "drifting", "moods of their own", "uneven regions"],
)
def test_two_equal_addresses_hardly_ever_differ(cv: float, world: World) -> None:
    counts = outcomes(replace(world, cv=cv), GATES, seed=20_271)
    assert counts[Verdict.FAIL] <= MOST_AT_TWO_PER_CENT


@pytest.mark.parametrize("regions", [1, 5])
@pytest.mark.parametrize("cv", [0.05, 0.15, 0.30])
def test_an_address_that_is_a_fifth_slower_hardly_ever_passes(cv: float, regions: int) -> None:
    counts = outcomes(World(cv=cv, slower=0.2, regions=regions), GATES, seed=20_272)
    assert counts[Verdict.PASS] <= MOST_AT_ONE_PER_CENT


@pytest.mark.parametrize(("cv", "drift", "least_pct"), [(0.05, 0.1, 97), (0.15, 0.03, 93)])
def test_a_fifth_slower_is_found_whatever_drifts(cv: float, drift: float, least_pct: int) -> None:
    counts = outcomes(World(cv=cv, slower=0.2, drift_sd=drift), GATES, seed=20_273)
    assert counts[Verdict.FAIL] >= least_pct / 100 * GATES


def test_equal_quiet_addresses_pass_nearly_always() -> None:
    assert outcomes(World(cv=0.05), GATES, seed=20_274)[Verdict.PASS] >= 0.97 * GATES


def test_the_change_and_its_interval_are_those_of_the_differences() -> None:
    before, after = values(World(cv=0.03, slower=0.2, drift_sd=0.03, ramp=0.3), np.random.default_rng(5))
    found = judged(*({str(place): list(series) for place, series in enumerate(one)} for one in (before, after)))
    assert found.verdict is Verdict.FAIL
    assert found.found is not None
    assert found.found.pct is not None
    assert found.found.pct.value == pytest.approx(20, abs=2)
    assert found.found.pct.low < 20 < found.found.pct.high
    assert found.found.pct.high - found.found.pct.low < 8
    # Of single runs: the drift is not theirs.
    assert found.found.robust_cv == pytest.approx(0.03, rel=0.7)


def test_a_pair_of_which_one_run_failed_is_left_out_with_both() -> None:
    before, after = side(100.0), side(100.0, seed=2)
    before["0"][2] = None
    after["1"][4] = None
    found = judged(before, after).found
    assert found is not None
    assert (found.failed, found.after.runs) == (2, 3 * 6 - 2)


def test_a_run_without_its_other_half_does_not_count() -> None:
    before, after = side(100.0), side(100.0, seed=2)
    after["0"].append(9_000.0)
    found = judged(before, after).found
    assert found is not None
    assert found.after.runs == 18


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (side(100.0), {"0": [None] * 6, "1": [100.0] * 6, "2": [100.0] * 6}, "6 of 18 runs failed; at most 30 % may."),
        ({"0": [None] * 6, "1": [1.0] * 6, "2": [1.0] * 6}, side(100.0), "6 of 18 runs of the baseline failed"),
        (side(100.0, runs=2), side(100.0, runs=2), "2 pairs of runs in a region; at least 3 are needed."),
        ({}, side(100.0), "0 pairs of runs in a region"),
        ({}, {}, "0 pairs of runs in a region"),
        (side(100.0, regions=2, runs=3), side(100.0, regions=2, runs=3), "6 pairs of runs in all; at least 8 say"),
        (side(100.0, regions=1, runs=3), side(100.0, regions=1, runs=3), "3 pairs of runs in all; at least 7 say"),
    ],
)
def test_too_little_is_said_to_be(before: Values, after: Values, reason: str) -> None:
    found = judged(before, after)
    assert found.verdict is Verdict.ERROR
    assert found.reason.startswith(reason)


def test_a_region_with_too_few_pairs_is_left_out() -> None:
    before, after = side(100.0), side(100.0, seed=2)
    after["2"] = after["2"][:1]
    found = judged(before, after).found
    assert found is not None
    assert found.left_out == ("2",)


def test_half_of_the_regions_are_enough() -> None:
    before, after = side(100.0, regions=2, runs=12), side(100.0, regions=2, runs=12, seed=2)
    after["1"] = after["1"][:2]
    found = judged(before, after)
    assert (found.verdict, found.found is not None and found.found.left_out) == (Verdict.PASS, ("1",))


def test_where_most_regions_have_too_few_pairs_nothing_is_said() -> None:
    before, after = side(100.0, runs=12), side(100.0, runs=12, seed=2)
    after |= {"1": after["1"][:2], "2": after["2"][:1]}
    found = judged(before, after)
    assert (found.verdict, found.reason) == (Verdict.ERROR, "at most 2 pairs of runs in 1, 2; at least 3 are needed.")


def differing(*differences: Floats) -> Estimate:
    """Of regions with these differences within their pairs."""
    regions = tuple(map(str, range(len(differences))))
    before = tuple(np.zeros(values.size) for values in differences)
    return difference_of(Sides(regions=regions, history=before, fresh=differences, failed=0, left_out=()))


def test_a_difference_is_as_sure_as_its_pairs_and_as_what_two_servers_differ_by_on_their_own() -> None:
    found, own = differing(*[np.arange(-0.03, 0.035, 0.01)] * 2), 0.01**2
    # 28 squares of a hundredth in each region, known by six each.
    single = 2 * 28 / 12 * 0.01**2
    runs = LOSS * single / 7 / 2
    assert found.variance == pytest.approx(runs + own)
    assert found.freedom == pytest.approx((runs + own) ** 2 / (runs**2 / 12 + own**2 / 100))
    assert [part.variance for part in found.regions] == pytest.approx([LOSS * single / 7 + own] * 2)
    # A difference has the noise of two runs.
    assert found.noise.run_sds == pytest.approx([(single / 2) ** 0.5] * 2)


def test_one_difference_far_off_counts_as_four_deviations() -> None:
    steady = np.array([-0.01, 0.0, 0.01] * 4)
    near, far = (differing(np.append(steady, apart)) for apart in (0.2, 2.0))
    assert near.variance == pytest.approx(far.variance)
    limit = 4 * scatter(np.append(steady, 2.0))
    single = (8 * 0.01**2 + limit**2) / 12
    assert far.variance == pytest.approx(LOSS * single / 13 + 0.01**2)


@pytest.mark.parametrize(("count", "quiet", "wild"), [(8, 4 / 7, 4 / 7), (9, 0.25, 1)])
def test_a_region_of_nine_pairs_scatters_by_itself_and_by_no_less_than_half_of_what_all_do(
    count: int, quiet: float, wild: float
) -> None:
    """One has eight differences of a tenth to either side, be it beside a ninth of nothing, and the other none."""
    apart = np.array([0.1, -0.1] * 4 + [0.0] * (count - 8))
    found = differing(np.zeros(count), apart)
    told = [(part.variance - 0.01**2) * count / LOSS for part in found.regions]
    assert told == pytest.approx([quiet * 0.1**2, wild * 0.1**2])


def test_a_greatest_value_is_asked_of_the_fresh_side_alone() -> None:
    rule = Rule(metric="ttfb_ms", max_value=150)
    found = judged(side(400.0), side(100.0), rule=rule)
    assert found.verdict is Verdict.PASS
    assert judged(side(100.0), side(400.0), rule=rule).verdict is Verdict.FAIL


def test_more_runs_that_would_decide_are_counted_on_both_sides() -> None:
    before, after = side(100.0, runs=3), side(102.0, runs=3, seed=2)
    found = judged(before, after, rule=Rule(metric="ttfb_ms", max_change_pct=3), confidence=0.999)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.found is not None
    assert found.found.extra_runs_to_decide is None or found.found.extra_runs_to_decide % 2 == 0


@pytest.mark.parametrize("regions", [1, 2, 3])
def test_so_many_pairs_as_it_asks_for_of_all_regions_together_decide(regions: int) -> None:
    """Differences by turns of 8 % more and less, whose middle is nothing."""

    def with_pairs(count: int) -> Judged:
        before = {str(region): [100.0] * count for region in range(regions)}
        after = {region: [100 * float(np.exp((-1) ** n * 0.08)) for n in range(count)] for region in before}
        return judged(before, after, rule=Rule(metric="ttfb_ms", max_change_pct=3))

    few = with_pairs(7).found
    assert few is not None
    assert few.extra_runs_to_decide is not None
    each = few.extra_runs_to_decide // regions // 2
    assert with_pairs(7 + each + 1).verdict is Verdict.PASS
    assert with_pairs(7 + each // 2).verdict is Verdict.INCONCLUSIVE
