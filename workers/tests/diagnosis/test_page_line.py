"""What is gained by asking sooner for a file that shares the line with others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.page_line import sooner_us
from workers.measurement.finding import FindingId
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.diagnosis.page_sketch import MAIN, open_questions, picture, row, sketch, told


def coming(number: int, first_ms: float, end_ms: float, size_bytes: int) -> Request:
    return row(number, ResourceType.SCRIPT, first_ms - 50, end_ms, first_ms=first_ms, transferred_bytes=size_bytes)


def test_alone_on_the_line_it_comes_as_much_sooner() -> None:
    own = coming(2, 600, 900, 300_000)
    assert sooner_us(own, [own, coming(3, 100, 200, 100_000)], 200_000) == 200_000


def test_what_the_line_was_full_of_from_before_to_its_end_lets_it_come_no_sooner() -> None:
    """A line of a megabyte a second: 300 kB from 300 ms on, and 600 kB from 400 ms on, are there at 1200 ms."""
    own, other = coming(2, 400, 1200, 600_000), coming(3, 300, 900, 300_000)
    assert sooner_us(own, [own, other], 100_000) == pytest.approx(0, abs=1_000)


def test_a_small_one_among_large_ones_gets_its_share_sooner() -> None:
    own, other = coming(2, 1000, 1100, 50_000), coming(3, 300, 2350, 2_000_000)
    assert sooner_us(own, [own, other], 300_000) == pytest.approx(300_000, abs=1_000)


def test_only_what_the_line_had_to_spare_is_gained() -> None:
    """The line is full from 300 to 500 ms and free until 600: of 300 ms that the file is asked for sooner 100 count."""
    own, other = coming(2, 600, 1200, 600_000), coming(3, 300, 500, 200_000)
    assert sooner_us(own, [own, other], 300_000) == pytest.approx(100_000, abs=1_000)


def test_where_sizes_are_not_told_it_is_taken_to_be_alone() -> None:
    own = row(2, ResourceType.SCRIPT, 310, 900)
    assert sooner_us(own, [own], 80_000) == 80_000


loads = st.tuples(st.integers(100, 3000), st.integers(0, 2000), st.integers(1, 3_000_000))


@given(st.lists(loads, min_size=1, max_size=20), st.integers(0, 100_000))
def test_nothing_comes_later_or_sooner_than_it_is_asked_for_sooner(
    many: list[tuple[int, int, int]], asked_us: int
) -> None:
    rows = [coming(n, first, first + took, size) for n, (first, took, size) in enumerate(many, start=2)]
    assert 0 <= sooner_us(rows[0], rows, asked_us) <= asked_us


def test_a_late_picture_on_a_line_that_was_full_all_the_time_is_left_open() -> None:
    hero = f"https://{MAIN}/hero.png"
    shown = picture(2, 560, 2900, path="hero.png", first_ms=700, transferred_bytes=640_000, body_bytes=640_000)
    script = row(3, ResourceType.SCRIPT, 310, 2200, first_ms=420, transferred_bytes=500_000, body_bytes=500_000)
    vitals = {"lcp_us": 2_930_000, "lcp_url": hero}
    page = sketch(shown, script, fcp_ms=550, vitals=vitals)
    assert told(page, FindingId.PAGE_LCP_LATE) is None
    assert FindingId.PAGE_LCP_LATE in open_questions(page)
    alone = sketch(shown, row(3, ResourceType.SCRIPT, 310, 500), fcp_ms=550, vitals=vitals)
    found = told(alone, FindingId.PAGE_LCP_LATE)
    assert found is not None
    assert found.saving_us == pytest.approx(250_000, rel=0.02)
