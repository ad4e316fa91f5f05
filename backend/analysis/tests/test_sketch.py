"""Counts that stand for values: right within one per cent."""

from collections import Counter
from math import ceil, floor, log

from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.sketch import GAMMA, RELATIVE_ERROR, quantile

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
