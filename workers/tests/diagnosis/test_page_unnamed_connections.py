"""Files of some tools, as Firefox's, tell which request opened a connection, and of no other over which it came."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page.case import PageCase, case_of
from workers.diagnosis.page.needless_bytes import download_gain_us
from workers.diagnosis.page.spare import spare_us
from workers.diagnosis.page.windows import growing_us
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import PlainText
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, TimingSource
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, diagnosed, picture, row, sketch, style

FAR = build_connection(
    number=1, host=MAIN, dns=span(0, 5), connect=span(5, 205), tls=span(205, 410), rtt_us=None, tls_round_trips=None
)


def filed(connection: int | None, **changes: Any) -> PageMeasurement:
    """From a server 200 ms away a style sheet of 100 kB came in three flights, and the largest picture in two more."""
    of_file: dict[str, Any] = {"timing_source": TimingSource.ARCHIVE, "connection": connection}
    document = row(1, ResourceType.DOCUMENT, 0, 620, path="", first_ms=615, **(of_file | {"connection": 1}))
    sizes = {"transferred_bytes": 100_000, "body_bytes": 100_000}
    sheet = style(2, 625, 1_435, first_ms=830, path="a.css", **(of_file | sizes | changes))
    hero = picture(3, 1_440, 2_060, first_ms=1_650, path="hero.png", initiator_url=sheet.url, **of_file)
    texts = (PlainText(request=2, body_bytes=100_000, gzip_bytes=47_000),)
    vitals = {"lcp_us": 2_080_000, "lcp_url": hero.url}
    page = sketch(sheet, hero, fcp_ms=1_450, document=document, texts=texts, vitals=vitals)
    return replace(page, waterfall=replace(page.waterfall, connections=(FAR,)))


def connection_of_sheet(page: PageMeasurement) -> int | None:
    case = case_of(page)
    assert case is not None
    return case.page.waterfall.requests[1].connection


def test_what_came_over_the_only_connection_of_its_host_is_told_as_if_the_file_had_named_it() -> None:
    """Without a round trip bytes would cost their share of the time: 321 ms, and not the flights that they take."""
    named, unnamed = diagnosed(filed(1)).findings, diagnosed(filed(None)).findings
    assert len(named) == 3
    assert unnamed == named


@pytest.mark.parametrize(
    "changes",
    [
        {"timing_source": TimingSource.NETLOG},
        {"protocol": "http/1.1"},
        {"served_from": ServedFrom.DISK_CACHE},
        {"host": f"static.{MAIN}"},
    ],
    ids=["of our own", "in another protocol", "out of a cache", "of another host"],
)
def test_of_no_other_row_is_it_known(changes: dict[str, Any]) -> None:
    assert connection_of_sheet(filed(None)) == 1
    assert connection_of_sheet(filed(None, **changes)) is None


def with_two(page: PageMeasurement, *more: Request) -> PageMeasurement:
    """To its host two connections were opened."""
    waterfall = page.waterfall
    two, rows = (FAR, replace(FAR, number=2)), (*waterfall.requests, *more)
    return replace(page, waterfall=replace(waterfall, connections=two, requests=rows))


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_where_a_host_had_two_nobody_knows_which_and_yet_how_far_it_is(protocol: str) -> None:
    assert connection_of_sheet(with_two(filed(None))) is None
    named, unnamed = (with_two(filed(connection, protocol=protocol)) for connection in (1, None))
    assert len(diagnosed(named).findings) == 3
    assert diagnosed(unnamed).findings == diagnosed(named).findings


def cases() -> list[PageCase]:
    """The page with a file of another host, with connections that have names and with such as have none."""
    asked: dict[str, Any] = {"timing_source": TimingSource.ARCHIVE, "host": "a.example", "transferred_bytes": 300_000}
    pages = [
        with_two(filed(connection), style(4, 640, 760, first_ms=740, connection=other, **asked))
        for connection, other in ((1, 3), (None, None))
    ]
    found = [case_of(page) for page in pages]
    return [case for case in found if case is not None]


@pytest.mark.parametrize(
    "asked",
    [
        lambda case, sheet, hero: growing_us(case, hero),
        lambda case, sheet, hero: download_gain_us(case, sheet, 53_000),
        lambda case, sheet, hero: spare_us(case, hero, hero, 1_000_000),
    ],
    ids=["a window that has grown", "a quick line", "what needs the connection first"],
)
def test_what_came_of_another_host_kept_no_company(asked: Callable[[PageCase, Request, Request], int]) -> None:
    named, unnamed = (asked(case, *case.page.waterfall.requests[1:3]) for case in cases())
    assert unnamed == named


def test_how_far_a_host_is_its_quickest_connection_tells_and_no_others() -> None:
    case = case_of(with_two(filed(None), row(4, ResourceType.SCRIPT, 630, 750, host="a.example", connection=None)))
    assert case is not None
    _, sheet, _, other = case.page.waterfall.requests
    assert (case.trip_us(sheet), case.trip_us(other)) == (200_000, 0)
    near = replace(FAR, number=2, rtt_us=150_000)
    two = replace(case.page, waterfall=replace(case.page.waterfall, connections=(FAR, near)))
    both = case_of(two)
    assert both is not None
    assert (both.trip_us(sheet), both.trip_us(replace(sheet, connection=1))) == (150_000, 200_000)
