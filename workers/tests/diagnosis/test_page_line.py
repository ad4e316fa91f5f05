"""What is gained by asking sooner for a file that shares the line with others."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.page import layout
from workers.diagnosis.page.line import sooner_us
from workers.diagnosis.page.loads import Load, load_of
from workers.measurement.finding import FindingId
from workers.measurement.page_view import PlainText
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import span
from workers.tests.diagnosis.page_bursts import sooner_by_fewer_us
from workers.tests.diagnosis.page_sketch import MAIN, open_questions, picture, row, sketch, style, told


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


def test_what_comes_behind_another_comes_sooner_by_what_neither_brings() -> None:
    """A line of a megabyte a second, from 100 ms on: 300 kB first, then 600 kB whose head came as soon."""
    first, second = coming(2, 100, 400, 300_000), coming(3, 100, 1000, 600_000)
    for own, sooner in ((first, 200_000), (second, 650_000)):
        gained_us = sooner_by_fewer_us(own, [first, second], {2: 200_000, 3: 450_000}, 1_000)
        assert gained_us == pytest.approx(sooner, rel=0.05)


def asked(at_ms: float) -> Timing:
    send, wait, download = span(at_ms, at_ms + 1), span(at_ms + 1, 401), span(401, 1000)
    return Timing(start_us=round(at_ms * 1000), end_us=1_000_000, send=send, wait=wait, download=download)


def in_turn(**second: Any) -> list[Request]:
    """A line of a megabyte a second, from 100 ms on: 300 kB first, then 600 kB that were asked for before these."""
    return [coming(2, 100, 400, 300_000), replace(coming(3, 401, 1000, 600_000), **({"timing": asked(60)} | second))]


@pytest.mark.parametrize(("at_ms", "gained_ms"), [(60, 650), (98, 650), (248, 600), (348, 500)])
def test_what_waits_for_its_turn_behind_another_comes_sooner_by_what_neither_brings(
    at_ms: float, gained_ms: float
) -> None:
    """But no sooner than a round trip after it was asked for."""
    rows = in_turn(timing=asked(at_ms))
    gained_us = sooner_by_fewer_us(rows[1], rows, {2: 200_000, 3: 450_000}, 1_000)
    assert gained_us == pytest.approx(gained_ms * 1000, rel=0.02)


@pytest.mark.parametrize("second", [{"timing": asked(399.5)}, {"connection": 2}, {"protocol": "http/1.1"}])
def test_what_was_asked_for_later_or_elsewhere_waited_for_no_turn(second: dict[str, Any]) -> None:
    rows = in_turn(**second)
    gained_us = sooner_by_fewer_us(rows[1], rows, {2: 200_000, 3: 450_000}, 1_000)
    assert gained_us == pytest.approx(450_000, rel=0.05)


def test_what_shares_the_line_with_a_picture_gains_twice_what_it_does_not_bring() -> None:
    own, other = coming(2, 100, 700, 300_000), coming(3, 100, 700, 300_000)
    assert sooner_by_fewer_us(own, [own, other], {2: 200_000}, 1_000) == pytest.approx(400_000, rel=0.05)


def test_what_came_slowly_by_itself_comes_no_sooner_for_others_that_are_smaller() -> None:
    """The others came ten times as fast as all on an average."""
    own, others = coming(2, 100, 4100, 60_000), [coming(n, n * 500, n * 500 + 100, 300_000) for n in (3, 4, 5)]
    assert sooner_by_fewer_us(own, [own, *others], dict.fromkeys((2, 3, 4, 5), 50_000), 1_000) == 0


def test_what_waited_for_round_trips_comes_no_sooner_than_they_take() -> None:
    """180 kB take three round trips after the first flight, and 45 kB two."""
    rows = [coming(number, 100, 400, 90_000) for number in (2, 3)]
    assert sooner_by_fewer_us(rows[0], rows, {2: 67_500, 3: 67_500}, 100_000) == pytest.approx(100_000, abs=1_000)


def test_what_fills_a_narrow_line_with_its_second_flight_gains_what_the_line_takes_for_the_rest() -> None:
    """Of 160 kB a second: 14,480 bytes, and from a round trip of 150 ms on all that is left."""
    own = coming(2, 100, 100 + 150 + 45_520 / 160, 60_000)
    assert sooner_by_fewer_us(own, [own], {2: 30_000}, 150_000) == pytest.approx(187_500, rel=0.01)


@given(st.lists(loads, min_size=1, max_size=20), st.floats(0, 1), st.integers(0, 300_000))
def test_nothing_that_waited_for_no_turn_comes_before_its_first_byte_for_bytes_that_do_not_come(
    many: list[tuple[int, int, int]], part: float, trip_us: int
) -> None:
    coming_alone = [coming(n, first, first + took, size) for n, (first, took, size) in enumerate(many, start=2)]
    rows = [replace(one, connection=one.number) for one in coming_alone]
    fewer = {one.number: round((one.transferred_bytes or 0) * part) for one in rows}
    download = rows[0].timing.download
    assert download is not None
    assert 0 <= sooner_by_fewer_us(rows[0], rows, fewer, trip_us) <= max(1, download.duration_us)


def test_texts_that_filled_the_line_together_are_told_with_what_all_would_save() -> None:
    sizes = {2: 300_000, 3: 600_000}
    kept = {number: {"transferred_bytes": size, "body_bytes": size} for number, size in sizes.items()}
    first = style(2, 310, 700, first_ms=400, **kept[2])
    second = row(3, ResourceType.SCRIPT, 310, 1300, first_ms=400, render_blocking=True, **kept[3])
    texts = tuple(PlainText(request=number, body_bytes=size, gzip_bytes=size // 4) for number, size in sizes.items())
    found = told(sketch(first, second, fcp_ms=1320, texts=texts), FindingId.PAGE_UNCOMPRESSED)
    assert found is not None
    assert found.saving_us == pytest.approx(675_000, rel=0.05)


def test_what_is_compressed_gains_by_texts_ahead_of_it_that_are_not() -> None:
    plain = style(2, 310, 700, first_ms=400, transferred_bytes=300_000, body_bytes=300_000)
    small = {"transferred_bytes": 300_000, "body_bytes": 900_000, "render_blocking": True}
    behind = row(3, ResourceType.SCRIPT, 310, 1000, first_ms=701, **small)
    texts = (PlainText(request=2, body_bytes=300_000, gzip_bytes=100_000),)
    found = told(sketch(plain, behind, fcp_ms=1020, texts=texts), FindingId.PAGE_UNCOMPRESSED)
    assert found is not None
    assert found.rows == (2,)
    assert found.saving_us == pytest.approx(200_000, rel=0.05)


def test_what_had_no_room_beside_it_let_it_wait_for_nothing() -> None:
    """A line of a megabyte a second: two files fill it for 100 ms, so that the third, whose head came with them, came
    behind them; to send less of that gains nothing, of the other one all that it does not bring."""
    own, other, behind = coming(2, 400, 500, 50_000), coming(3, 400, 500, 50_000), coming(4, 400, 1_400, 900_000)
    rows = [own, other, behind]
    assert sooner_by_fewer_us(own, rows, {4: 450_000}, 10_000) == 0
    assert sooner_by_fewer_us(own, rows, {3: 25_000}, 10_000) == pytest.approx(25_000, abs=500)
    # Half of what the line carries is room for half of it.
    slower = [coming(2, 400, 500, 25_000), coming(3, 400, 500, 25_000), coming(4, 400, 1_350, 900_000)]
    assert 0 < sooner_by_fewer_us(slower[0], slower, {4: 450_000}, 10_000) <= 25_000


def test_a_page_is_laid_out_once_for_all_that_its_paints_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty style sheets that come together: else a page of many files would take as many times as long."""
    sheets = [style(number, 310, 900 + number, first_ms=400, transferred_bytes=20_000) for number in range(2, 62)]
    texts = tuple(PlainText(request=row.number, body_bytes=20_000, gzip_bytes=5_000) for row in sheets)
    page = sketch(*(replace(row, body_bytes=20_000) for row in sheets), fcp_ms=970, texts=texts)
    laid: Counter[int] = Counter()

    def counted(row: Request) -> Load | None:
        laid[row.number] += 1
        return load_of(row)

    monkeypatch.setattr(layout, "load_of", counted)
    assert told(page, FindingId.PAGE_UNCOMPRESSED) is not None
    assert {laid[row.number] for row in sheets} == {1}
