import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.web import units

GOLDEN = json.loads((Path(__file__).parents[3] / "frontend" / "tests" / "golden" / "text.json").read_text())


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_numbers_read_as_the_golden_table_says(name: str) -> None:
    function = getattr(units, name)
    assert [(value, function(value)) for value, _ in GOLDEN[name]] == [tuple(pair) for pair in GOLDEN[name]]


@given(st.lists(st.integers(min_value=0, max_value=60_000_000), max_size=8))
def test_parts_add_up_to_the_total_as_they_are_shown(parts_us: list[int]) -> None:
    shown = sum(_hundredths(text) for text in units.parts_text(parts_us))
    assert shown == _hundredths(units.total_text(parts_us))


@given(st.lists(st.integers(min_value=0, max_value=60_000_000), min_size=1, max_size=8))
def test_no_part_is_off_by_more_than_one_step(parts_us: list[int]) -> None:
    step_us = 10 if sum(parts_us) < 10_000 else 100
    for us, text in zip(parts_us, units.parts_text(parts_us), strict=True):
        assert abs(_hundredths(text) * 10 - us) <= step_us


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "now"),
        (0, "now"),
        (12, "12 s ago"),
        (200, "3 min ago"),
        (7_200, "2 h ago"),
        (172_800, "2 days ago"),
        (90_000_000, "1,041 days ago"),
    ],
)
def test_age_is_said_in_the_largest_unit_that_fits(seconds: int, text: str) -> None:
    assert units.age(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(30, "30 s"), (60, "1 min"), (90, "90 s"), (900, "15 min"), (5_400, "90 min"), (86_400, "24 h")],
)
def test_an_interval_is_said_in_the_largest_unit_without_a_fraction(seconds: int, text: str) -> None:
    assert units.interval(seconds) == text


def test_a_part_that_is_there_is_never_said_to_be_nothing() -> None:
    assert units.parts_text([0, 20, 6_300, 223_600]) == ["0.0 ms", "< 0.1 ms", "6.3 ms", "223.6 ms"]
    assert units.parts_text([2, 900]) == ["< 0.01 ms", "0.90 ms"]


def _hundredths(text: str) -> int:
    if text.startswith("<"):
        return 0
    whole, _, fraction = text.removesuffix(" ms").replace(",", "").partition(".")
    return int(whole) * 100 + int(fraction.ljust(2, "0"))
