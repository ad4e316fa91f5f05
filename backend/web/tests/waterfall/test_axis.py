import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backend.web.waterfall.axis import (
    LABEL_PERCENT,
    MAX_TICKS,
    TICK_PERCENT,
    Axis,
    MarkKey,
    Moment,
    axis_of,
    box_of,
    marks_on,
    part_of,
)
from backend.web.waterfall.moments import MAX_TIMINGS, page_moments
from backend.web.waterfall.rows import page_chart
from workers.measurement.vitals import TimingKind, UserTiming
from workers.tests.builders import build_page

INSTANTS = st.integers(min_value=-10_000_000, max_value=600_000_000)
MOMENTS = st.none() | INSTANTS


@given(INSTANTS, INSTANTS, INSTANTS)
def test_every_instant_stands_on_the_axis(start_us: int, end_us: int, at_us: int) -> None:
    assert 0 <= axis_of(start_us, end_us).x(at_us) <= 100


@given(st.integers(min_value=0, max_value=600_000_000))
def test_ticks_are_few_and_round(length_us: int) -> None:
    ticks = axis_of(0, length_us).ticks
    assert 1 <= len(ticks) <= MAX_TICKS + 1
    assert ticks[0].text == "0"
    assert all(left.x < right.x for left, right in itertools.pairwise(ticks))


@given(INSTANTS, st.integers(min_value=100, max_value=600_000_000), INSTANTS)
def test_on_a_short_axis_no_two_times_lie_on_each_other(start_us: int, length_us: int, zero_us: int) -> None:
    ticks = Axis(start_us=start_us, end_us=start_us + length_us, zero_us=zero_us).ticks
    lefts = [tick.x - (TICK_PERCENT if tick.anchor == "end" else 0) for tick in ticks if not tick.is_tight]
    assert all(right - left >= TICK_PERCENT for left, right in itertools.pairwise(lefts))
    assert all(not tick.is_tight for tick in ticks[:-1])


def test_a_second_has_ticks_at_halves() -> None:
    assert [tick.text for tick in axis_of(0, 1_040_000).ticks] == ["0", "500 ms", "1 s"]


def test_what_began_before_zero_stands_left_of_it() -> None:
    axis = axis_of(-500_000, 470_000)
    ticks = [(tick.text, round(tick.x)) for tick in axis.ticks]
    before = [("\N{MINUS SIGN}400 ms", 10), ("\N{MINUS SIGN}200 ms", 30)]
    assert ticks == [*before, ("0", 50), ("200 ms", 70), ("400 ms", 90)]
    assert marks_on(axis, [Moment(key="load", text="Load", at_us=0)])[0].x == axis.ticks[2].x


def test_a_fraction_of_a_millisecond_has_ticks_too() -> None:
    assert [tick.text for tick in axis_of(0, 900).ticks] == ["0", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms"]


@given(MOMENTS, MOMENTS, MOMENTS, MOMENTS)
def test_labels_never_lie_on_each_other(
    first: int | None, second: int | None, third: int | None, last: int | None
) -> None:
    axis = axis_of(0, 10_000_000)
    marks = marks_on(axis, _moments(first, second, third, last))
    spans = [
        (mark.lane, *((mark.x, mark.x + LABEL_PERCENT) if mark.anchor == "start" else (mark.x - LABEL_PERCENT, mark.x)))
        for mark in marks
    ]
    for index, (lane, left, right) in enumerate(spans):
        assert all(lane != other or right <= start or left >= end for other, start, end in spans[index + 1 :])
        assert 0 <= lane < 4


def test_moments_that_were_not_seen_have_no_line() -> None:
    assert [mark.key for mark in marks_on(axis_of(0, 100), _moments(None, 50, None, 20))] == ["load", "fcp"]


def test_what_the_page_named_has_lines_and_its_measures_have_none() -> None:
    timings = [UserTiming(kind=TimingKind.MEASURE, name="cart", at_us=1, duration_us=5)]
    timings += [UserTiming(kind=TimingKind.MARK, name=f"a very long name {n}", at_us=n) for n in range(20)]
    page = build_page()
    measured = replace(page, vitals=replace(page.vitals, user_timings=tuple(timings)))
    lines = [one for one in page_moments(measured) if one.key == "user-timing"]
    assert [one.at_us for one in lines] == list(range(MAX_TIMINGS))
    assert all(len(one.text) <= len("Largest paint 12.34 s") for one in lines)
    assert not [one for one in page_moments(page) if one.key == "user-timing"]


def test_what_a_page_marks_behind_its_end_makes_no_axis_longer_and_has_no_line() -> None:
    page = build_page()
    late = (UserTiming(kind=TimingKind.MARK, name="late", at_us=60_000_000),)
    chart = page_chart(replace(page, vitals=replace(page.vitals, user_timings=late)))
    assert chart.axis == page_chart(page).axis
    assert [mark.key for mark in chart.marks] == [mark.key for mark in page_chart(page).marks]


def test_a_line_without_a_label_takes_no_room() -> None:
    moments = [Moment(key="shift", text="", at_us=at) for at in range(10, 90, 10)]
    assert {mark.lane for mark in marks_on(axis_of(0, 100), moments)} == {0}


def test_a_part_of_the_axis_has_its_own_ticks_and_lines() -> None:
    view = part_of(axis_of(0, 1_000_000), (200_000, 300_000))
    assert [tick.text for tick in view.ticks] == ["200 ms", "220 ms", "240 ms", "260 ms", "280 ms"]
    assert [mark.key for mark in marks_on(view, _moments(100_000, 250_000, 400_000, None))] == ["fcp"]
    assert box_of(axis_of(0, 1_000_000), view) == "19.4175 9.7087"


def test_labels_count_from_the_zero_of_an_axis() -> None:
    axis = Axis(start_us=0, end_us=1_000_000, zero_us=250_000)
    assert [(tick.text, tick.x) for tick in axis.ticks][1:3] == [("0", 25.0), ("200 ms", 45.0)]
    assert part_of(axis, (0, 100_000)).start_us == 250_000


@given(st.none() | st.tuples(INSTANTS, INSTANTS))
def test_a_part_lies_within_the_whole(wanted: tuple[int, int] | None) -> None:
    axis = axis_of(-5_000, 9_000_000)
    view = part_of(axis, wanted)
    assert axis.start_us <= view.start_us < view.end_us <= axis.end_us


def _moments(*us: int | None) -> list[Moment]:
    keys: tuple[MarkKey, ...] = ("first-byte", "fcp", "lcp", "load")
    return [Moment(key=key, text=key, at_us=at) for key, at in zip(keys, us, strict=True) if at is not None]


def test_a_part_beyond_the_axis_is_the_whole_as_the_script_has_it() -> None:
    axis = axis_of(-50_000, 950_000)
    for wanted in ((5_000_000, 9_000_000), (-900_000, -60_000), (200_000, 200_010)):
        assert part_of(axis, wanted) == axis
    assert part_of(axis, (-900_000, 100_000)).end_us == 100_000
