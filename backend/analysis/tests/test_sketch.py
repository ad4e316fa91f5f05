"""Counts that stand for values: right within one per cent."""

from collections import Counter
from math import ceil, floor, log
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.sketch import GAMMA, RELATIVE_ERROR, median, quantile

values = st.lists(st.integers(min_value=2, max_value=600_000_000), min_size=1, max_size=200)


def sketch_of(numbers: list[int]) -> Counter[int]:
    """As rollups count them."""
    return Counter(ceil(log(number) / log(GAMMA)) for number in numbers)


@given(values, st.sampled_from([0.0, 0.5, 0.75, 0.95, 1.0]))
def test_every_quantile_is_within_one_per_cent_of_the_true_one(numbers: list[int], q: float) -> None:
    true = sorted(numbers)[floor(q * (len(numbers) - 1))]
    read = quantile(sketch_of(numbers), q)
    assert read is not None
    assert abs(read - true) <= RELATIVE_ERROR * true * 1.000001


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None


def test_what_took_no_time_is_read_back_as_about_a_microsecond() -> None:
    read = quantile({0: 3}, 0.5)
    assert read is not None
    assert abs(read - 1) <= RELATIVE_ERROR


@given(values)
def test_the_median_is_in_the_middle_to_a_bucket(numbers: list[int]) -> None:
    read = median(sketch_of(numbers))
    assert read is not None
    true = sorted(numbers)
    low, high = true[(len(true) - 1) // 2], true[len(true) // 2]
    assert low * (1 - 2 * RELATIVE_ERROR) <= read[0] <= high * (1 + 2.1 * RELATIVE_ERROR)


def test_the_median_of_two_lies_between_them() -> None:
    read = median(sketch_of([100, 400]))
    assert read is not None
    assert read[0] == pytest.approx(200, rel=RELATIVE_ERROR)


def test_a_median_among_many_buckets_is_known_better_than_to_one() -> None:
    numbers = [round(200_000 * NormalDist(1, 0.1).inv_cdf((place + 0.5) / 999)) for place in range(999)]
    for shift in range(0, 4_000, 250):
        read = median(sketch_of([number + shift for number in numbers]))
        assert read is not None
        assert abs(read[0] - 200_000 - shift) <= read[1] <= 0.001 * read[0]


def test_the_median_of_equal_values_may_be_off_by_one_per_cent() -> None:
    read = median(sketch_of([1_000] * 5))
    assert read is not None
    assert abs(read[0] - 1_000) <= read[1] == pytest.approx(10, rel=0.02)


@given(values, st.integers(min_value=0, max_value=200), st.booleans())
def test_a_median_is_off_by_no_more_than_it_says_wherever_the_unseen_values_lie(
    numbers: list[int], unseen: int, above: bool
) -> None:
    unseen = min(unseen, len(numbers) - 1)
    read = median(sketch_of(numbers), unseen)
    assert read is not None
    value, off = read
    all_values = sorted(numbers + [10**9 if above else 1] * unseen)
    low, high = all_values[(len(all_values) - 1) // 2], all_values[len(all_values) // 2]
    assert (value - off) * (1 - 2.1 * RELATIVE_ERROR) <= high
    assert (value + off) * (1 + 2.1 * RELATIVE_ERROR) >= low


def test_few_unseen_values_say_little_of_a_median_and_many_leave_it_open() -> None:
    numbers = [round(200_000 * NormalDist(1, 0.1).inv_cdf((place + 0.5) / 1_000)) for place in range(1_000)]
    (none, few, many) = (median(sketch_of(numbers), unseen) or (0, 0) for unseen in (0, 10, 500))
    assert none[0] == few[0] == many[0] == pytest.approx(200_000, rel=0.001)
    # Normal quantiles of 505 and of 750 in a thousand.
    assert few[1] - none[1] == pytest.approx(0.0125 * 20_000, rel=0.05)
    assert many[1] - none[1] == pytest.approx(0.6745 * 20_000, rel=0.05)


def test_nothing_has_no_median_and_what_took_no_time_took_none() -> None:
    assert median({}) is None
    assert median({0: 3}) == (0, 0)
