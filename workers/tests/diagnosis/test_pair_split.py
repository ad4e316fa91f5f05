"""Shares of a difference by phase: whole numbers that add up, of the pairs that stand for it."""

from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.pair.samples import Parts
from workers.diagnosis.pair.split import mean_parts, split, typical

TIMES = st.integers(-60_000_000, 60_000_000)
PARTS = st.lists(st.builds(Parts, TIMES, TIMES, TIMES, TIMES, TIMES), min_size=1, max_size=24)


def middle_of(parts: Sequence[Parts]) -> list[Parts]:
    """By counting, not by cutting: all but a quarter of them on either side."""
    ranked = sorted(parts, key=sum)
    return [one for place, one in enumerate(ranked) if len(ranked) // 4 <= place < len(ranked) - len(ranked) // 4]


def exact_means(parts: Sequence[Parts]) -> list[Fraction]:
    return [Fraction(sum(column), len(parts)) for column in zip(*parts, strict=True)]


@given(PARTS)
def test_each_phase_of_a_usual_exchange_is_its_mean_to_a_microsecond_and_they_add_up(parts: list[Parts]) -> None:
    means = exact_means(middle_of(parts))
    told = typical(parts)
    assert told.total == pytest.approx(fmean(one.total for one in middle_of(parts)), rel=0, abs=0.501)
    assert all(abs(one - mean) < 1 for one, mean in zip(told, means, strict=True))


@given(PARTS)
def test_the_mean_of_several_splits_is_told_to_a_microsecond_and_adds_up(splits: list[Parts]) -> None:
    total = round(fmean(one.total for one in splits))
    told = mean_parts(splits, total)
    assert told.total == total
    assert all(abs(one - mean) < 1 for one, mean in zip(told, exact_means(splits), strict=True))


@given(PARTS, TIMES)
def test_shares_add_up_whatever_the_difference_is(parts: list[Parts], total: int) -> None:
    assert split(parts, total).total == total


@pytest.mark.parametrize("wild", [-900_000, 900_000])
def test_a_quarter_of_wild_pairs_on_either_side_has_no_part_in_it(wild: int) -> None:
    calm = [Parts(wait=8_000), Parts(wait=9_000), Parts(wait=11_000), Parts(wait=12_000)]
    assert split([Parts(tls=wild), Parts(tls=wild), *calm, Parts(tls=-wild), Parts(tls=-wild)], 10_000) == Parts(
        wait=10_000
    )


def test_what_the_middle_half_leaves_goes_by_how_far_phases_lie_from_their_own_middle() -> None:
    """Connecting varies by 100 us on average and the wait by 300: one has a quarter of it, the other the rest."""
    steps = zip((-200, 0, 0, 200), (-300, -300, 300, 300), strict=True)
    apart = [Parts(connect=1_000 + one, wait=5_000 + other) for one, other in steps]
    outer = [Parts(wait=-90_000), Parts(wait=90_000)]
    assert split([outer[0], *apart, outer[1]], 6_400) == Parts(connect=1_100, wait=5_300)


def test_where_all_phases_are_always_the_same_it_goes_by_their_size() -> None:
    assert split([Parts(connect=1_000, wait=-3_000)] * 4, -1_000) == Parts(connect=1_250, wait=-2_250)


def test_of_pairs_that_do_not_differ_a_difference_is_put_down_to_the_wait() -> None:
    assert split([Parts()] * 4, 7) == Parts(wait=7)
