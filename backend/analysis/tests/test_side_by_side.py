"""Which of several sites is quickest: what is told, how surely, and what is left open."""

from collections.abc import Sequence
from math import log

import numpy as np
import pytest

from backend.analysis.noise import Floats
from backend.analysis.settings import DAY_S, HOUR_S
from backend.analysis.side_by_side import (
    Blocks,
    Middle,
    averaged,
    differences,
    held_together,
    is_enough,
    plan_of,
)
from backend.analysis.sketch import GAMMA, median

DAY, HOUR = int(DAY_S), int(HOUR_S)
WEEK = plan_of(7 * DAY, 60)
# Of 1,000 intervals that hold the truth 95 times in a hundred fewer do not once in a thousand times.
WORLDS, LEAST = 1_000, 0.928


def blocks(*values_us: float, error_us: float = 0) -> Blocks:
    return {place: Middle(value_us=value, error_us=error_us) for place, value in enumerate(values_us)}


def simulated(random: np.random.Generator, *, hours_alike: float, wave: float = 0.2, scatter: float = 0.12) -> Floats:
    """A week of runs each five minutes, in us: lognormal, by 8 % with what lasts for so long, with a wave a day."""
    count = 7 * 288
    keep = np.exp(-1 / 12 / hours_alike)
    fresh = random.normal(size=count) * (1 - keep**2) ** 0.5
    slow = np.empty(count)
    level = float(random.normal())
    for place in range(count):
        level = keep * level + fresh[place]
        slow[place] = level
    busy = wave * np.sin(2 * np.pi * np.arange(count) / 288)
    values: Floats = 200_000 * np.exp(0.08 * slow + scatter * random.normal(size=count) + busy)
    return values


def days_of(values_us: Floats, every: int = 1) -> Blocks:
    """The medians of its days, as rollups know them."""
    found = {}
    for day in range(7):
        buckets = np.ceil(np.log(values_us[day * 288 : (day + 1) * 288 : every]) / log(GAMMA)).astype(int)
        middle = median(dict(zip(*(part.tolist() for part in np.unique(buckets, return_counts=True)), strict=True)))
        assert middle is not None
        found[day] = Middle(value_us=middle[0], error_us=middle[1])
    return found


def share_that_hold(pairs: Sequence[tuple[Blocks, Blocks]]) -> float:
    """Of two sites that are alike, how many intervals hold nothing."""
    found = [differences(first, {"other": second})["other"] for first, second in pairs]
    return sum(one.low_us <= 0 <= one.high_us for one in found) / len(found)


@pytest.mark.parametrize("hours_alike", [0.1, 3, 8])
def test_95_per_cent_are_95_per_cent_whatever_the_intervals_and_the_hours(hours_alike: float) -> None:
    """One site is measured each five minutes, the other once an hour, and both are slower by day."""
    random = np.random.default_rng(7)
    worlds = ([simulated(random, hours_alike=hours_alike) for _ in range(2)] for _ in range(WORLDS))
    assert share_that_hold([(days_of(first), days_of(second, 12)) for first, second in worlds]) >= LEAST


def test_so_they_are_with_an_outage_of_hours_in_each_week() -> None:
    random = np.random.default_rng(8)
    pairs = []
    for _ in range(WORLDS):
        first, second = (simulated(random, hours_alike=1) for _ in range(2))
        at = int(random.integers(first.size))
        first[at : at + int(random.integers(12, 240))] *= 3
        pairs.append((days_of(first), days_of(second, 12)))
    assert share_that_hold(pairs) >= LEAST


def test_a_site_a_seventh_slower_is_found_in_a_week() -> None:
    random = np.random.default_rng(9)
    found = 0
    for _ in range(100):
        first, second = (simulated(random, hours_alike=1) for _ in range(2))
        (one,) = differences(days_of(first), {"b": days_of(second * 8 / 7, 12)}).values()
        found += one.is_slower
    assert found >= 90


def test_all_intervals_hold_together() -> None:
    one = blocks(100, 110, 90, 105, 95, 100, 102)
    alone = differences(blocks(*[0] * 7), {"a": one})["a"]
    beside = differences(blocks(*[0] * 7), dict.fromkeys("abcde", one))["a"]
    assert beside.low_us < alone.low_us < alone.value_us == beside.value_us
    # Student's quantiles of four degrees of freedom: of 0.995 and 0.975.
    assert (beside.value_us - beside.low_us) / (alone.value_us - alone.low_us) == pytest.approx(4.604 / 2.776, rel=0.02)


def test_one_bad_day_moves_nothing() -> None:
    calm = differences(blocks(*[100] * 7), {"b": blocks(120, 121, 119, 122, 118, 120, 120)})["b"]
    bad = differences(blocks(*[100] * 7), {"b": blocks(120, 121, 119, 122, 118, 120, 5_000)})["b"]
    assert bad.value_us == pytest.approx(calm.value_us, abs=1)
    assert bad.is_slower


def test_what_rollups_cannot_tell_apart_is_left_open() -> None:
    """Both differ by the same in all days, by less than their medians may be off."""
    one = differences(blocks(*[100_000] * 7, error_us=1_000), {"b": blocks(*[101_500] * 7, error_us=1_000)})["b"]
    assert (one.low_us, one.high_us) == (-500, 3_500)
    assert not one.is_slower


def test_what_would_have_been_seen_is_more_than_the_interval_is_wide() -> None:
    one = differences(blocks(*[0] * 7), {"b": blocks(-3, 2, 1, -2, 3, -1, 0)})["b"]
    assert one.least_us > one.high_us - one.value_us > 0


def test_the_interval_is_that_of_a_trimmed_mean() -> None:
    """Without the outermost ones -2 to 2 are left; the winsorised deviation of the seven is the root of three."""
    one = differences(blocks(*[0] * 7), {"b": blocks(-3, 2, 1, -2, 30, -1, 0)})["b"]
    assert one.value_us == 0
    # Student's quantile of 0.975 with four degrees of freedom.
    assert one.high_us == -one.low_us == pytest.approx(2.776 * 1.25 * 3**0.5 * 7**0.5 / 5, rel=0.03)


def test_sites_that_never_take_any_time_cannot_be_told_apart() -> None:
    """As of pages whose main thread is never blocked."""
    one = differences(blocks(*[0] * 7), {"b": blocks(*[0] * 7)})["b"]
    assert (one.value_us, one.is_slower, one.is_faster) == (0, False, False)


def test_fewer_than_five_blocks_of_both_tell_nothing() -> None:
    four = {place: middle for place, middle in blocks(*[9] * 7).items() if place < 4}
    assert differences(blocks(*[1] * 7), {"b": four}) == {}
    five = {place: middle for place, middle in blocks(*[9] * 7).items() if place < 5}
    assert list(differences(blocks(*[1] * 7), {"b": five})) == ["b"]


@pytest.mark.parametrize(
    ("days", "interval_s", "width_s", "count", "per_block"),
    [
        (7, 3_600, HOUR, 7, 24),
        (7, 3_601, DAY, 7, 1),
        (30, 60, DAY, 10, 3),
        (90, 60, DAY, 10, 9),
        (365, 60, DAY, 10, 36),
        (1, 60, HOUR, 1, 24),
        (30, 14_400, DAY, 10, 3),
    ],
)
def test_a_time_is_cut_into_blocks_of_whole_days(
    days: int, interval_s: int, width_s: int, count: int, per_block: int
) -> None:
    plan = plan_of(days * DAY, interval_s)
    assert (plan.width_s, plan.blocks, plan.per_block) == (width_s, count, per_block)
    assert plan.is_judged == (days >= 7)


def test_hours_of_a_site_that_is_measured_each_two_are_a_day() -> None:
    plan = plan_of(3 * HOUR, 2 * HOUR)
    assert (plan.width_s, plan.blocks, plan.per_block) == (DAY, 1, 1)


@pytest.mark.parametrize("days", [1, 7, 30])
def test_what_is_measured_at_the_same_few_hours_of_each_day_is_not_judged(days: int) -> None:
    """Once a day, say, by night, while the other site is measured through all busy hours."""
    plan = plan_of(days * DAY, 4 * HOUR + 1)
    assert (plan.width_s, plan.blocks, plan.per_block) == (DAY, 1, days)
    assert not plan.is_judged


def test_only_hours_count_in_which_all_were_measured() -> None:
    able, common = held_together({"a": range(168), "b": range(20, 168)}, WEEK)
    assert able == frozenset("ab")
    # Of the newest day four hours are left.
    assert common == frozenset(range(24, 168))
    _, common = held_together({"a": range(168), "b": range(12, 168)}, WEEK)
    assert common == frozenset(range(12, 168))


def test_a_site_that_was_measured_too_little_spoils_nothing_for_the_others() -> None:
    able, common = held_together({"a": range(168), "b": range(168), "new": range(4 * 24 + 11)}, WEEK)
    assert (able, common) == (frozenset("ab"), frozenset(range(168)))


def test_sites_that_were_hardly_measured_on_the_same_days_are_not_held_together() -> None:
    """Each has five days of seven, and three in common: of other regions that have all of them more can be said."""
    assert held_together({"a": range(120), "b": range(48, 168)}, WEEK) == (frozenset(), frozenset())
    five = range(120)
    assert held_together({"a": five, "b": five}, WEEK) == (frozenset("ab"), frozenset(five))
    assert held_together({"a": range(12), "b": range(12)}, plan_of(DAY, 60)) == (frozenset("ab"), frozenset(range(12)))
    assert held_together({"a": range(144), "b": range(24, 168)}, WEEK) == (frozenset("ab"), frozenset(range(24, 144)))


def test_what_lies_beyond_the_last_block_counts_for_nothing() -> None:
    year = plan_of(365 * DAY, 60)
    _, common = held_together({"a": range(365), "b": range(365)}, year)
    assert common == frozenset(range(360))


def test_where_nothing_was_measured_nothing_is_held_together() -> None:
    assert held_together({"a": range(168), "b": ()}, WEEK) == (frozenset("a"), frozenset(range(168)))
    assert held_together({"a": (), "b": ()}, WEEK) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("runs", "interval_s", "is_so"), [(30, 60, True), (29, 60, False), (1, 3_600, True), (0, 1, False)]
)
def test_an_hour_is_known_by_half_of_what_was_due(runs: int, interval_s: int, is_so: bool) -> None:
    assert is_enough(runs, WEEK, interval_s) is is_so


def test_each_region_counts_as_much_by_the_blocks_that_all_have() -> None:
    near, far = blocks(100, 200, 300, error_us=2), {1: Middle(value_us=400, error_us=4)}
    assert averaged([near, far]) == {1: Middle(value_us=300, error_us=3)}
    assert averaged([]) == {}
