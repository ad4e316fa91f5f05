"""What fewer bytes save on a narrow line, whatever else came over their connection. Instants as measured through a line
of 1600 kbit/s from an nginx, whose records hold 16 kB.
"""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page.case import case_of
from workers.diagnosis.page.needless_bytes import download_gain_us
from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import ShownPicture
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, picture, sketch, style, told

OVERSIZED = FindingId.PAGE_IMAGE_OVERSIZED
FAR = build_connection(number=1, host=MAIN, dns=span(0, 8), connect=span(8, 88), tls=span(88, 170), rtt_us=80_000)


def narrow(sheet_bytes: int, sheet_ms: float, *, connection: int = 1) -> PageMeasurement:
    """A picture of 401 kB, of which 16 % would do, comes beside a style sheet that took so long from its first byte."""
    sheet = style(2, 348, 509 + sheet_ms, first_ms=509, transferred_bytes=sheet_bytes, connection=connection)
    hero = picture(3, 350, 2_614, first_ms=621, path="hero.png", transferred_bytes=401_184)
    shown = (ShownPicture(request=3, width=800, height=500, shown_ppm=200_000),)
    vitals = {"lcp_us": 2_628_000, "lcp_url": hero.url}
    page = sketch(sheet, hero, fcp_ms=509 + sheet_ms + 20, vitals=vitals, pictures=shown)
    return replace(page, waterfall=replace(page.waterfall, connections=(FAR,)))


@pytest.mark.parametrize(
    ("sheet_bytes", "sheet_ms", "gained_us"),
    [(451, 2, 1_748_000), (14_207, 1.5, 1_744_000), (31_211, 75.7, 1_744_000), (51_734, 180.8, 1_756_000)],
    ids=["a packet", "a record", "two records", "four records"],
)
def test_what_came_with_a_record_says_nothing_of_how_quick_a_line_is(
    sheet_bytes: int, sheet_ms: float, gained_us: int
) -> None:
    """A record can be read when it is whole, all of it at once: one of 14 kB in a millisecond."""
    found = told(narrow(sheet_bytes, sheet_ms), OVERSIZED)
    assert found is not None
    assert found.saving_us == pytest.approx(gained_us, rel=0.1)


def test_what_came_far_quicker_over_the_same_connection_shows_that_its_server_was_slow() -> None:
    """A hundred kilobytes in 40 ms: then all but the flights was the server's time, and over another nobody knows."""
    gains = []
    for connection in (1, 2):
        case = case_of(narrow(100_000, 40, connection=connection))
        assert case is not None
        gains.append(download_gain_us(case, case.page.waterfall.requests[2], 336_995))
    assert gains[0] < 300_000
    assert gains[1] > 1_600_000


def sent_in_turns(**vitals: Any) -> PageMeasurement:
    """The same picture beside a style sheet of 14 kB, from a server that sends a part of each in turns."""
    sheet = style(2, 349, 1_287, first_ms=442, transferred_bytes=13_991)
    hero = picture(3, 350, 2_599, first_ms=444, path="hero.png", transferred_bytes=400_884)
    shown = (ShownPicture(request=3, width=800, height=500, shown_ppm=200_000),)
    page = sketch(sheet, hero, fcp_ms=1_308, vitals=vitals, pictures=shown)
    return replace(page, waterfall=replace(page.waterfall, connections=(FAR,)))


def test_a_picture_that_is_too_large_holds_the_first_paint_up_where_its_server_sends_all_in_turns() -> None:
    """With Node the largest paint gained 1744 ms and the first one 760: 1304 were told of the picture, as if the first
    came no sooner, and all the rest of the style sheet."""
    page = sent_in_turns(lcp_us=2_612_000, lcp_url=f"https://{MAIN}/hero.png")
    largest, blocking = told(page, OVERSIZED), told(page, FindingId.PAGE_RENDER_BLOCKING)
    assert largest is not None
    assert largest.saving_us == pytest.approx(1_744_000, rel=0.1)
    assert blocking is not None
    assert (blocking.saving_us or 0) < 400_000


def test_a_picture_that_is_too_large_may_hold_up_a_paint_that_is_not_its_own() -> None:
    found = told(sent_in_turns(), OVERSIZED)
    assert found is not None
    assert found.saving_us == pytest.approx(760_000, rel=0.2)
    assert "lcp_ms" not in {fact.name for fact in found.evidence}


def with_a_small_one(lcp_ms: int, begun_ms: int, first_ms: int, end_ms: int) -> PageMeasurement:
    """The same beside a smaller picture that is too large as well, and makes the largest paint."""
    page = sent_in_turns(lcp_us=lcp_ms * 1_000, lcp_url=f"https://{MAIN}/small.png")
    small = picture(4, begun_ms, end_ms, first_ms=first_ms, path="small.png", transferred_bytes=30_000)
    shown = (*page.pictures, ShownPicture(request=4, width=800, height=500, shown_ppm=200_000))
    rows = (*page.waterfall.requests, small)
    return replace(page, waterfall=replace(page.waterfall, requests=rows), pictures=shown)


def test_a_largest_picture_that_gains_little_hides_nothing_of_what_another_one_costs_the_first_paint() -> None:
    """Of 760 ms that the first paint gained 20 were told: those of the largest one, which was too large as well."""
    found = told(with_a_small_one(1_412, 350, 1_380, 1_400), OVERSIZED)
    assert found is not None
    assert found.saving_us == pytest.approx(760_000, rel=0.2)
    assert "lcp_ms" not in {fact.name for fact in found.evidence}


def test_what_the_first_paint_gained_by_smaller_pictures_no_hint_for_the_largest_one_gains_again() -> None:
    """The largest paint came with the first one: it comes sooner by what that does, which is told of the pictures."""
    page = with_a_small_one(1_308, 1_000, 1_270, 1_290)
    assert told(page, OVERSIZED) is not None
    assert told(page, FindingId.PAGE_LCP_LATE) is None
