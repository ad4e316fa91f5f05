"""Files of some tools, as Firefox's, tell which request opened a connection, and of no other over which it came."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page.case import case_of
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import PlainText
from workers.measurement.waterfall import ResourceType, ServedFrom, TimingSource
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


def test_where_a_host_had_two_nobody_knows_which() -> None:
    page = filed(None)
    two = (FAR, replace(FAR, number=2))
    assert connection_of_sheet(replace(page, waterfall=replace(page.waterfall, connections=two))) is None
