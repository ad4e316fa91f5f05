"""Vitals from the reports of our scripts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.devtools.vitals import (
    MAX_NAME_CHARS,
    MAX_TOLD,
    Milestones,
    layout_shift_score,
    parse_reports,
    vitals_of,
)
from workers.measurement.timing import Span
from workers.measurement.vitals import LayoutShift, TimingKind, UserTiming


def shifts(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    return [{"at": at, "score": score} for at, score in pairs]


def report(name: str, origin_ms: float = 1000.0, **value: Any) -> str:
    return json.dumps([name, origin_ms, value])


def test_a_score_is_that_of_the_worst_window_not_the_sum() -> None:
    assert layout_shift_score(shifts((0, 0.1), (500, 0.1), (5000, 0.05))) == pytest.approx(0.2)


def test_a_window_ends_after_a_second_of_rest() -> None:
    assert layout_shift_score(shifts((0, 0.1), (999, 0.1))) == pytest.approx(0.2)
    assert layout_shift_score(shifts((0, 0.1), (1000, 0.1))) == pytest.approx(0.1)


def test_a_window_lasts_five_seconds_at_most() -> None:
    steady = shifts(*((at * 900.0, 0.1) for at in range(12)))
    assert layout_shift_score(steady) == pytest.approx(0.6)


def test_a_window_begins_with_a_shift_and_not_with_the_beginning_of_the_observation() -> None:
    steady = [(850.0 * number, 0.1) for number in range(1, 8)]
    assert layout_shift_score(shifts((0, 0), *steady)) == layout_shift_score(shifts(*steady)) == pytest.approx(0.6)


def test_no_shift_is_zero_and_not_observed_is_unknown() -> None:
    assert layout_shift_score(shifts((0, 0))) == 0
    assert layout_shift_score([]) is None


@given(st.lists(st.tuples(st.floats(0, 60_000), st.floats(0, 2)), min_size=1, max_size=50))
def test_a_score_lies_between_the_worst_shift_and_their_sum(pairs: list[tuple[float, float]]) -> None:
    score = layout_shift_score(shifts(*pairs))
    assert score is not None
    assert max(value for _, value in pairs) - 1e-5 <= score <= sum(value for _, value in pairs) + 1e-5


def test_the_last_candidate_is_the_largest_paint() -> None:
    texts = [
        report("lcp", at=100.0, element="p", url=""),
        report("lcp", at=300.5, element="img#hero", url="https://a.test/hero.png"),
    ]
    vitals = vitals_of(parse_reports(texts), Milestones())
    assert vitals.lcp_us == 300_500
    assert vitals.lcp_element == "img#hero"
    assert vitals.lcp_url == "https://a.test/hero.png"


def test_paints_of_a_page_that_replaced_another_count_from_the_first_navigation() -> None:
    texts = [report("fcp", 1_000_000.0, at=50.0), report("fcp", 1_000_400.0, at=70.0)]
    vitals = vitals_of(parse_reports(texts), Milestones(zero_wall_s=1000.0))
    assert vitals.fcp_us == 470_000


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1,2]", '["fcp", null, {}]', '["fcp", 1, 2]', '["fcp", true, {}]', "[" * 50_000, '["fcp", 1e999, {}]'],
)
def test_a_report_that_cannot_be_read_is_passed_over(text: str) -> None:
    assert parse_reports([text]) == ()


@pytest.mark.parametrize("at", [None, -5, "soon", True, [], 1e400])
def test_an_instant_that_is_none_is_unknown(at: object) -> None:
    vitals = vitals_of(parse_reports([json.dumps(["fcp", 1.0, {"at": at}])]), Milestones())
    assert vitals.fcp_us is None


def tasks(*pairs: tuple[float, float]) -> list[str]:
    return [report("task", at=0.0, length=0.0), *(report("task", at=at, length=length) for at, length in pairs)]


def test_blocking_time_is_what_tasks_hold_beyond_50_ms_from_the_first_paint_on() -> None:
    texts = [report("fcp", at=200.0), *tasks((100, 90), (150, 130), (300, 120), (500, 50), (950, 100))]
    vitals = vitals_of(parse_reports(texts), Milestones(fully_loaded_us=1_000_000))
    # The first ends before the paint; of the second 80 ms lie behind it.
    assert vitals.tbt_us == (80 - 50 + 120 - 50 + 100 - 50) * 1000
    assert vitals.long_tasks is not None
    assert vitals.long_tasks[0] == Span(start_us=100_000, end_us=190_000)


def test_what_the_last_answer_sets_off_blocks_behind_the_last_byte() -> None:
    texts = [report("fcp", at=20.0), *tasks((240, 403))]
    rest = Milestones(fully_loaded_us=235_000, until_us=2_240_000)
    assert vitals_of(parse_reports(texts), rest).tbt_us == 353_000


def test_a_task_that_began_when_nobody_listened_any_more_is_not_the_pages() -> None:
    texts = [report("fcp", at=20.0), *tasks((2_250, 100))]
    seen = vitals_of(parse_reports(texts), Milestones(fully_loaded_us=235_000, until_us=2_240_000))
    assert (seen.long_tasks, seen.tbt_us) == ((), 0)


def test_of_a_thread_that_was_at_a_task_to_the_end_nobody_knows_how_long_it_blocked() -> None:
    busy = Milestones(fully_loaded_us=1, responsive=False)
    seen = vitals_of(parse_reports([report("fcp", at=1.0), *tasks()]), busy)
    assert (seen.long_tasks, seen.tbt_us) == (None, None)
    told = vitals_of(parse_reports([report("fcp", at=1.0), *tasks((100, 90))]), busy)
    assert (told.long_tasks, told.tbt_us) == ((Span(start_us=100_000, end_us=190_000),), None)


def test_no_long_task_is_none_of_them_and_not_observed_is_unknown() -> None:
    looked = [report("fcp", at=1.0), *tasks()]
    seen = vitals_of(parse_reports(looked), Milestones(fully_loaded_us=1))
    assert (seen.long_tasks, seen.tbt_us) == ((), 0)
    blind = vitals_of(parse_reports([report("fcp", at=1.0)]), Milestones(fully_loaded_us=1))
    assert (blind.long_tasks, blind.tbt_us) == (None, None)


@pytest.mark.parametrize("milestones", [Milestones(), Milestones(fully_loaded_us=10)], ids=["no rest", "no paint"])
def test_blocking_time_has_a_beginning_and_an_end_or_is_unknown(milestones: Milestones) -> None:
    texts = tasks((100, 90)) if milestones.fully_loaded_us else [report("fcp", at=1.0), *tasks((100, 90))]
    assert vitals_of(parse_reports(texts), milestones).tbt_us is None


def test_tasks_of_a_page_that_replaced_another_count_from_the_first_navigation() -> None:
    texts = [
        report("task", 1_000_000.0, at=10.0, length=300.0),
        report("task", 1_000_400.0, at=0.0, length=0.0),
        report("task", 1_000_400.0, at=20.0, length=60.0),
    ]
    vitals = vitals_of(parse_reports(texts), Milestones(zero_wall_s=1000.0))
    assert vitals.long_tasks == (Span(start_us=420_000, end_us=480_000),)


def test_shifts_are_told_with_their_instants_and_the_empty_first_one_is_not() -> None:
    texts = [report("cls", at=0, score=0), report("cls", at=300.0, score=0.2), report("cls", at=120.0, score=0.01)]
    assert vitals_of(parse_reports(texts), Milestones()).shifts == (
        LayoutShift(at_us=120_000, score=0.01),
        LayoutShift(at_us=300_000, score=0.2),
    )


def test_of_many_shifts_the_largest_are_told_in_the_order_of_time() -> None:
    texts = [report("cls", at=float(at), score=at / 1000) for at in range(1, 201)]
    told = vitals_of(parse_reports(texts), Milestones()).shifts
    assert [shift.at_us for shift in told] == [at * 1000 for at in range(201 - MAX_TOLD, 201)]


def test_the_document_became_interactive_when_its_own_clock_says_so() -> None:
    vitals = vitals_of(parse_reports([report("dom", interactive=81.5)]), Milestones())
    assert vitals.dom_interactive_us == 81_500


def timings(*values: dict[str, object]) -> list[str]:
    return [report("timing"), *(json.dumps(["timing", 1000.0, value]) for value in values)]


def test_what_the_page_measured_is_in_the_order_of_time_the_first_of_each_name() -> None:
    told = vitals_of(
        parse_reports(
            timings(
                {"kind": "measure", "name": "cart", "at": 20, "length": 45.5},
                {"kind": "mark", "name": "hero", "at": 10, "length": 0},
                {"kind": "mark", "name": "hero", "at": 5, "length": 0},
                {"kind": "element", "name": "hero", "at": 15, "length": 0},
            )
        ),
        Milestones(),
    ).user_timings
    assert told == (
        UserTiming(kind=TimingKind.MARK, name="hero", at_us=10_000),
        UserTiming(kind=TimingKind.ELEMENT, name="hero", at_us=15_000),
        UserTiming(kind=TimingKind.MEASURE, name="cart", at_us=20_000, duration_us=45_500),
    )


def test_instants_of_a_document_that_came_later_count_from_the_first_navigation() -> None:
    text = json.dumps(["timing", 1_300.0, {"kind": "mark", "name": "hero", "at": 10}])
    (told,) = vitals_of(parse_reports([text]), Milestones(zero_wall_s=1.0)).user_timings or ()
    assert told.at_us == 310_000


def test_what_a_document_that_was_replaced_measured_is_not_told() -> None:
    texts = [
        json.dumps(["timing", origin_ms, {"kind": "mark", "name": name, "at": 10}])
        for origin_ms, name in ((1_000.0, "splash"), (1_300.0, "hero"))
    ]
    told = vitals_of(parse_reports(texts), Milestones(zero_wall_s=1.0)).user_timings or ()
    assert [(one.name, one.at_us) for one in told] == [("hero", 310_000)]


def test_a_stretch_may_be_empty_and_a_name_is_cut() -> None:
    told = timings({"kind": "measure", "name": "x" * 150, "at": 1, "length": 0})
    (one,) = vitals_of(parse_reports(told), Milestones()).user_timings or ()
    assert (one.name, one.duration_us) == ("x" * MAX_NAME_CHARS, 0)


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "mark", "name": "", "at": 1},
        {"kind": "mark", "name": 7, "at": 1},
        {"kind": "mark", "name": "x", "at": -1},
        {"kind": "mark", "name": "x", "at": None},
        {"kind": "navigation", "name": "x", "at": 1},
        {"kind": [], "name": "x", "at": 1},
        {"kind": "measure", "name": "x", "at": 1},
        {"kind": "measure", "name": "x", "at": 1, "length": -2},
    ],
)
def test_what_is_no_timing_is_left_out(value: dict[str, object]) -> None:
    assert vitals_of(parse_reports(timings(value)), Milestones()).user_timings == ()


def test_an_instant_that_has_not_come_is_none() -> None:
    told = timings({"kind": "mark", "name": "soon", "at": 2}, {"kind": "mark", "name": "far", "at": 1e12})
    vitals = vitals_of(parse_reports(told), Milestones(until_us=2_000))
    assert [one.name for one in vitals.user_timings or ()] == ["soon"]


def test_a_stretch_whose_end_has_not_come_is_none() -> None:
    told = timings(
        {"kind": "measure", "name": "took", "at": 1, "length": 1},
        {"kind": "measure", "name": "will take", "at": 1, "length": 1.001},
        {"kind": "measure", "name": "for ever", "at": 0, "length": 1e15},
    )
    vitals = vitals_of(parse_reports(told), Milestones(until_us=2_000))
    assert [one.name for one in vitals.user_timings or ()] == ["took"]


def test_without_an_observer_nobody_knows_of_timings_and_of_many_the_earliest_are_told() -> None:
    assert vitals_of((), Milestones()).user_timings is None
    many = timings(*({"kind": "mark", "name": f"m{at}", "at": at} for at in range(99, -1, -1)))
    told = vitals_of(parse_reports(many), Milestones()).user_timings
    assert told is not None
    assert [one.name for one in told] == [f"m{at}" for at in range(MAX_TOLD)]
