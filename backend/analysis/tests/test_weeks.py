"""Whether a week was slower than the one before."""

from collections.abc import Mapping, Sequence
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.analysis.weeks import Course, RegionWeek, region_week, together

MS = 1_000.0
Days = Mapping[int, float]


def week(*medians_ms: float | None) -> Days:
    """A day each, from Monday on; None is a day without any value."""
    return {day: value_ms * MS for day, value_ms in enumerate(medians_ms) if value_ms is not None}


def compared(before: Days, now: Days) -> RegionWeek:
    found = region_week("Frankfurt", "ttfb_ms", before, now)
    assert found is not None
    return found


def test_a_week_of_which_each_day_was_slower_is_slower() -> None:
    found = compared(week(*[300] * 7), week(*[330] * 7))

    assert found == RegionWeek(region="Frankfurt", now_us=330 * MS, before_us=300 * MS, course=Course.SLOWER)


def test_a_week_of_which_each_day_was_faster_is_faster() -> None:
    assert compared(week(*[330] * 7), week(*[300] * 7)).course is Course.FASTER


def test_one_day_that_was_as_before_makes_it_no_slower_week() -> None:
    assert compared(week(*[300] * 7), week(*[400] * 6, 290)).course is Course.SAME


@pytest.mark.parametrize(("before_ms", "now_ms"), [(300, 314), (1_000, 1_049), (20, 29.9)])
def test_a_difference_of_less_than_five_per_cent_or_ten_milliseconds_is_none(before_ms: float, now_ms: float) -> None:
    assert compared(week(*[before_ms] * 7), week(*[now_ms] * 7)).course is Course.SAME


@pytest.mark.parametrize(("before_ms", "now_ms"), [(300, 315), (40, 50)])
def test_a_difference_of_as_much_is_told(before_ms: float, now_ms: float) -> None:
    assert compared(week(*[before_ms] * 7), week(*[now_ms] * 7)).course is Course.SLOWER


def test_a_paint_has_to_differ_by_as_much_as_for_an_alert() -> None:
    less, more = (region_week("Frankfurt", "lcp_ms", week(*[500] * 7), week(*[now] * 7)) for now in (599, 600))

    assert less is not None
    assert more is not None
    assert (less.course, more.course) == (Course.SAME, Course.SLOWER)


def test_days_are_held_against_the_same_days_of_the_week_before() -> None:
    """A week whose weekend is fast, and of which the slow days alone were measured again."""
    before = week(400, 400, 400, 400, 400, 200, 200)
    now = week(400, 400, 400, 400, 400, 200)

    found = compared(before, now)

    assert (found.course, found.before_us) == (Course.SAME, found.now_us)


def test_five_days_in_common_are_too_few_to_say_anything() -> None:
    found = compared(week(300, 300, 300, 300, 300, 300, None), week(200, 400, 400, 400, 400, None, 900))

    assert (found.before_us, found.course) == (None, None)
    assert found.now_us == 400 * MS


def test_six_days_in_common_are_enough() -> None:
    assert compared(week(*[300] * 6), week(*[400] * 7)).course is Course.SLOWER


def test_a_day_that_was_hardly_slower_makes_it_no_slower_week() -> None:
    """It agrees with the others by chance; one very bad day changes nothing about that."""
    for bad_ms in (360, 30_000):
        courses = [compared(week(*[300] * 7), week(*[360] * 5, day_ms, bad_ms)).course for day_ms in (317, 320)]
        assert courses == [Course.SAME, Course.SLOWER]


def test_of_a_week_without_a_value_there_is_nothing() -> None:
    assert region_week("Frankfurt", "ttfb_ms", week(*[300] * 7), {}) is None
    assert together([]) is None


def region(name: str, now_ms: float, before_ms: float | None, course: Course | None) -> RegionWeek:
    before_us = None if before_ms is None else before_ms * MS
    return RegionWeek(region=name, now_us=now_ms * MS, before_us=before_us, course=course)


@pytest.mark.parametrize(
    ("courses", "course"),
    [
        ([Course.SAME, Course.SAME], Course.SAME),
        ([Course.SLOWER, Course.SAME], Course.SLOWER),
        ([Course.FASTER, Course.SAME], Course.FASTER),
        ([Course.SLOWER, Course.FASTER], Course.MIXED),
    ],
)
def test_a_monitor_went_as_its_regions_did(courses: Sequence[Course], course: Course) -> None:
    found = together([region(str(place), 300, 200, one) for place, one in enumerate(courses)])

    assert found is not None
    assert found.course is course
    assert [one.course for one in (*found.slower, *found.faster)] == [one for one in courses if one is not Course.SAME]


def test_a_monitor_is_as_the_average_of_its_regions() -> None:
    found = together([region("near", 110, 100, Course.SLOWER), region("far", 710, 700, Course.SAME)])

    assert found is not None
    assert (found.now_us, found.before_us) == (410 * MS, 400 * MS)


def test_a_region_that_is_new_moves_no_average() -> None:
    """A far one, which would make the site slower by its distance alone."""
    found = together([region("near", 100, 100, Course.SAME), region("far", 700, None, None)])

    assert found is not None
    assert (found.now_us, found.before_us, found.course) == (100 * MS, 100 * MS, Course.SAME)


def test_where_nothing_can_be_compared_the_week_is_told_alone() -> None:
    found = together([region("near", 100, None, None), region("far", 700, None, None)])

    assert found is not None
    assert (found.now_us, found.before_us, found.course) == (400 * MS, None, None)


def test_weeks_without_a_change_are_hardly_ever_called_so() -> None:
    """CV 15 % from run to run, 2 % from day to day, 24 runs a day."""
    random = Random(4)

    def any_week() -> Days:
        days = {day: 300 * random.gauss(1, 0.02) for day in range(7)}
        return {day: median(level * MS * random.gauss(1, 0.15) for _ in range(24)) for day, level in days.items()}

    called = sum(compared(any_week(), any_week()).course is not Course.SAME for _ in range(1_000))

    assert called <= 4


@given(st.lists(st.tuples(st.floats(1, 5_000), st.floats(1, 5_000)), min_size=6, max_size=7))
def test_what_is_slower_one_way_is_faster_the_other(pairs: list[tuple[float, float]]) -> None:
    before, now = (week(*side) for side in zip(*pairs, strict=True))
    there, back = compared(before, now), compared(now, before)

    assert (there.now_us, there.before_us) == (back.before_us, back.now_us)
    if there.course is Course.SLOWER and back.course is not Course.SAME:
        assert back.course is Course.FASTER


@given(st.lists(st.tuples(st.floats(1, 5_000), st.floats(1, 5_000)), min_size=6, max_size=7))
def test_weeks_differ_by_no_more_than_one_of_their_days_and_as_they_do(pairs: list[tuple[float, float]]) -> None:
    found = compared(*(week(*side) for side in zip(*pairs, strict=True)))

    assert found.before_us is not None
    change_us = found.now_us - found.before_us
    assert abs(change_us) <= max(abs(now - before) for before, now in pairs) * MS + 1
    assert (found.course is Course.SLOWER) <= (change_us > 0)
    assert (found.course is Course.FASTER) <= (change_us < 0)


def test_one_very_bad_day_makes_no_slow_week_of_days_that_hardly_differ() -> None:
    assert compared(week(*[300] * 7), week(*[301] * 6, 30_000)).course is Course.SAME
