"""Style sheets that others import: what the first paint would gain if all were asked for at once."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.connection import Connection
from workers.measurement.finding import FindingId, NotJudgedReason
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, diagnosed, evidence_of, open_questions, row, sketch, style, told

IMPORT, BLOCKING, PRECONNECT = (
    FindingId.PAGE_CSS_IMPORT,
    FindingId.PAGE_RENDER_BLOCKING,
    FindingId.PAGE_PRECONNECT_MISSING,
)
STRANGER = "fonts.example.net"
# What the browser works for each answer, and small ones take of the line.
WORK_US = 15_000


def _near(number: int, **changes: Any) -> Connection:
    values: dict[str, Any] = {"host": MAIN, "dns": span(0, 20), "connect": span(20, 100), "tls": span(100, 180)}
    return build_connection(number=number, **(values | {"rtt_us": 80_000} | changes))


def _page(*sheets: Request, fcp_ms: float, connections: tuple[Connection, ...] = ()) -> PageMeasurement:
    """80 ms away. The document names the first of the sheets alone."""
    page = sketch(*sheets, fcp_ms=fcp_ms)
    return replace(page, waterfall=replace(page.waterfall, connections=(_near(1), *connections)))


def _chain(*ends_ms: float, first_ms: float = 310, **changes: Any) -> list[Request]:
    """Each asked for when the one before it had come, from the document's link on."""
    sheets: list[Request] = []
    for place, end_ms in enumerate(ends_ms):
        named_by = sheets[-1].url if sheets else f"https://{MAIN}/"
        came = {"path": f"{place}.css", "first_ms": end_ms - 1, "initiator_url": named_by}
        sheets.append(style(2 + place, first_ms, end_ms, **(came | changes)))
        first_ms = end_ms + 2
    return sheets


def test_a_chain_of_imports_costs_what_asking_for_all_at_once_gains() -> None:
    page = _page(*_chain(400, 490, 580), fcp_ms=590)
    found = told(page, IMPORT)
    assert found is not None
    assert found.rows == (3, 4)
    assert 184_000 - WORK_US <= (found.saving_us or 0) <= 184_000
    assert evidence_of(found)["files"] == ("3 1.css (by 2 0.css)", "4 2.css (by 3 1.css)")
    assert evidence_of(found)["imports_in_a_row"] == 2


def test_three_that_together_are_more_than_a_first_flight_take_a_round_trip_more() -> None:
    """Also where the third's server thinks for 30 ms, and it begins to come when the others have."""
    found = told(_page(*_chain(400, 490, 610, transferred_bytes=6_200), fcp_ms=620), IMPORT)
    assert found is not None
    together_us = 400_000 + 80_000
    assert 610_000 - together_us - WORK_US <= (found.saving_us or 0) <= 610_000 - together_us


def test_what_is_left_when_none_is_imported_is_what_style_sheets_cost_at_all() -> None:
    page = _page(*_chain(400, 490, 580), fcp_ms=590)
    imports, blocking = told(page, IMPORT), told(page, BLOCKING)
    assert imports is not None
    assert blocking is not None
    assert (imports.saving_us or 0) + (blocking.saving_us or 0) == 580_000 - 310_000


def test_sheets_that_the_document_names_import_nothing() -> None:
    sheets = [style(number, 310, 400 + number, path=f"{number}.css") for number in (2, 3)]
    assert told(_page(*(replace(one, initiator_url=f"https://{MAIN}/") for one in sheets), fcp_ms=415), IMPORT) is None


def test_large_ones_that_fill_the_line_or_many_windows_come_little_sooner_together() -> None:
    """100 kB in 400 ms each, which is all that the line carries."""
    sheets = _chain(750, 1_192, first_ms=310, transferred_bytes=100_000)
    first, second = (
        replace(one, timing=replace(one.timing, download=span(end_ms - 400, end_ms)))
        for one, end_ms in zip(sheets, (750, 1_192), strict=True)
    )
    assert told(_page(first, second, fcp_ms=1_200), IMPORT) is None


@pytest.mark.parametrize(("importer_bytes", "gained_us"), [(600, 89_800), (20_000, None)])
def test_a_large_one_behind_one_packet_comes_as_it_did_and_so_much_sooner(
    importer_bytes: int, gained_us: int | None
) -> None:
    """60 kB that take 220 ms of the line, less what the importer takes of that: in the lab 110 ms of 102. Behind 20 kB
    it would have come 85 ms sooner, and took its part of the line and of the window from them."""
    first, second = _chain(400, 710)
    first = replace(first, transferred_bytes=importer_bytes)
    came = replace(second.timing, download=span(490, 710))
    second = replace(second, transferred_bytes=60_000, timing=came)
    found = told(_page(first, second, fcp_ms=720), IMPORT)
    assert (None if found is None else found.saving_us) == gained_us


def test_a_script_that_writes_a_style_sheet_imports_nothing() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 400, path="0.js", render_blocking=True)
    written = style(3, 402, 490, initiator_url=script.url)
    assert told(_page(script, written, fcp_ms=500), IMPORT) is None


def test_what_a_strangers_sheet_imports_is_the_strangers_to_mend() -> None:
    first, second = _chain(400, 490, host=STRANGER)
    assert told(_page(first, second, fcp_ms=500), IMPORT) is None


def test_a_connection_of_a_stranger_is_opened_sooner_by_a_hint_or_by_a_link_and_not_by_both() -> None:
    """It opened in 60 ms of the 92 that its sheet was imported late."""
    first, second = _chain(400, 560)
    away = replace(second, url=f"https://{STRANGER}/f.css", connection=2)
    opened = _near(2, host=STRANGER, dns=span(402, 412), connect=span(412, 442), tls=span(442, 462))
    page = _page(first, away, fcp_ms=570, connections=(opened,))
    imported, blocking = told(page, IMPORT), told(page, FindingId.PAGE_THIRD_PARTY_BLOCKING)
    assert imported is not None
    assert 92_000 - WORK_US <= (imported.saving_us or 0) <= 92_000
    assert blocking is not None
    assert 160_000 - WORK_US <= (imported.saving_us or 0) + (blocking.saving_us or 0) <= 160_000
    assert told(page, PRECONNECT) is None


def test_a_connection_that_the_first_sheet_opened_is_there_no_sooner_for_the_second() -> None:
    host = f"static.{MAIN}"
    opened = _near(2, host=host, dns=span(310, 330), connect=span(330, 410), tls=span(410, 490))
    first, second = _chain(580, 670, host=host, connection=2)
    page = _page(first, second, fcp_ms=680, connections=(opened,))
    found = told(page, IMPORT)
    assert found is not None
    assert 92_000 - WORK_US <= (found.saving_us or 0) <= 92_000


def test_over_http_1_1_the_second_takes_a_connection_of_its_own() -> None:
    first, second = _chain(600, 800, protocol="http/1.1")
    found = told(_page(first, second, fcp_ms=810), IMPORT)
    assert found is not None
    assert (found.saving_us or 0) <= 292_000 - 180_000


def test_where_the_paint_came_of_something_else_imports_are_left_open() -> None:
    page = _page(*_chain(400, 490, 580), fcp_ms=2_000)
    assert told(page, IMPORT) is None
    assert IMPORT in open_questions(page)


def test_of_a_page_whose_first_paint_nobody_saw_they_are_left_open_too() -> None:
    page = _page(*_chain(400, 490, 580), fcp_ms=590)
    page = replace(page, vitals=replace(page.vitals, fcp_us=None))
    assert told(page, IMPORT) is None
    assert IMPORT in open_questions(page)


@pytest.mark.parametrize(("count", "gained_us"), [(10, 92_000), (40, None)])
def test_of_sheets_from_so_many_hosts_that_not_all_are_looked_at_nothing_is_gained(
    count: int, gained_us: int | None
) -> None:
    first = _chain(400)[0]
    hosts = [f"{number}.{MAIN}" for number in range(count)]
    opened = [_near(2 + place, host=host, connect=span(402, 442), tls=None) for place, host in enumerate(hosts)]
    away = {"path": "x.css", "initiator_url": first.url, "first_ms": 559}
    imported = [style(3 + place, 402, 560, host=host, connection=2 + place, **away) for place, host in enumerate(hosts)]
    found = told(_page(first, *imported, fcp_ms=570, connections=tuple(opened)), IMPORT)
    assert (found is None) is (gained_us is None)
    if found is not None and gained_us is not None:
        assert gained_us - WORK_US <= (found.saving_us or 0) <= gained_us


def test_one_that_opens_a_connection_for_itself_opens_it_sooner_too() -> None:
    """Over HTTP/1.1 beside its importer's: all that it waited for moves with it."""
    first, second = _chain(400, 700, protocol="http/1.1")
    opened = _near(2, dns=None, connect=span(402, 482), tls=span(482, 562))
    page = _page(first, replace(second, connection=2), fcp_ms=710, connections=(opened,))
    found = told(page, IMPORT)
    assert found is not None
    assert 92_000 - WORK_US <= (found.saving_us or 0) <= 92_000
    # Had somebody else opened it, it would have to be opened for this one now.
    lent = _near(2, dns=None, connect=span(320, 350), tls=span(350, 380))
    found = told(_page(first, replace(second, connection=2), fcp_ms=710, connections=(lent,)), IMPORT)
    assert found is None


def reasons(page: PageMeasurement) -> list[NotJudgedReason]:
    return [one.reason for one in diagnosed(page).not_judged if one.id is IMPORT]


def test_why_imports_are_left_open_is_said_and_not_of_those_that_cost_little() -> None:
    page = _page(*_chain(400, 490, 580), fcp_ms=590)
    assert reasons(page) == []
    assert reasons(replace(page, vitals=replace(page.vitals, fcp_us=None))) == [NotJudgedReason.NOT_MEASURED]
    late = replace(page, vitals=replace(page.vitals, fcp_us=2_000_000))
    assert reasons(late) == [NotJudgedReason.PAINT_ELSEWHERE]
    little = _page(*_chain(345, 355), fcp_ms=2_000)
    assert reasons(little) == []
