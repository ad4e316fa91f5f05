"""The robust middle and its interval, against another's arithmetic and by its own promises."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from workers.diagnosis.pair.signed_rank import EXACT_UP_TO, PairedDifferences, stands_apart

VALUES = st.lists(st.integers(-10_000_000, 10_000_000), min_size=1, max_size=60)


def test_the_middle_is_the_median_of_all_pairwise_means() -> None:
    assert PairedDifferences([1, 5, 2]).middle == 2.5
    assert PairedDifferences([7]).middle == 7


@pytest.mark.parametrize("count", [6, 10, 20, 35, 50])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_interval_holds_just_those_shifts_that_the_exact_test_would_not_reject(
    count: int, confidence: float
) -> None:
    random = Random(f"{count} {confidence}")
    values = [random.gauss(3, 5) for _ in range(count)]
    interval = PairedDifferences(values).interval(confidence)
    if interval is None:
        assert wilcoxon(values, method="exact").pvalue >= 1 - confidence or 2 ** (1 - count) > 1 - confidence
        return
    for edge, inwards in ((interval[0], 1e-6), (interval[1], -1e-6)):
        inside, outside = ([value - edge - step for value in values] for step in (inwards, -inwards))
        assert wilcoxon(inside, method="exact").pvalue > 1 - confidence
        assert wilcoxon(outside, method="exact").pvalue <= 1 - confidence


@pytest.mark.parametrize("count", [EXACT_UP_TO + 1, 200])
def test_the_normal_curve_takes_over_where_counting_ends(count: int) -> None:
    random = Random(count)
    values = [random.gauss(0, 5) for _ in range(count)]
    interval = PairedDifferences(values).interval(0.95)
    assert interval is not None
    outside = [value - interval[0] + 1e-6 for value in values]
    assert wilcoxon(outside, method="asymptotic", correction=True).pvalue == pytest.approx(0.05, abs=0.002)


@pytest.mark.parametrize(("confidence", "used"), [(0.95, 0.97), (0.99, 0.89), (0.9995, 0.66), (0.9999, 0.48)])
@pytest.mark.parametrize("count", [EXACT_UP_TO + 1, EXACT_UP_TO + 2, 70, 130])
def test_beyond_counting_an_interval_is_a_little_surer_than_it_says_and_never_less(
    count: int, confidence: float, used: float
) -> None:
    random = Random(count)
    values = [random.gauss(0, 5) for _ in range(count)]
    interval = PairedDifferences(values).interval(confidence)
    assert interval is not None
    outside = [value - interval[0] + 1e-6 for value in values]
    assert used <= wilcoxon(outside, method="exact").pvalue / (1 - confidence) <= 1


def test_too_few_pairs_have_no_interval() -> None:
    assert PairedDifferences([1, 2, 3, 4, 5]).interval(0.95) is None
    assert PairedDifferences([1, 2, 3, 4, 5, 6]).interval(0.95) == (1, 6)


@given(VALUES)
def test_the_middle_lies_within_every_interval_and_within_the_values(values: list[int]) -> None:
    differences = PairedDifferences(values)
    assert min(values) <= differences.middle <= max(values)
    wider = (float("-inf"), float("inf"))
    for confidence in (0.999, 0.99, 0.95, 0.8):
        interval = differences.interval(confidence)
        if interval is not None:
            assert wider[0] <= interval[0] <= differences.middle <= interval[1] <= wider[1]
            wider = interval


@given(VALUES, st.integers(-1000, 1000))
def test_a_shift_of_all_pairs_shifts_the_answer(values: list[int], shift: int) -> None:
    moved = PairedDifferences([value + shift for value in values])
    plain = PairedDifferences(values)
    assert moved.middle == plain.middle + shift
    interval, other = plain.interval(0.95), moved.interval(0.95)
    assert (interval is None) == (other is None)
    if interval is not None and other is not None:
        assert other == (interval[0] + shift, interval[1] + shift)


def test_one_wild_pair_hardly_moves_the_middle() -> None:
    random = Random(4)
    values = [random.gauss(10, 1) for _ in range(25)]
    assert abs(PairedDifferences([*values, 5_000]).middle - PairedDifferences(values).middle) < 0.5


@given(VALUES, st.sampled_from([0.9, 0.95, 0.99]))
def test_what_stands_apart_has_an_interval_on_one_side_of_zero(values: list[int], confidence: float) -> None:
    interval = PairedDifferences(values).interval(confidence)
    assert stands_apart(values, confidence) is (interval is not None and (interval[0] > 0 or interval[1] < 0))
