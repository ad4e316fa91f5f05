"""Vitals from the reports of our scripts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.page_vitals import Milestones, layout_shift_score, parse_reports, vitals_of


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
