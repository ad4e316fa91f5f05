"""What stands before a document and what it costs: steps that no later one would need."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.connection import Connection
from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, evidence_of, open_questions, row, sketch, told

REDIRECTS = FindingId.HTTP_REDIRECT_COST


def moved(number: int, start_ms: float, end_ms: float, to: str, **changes: Any) -> Request:
    return row(number, ResourceType.DOCUMENT, start_ms, end_ms, **({"status": 301, "redirected_to": to} | changes))


def redirected(
    *before: Request, connection: int = 1, connections: tuple[Connection, ...] = (), **changes: Any
) -> PageMeasurement:
    """The document is asked for when the last of these has been answered."""
    start_ms = (before[-1].timing.end_us or 0) / 1000
    number = len(before) + 1
    document = row(number, ResourceType.DOCUMENT, start_ms, start_ms + 150, path="", connection=connection, **changes)
    page = sketch(*before[1:], document, fcp_ms=900, document=before[0], connections=connections)
    return replace(page, document=number)


def test_a_redirect_costs_what_no_later_step_would_need() -> None:
    # The connection, open after 180 ms, is the document's too.
    found = told(redirected(moved(1, 0, 400, f"https://{MAIN}/")), REDIRECTS)
    assert found is not None
    assert (found.saving_us, found.rows) == (220_000, (1,))
    # From plain HTTP only the name need not be looked up again.
    plain = moved(1, 0, 300, f"https://{MAIN}/", url=f"http://{MAIN}/", connection=2)
    first = build_connection(number=2, host=MAIN, dns=span(0, 40), connect=span(40, 120), tls=None)
    found = told(redirected(plain, connections=(first,)), REDIRECTS)
    assert found is not None
    assert found.saving_us == 260_000
    assert evidence_of(found)["hsts"] == "absent"


@pytest.mark.parametrize(("size_bytes", "saving_us"), [(11_000, 220_000), (12_300, 198_600), (15_000, 220_000)])
def test_a_document_that_comes_first_over_its_connection_shares_the_first_flight(
    size_bytes: int, saving_us: int
) -> None:
    """Of nginx one of 12 kB took a round trip longer where no redirect came before it, and one of 11 kB did not."""
    page = redirected(moved(1, 0, 400, f"https://{MAIN}/"), transferred_bytes=size_bytes)
    found = told(page, REDIRECTS)
    assert (found and found.saving_us) == saving_us


def test_several_redirects_are_told_once_and_each_with_its_cost() -> None:
    first = moved(1, 0, 300, "https://example.net/b", host="example.net", path="a", connection=2)
    second = moved(2, 300, 420, f"https://{MAIN}/", host="example.net", path="b", connection=2, reused=True)
    other = build_connection(number=2, host="example.net", dns=span(0, 20), connect=span(20, 100), tls=span(100, 180))
    found = told(redirected(first, second, connections=(other,)), REDIRECTS)
    assert found is not None
    # The connection of both, open after 180 ms, the page does not need.
    assert (found.saving_us, found.rows) == (420_000, (1, 2))
    assert evidence_of(found)["costs_ms"] == (300.0, 120.0)
    assert "hsts" not in evidence_of(found)


def test_a_name_that_only_steps_need_is_looked_up_for_them_alone() -> None:
    """From http:// to https:// to www: in the lab 656 ms of 656."""
    plain = moved(1, 0, 245, "https://example.net/", url="http://example.net/", connection=2)
    secure = moved(2, 245, 574, f"https://{MAIN}/", host="example.net", path="", connection=3)
    first = build_connection(number=2, host="example.net", dns=span(0, 82), connect=span(82, 164), tls=None)
    second = build_connection(number=3, host="example.net", dns=None, connect=span(245, 327), tls=span(327, 492))
    found = told(redirected(plain, secure, connections=(first, second)), REDIRECTS)
    assert found is not None
    assert evidence_of(found)["costs_ms"] == (245.0, 329.0)


def test_a_document_that_gives_way_to_another_one_by_itself_is_a_step_too() -> None:
    first = moved(1, 0, 300, f"https://{MAIN}/page", status=200, redirected_to=None)
    page = redirected(first)
    assert (finding := told(page, REDIRECTS)) is not None
    # The connection, open after 180 ms, is the document's too.
    assert (finding.saving_us, finding.rows) == (120_000, (1,))
    # Its first bytes lead there, before its last one has come.
    asked = row(2, ResourceType.DOCUMENT, 290, 450, path="page")
    early = replace(page, waterfall=replace(page.waterfall, requests=(page.waterfall.requests[0], asked)))
    assert (finding := told(early, REDIRECTS)) is not None
    assert (finding.saving_us, finding.rows) == (110_000, (1,))
    # One that stood for two seconds was there to be read.
    rows = page.waterfall.requests
    late = row(2, ResourceType.DOCUMENT, 2_300, 2_450, path="page")
    assert told(replace(page, waterfall=replace(page.waterfall, requests=(rows[0], late))), REDIRECTS) is None
    # So was one whose first pieces were there for as long.
    long = moved(1, 0, 9_000, "", first_ms=200, status=200, redirected_to=None)
    assert told(replace(page, waterfall=replace(page.waterfall, requests=(long, late))), REDIRECTS) is None


def left_at(left_ms: float, **changes: Any) -> PageMeasurement:
    """The document is asked for at an instant, when one of another address had come, which says nothing of it."""
    first = moved(1, 1_000, 2_000, "", **({"path": "first", "status": 200, "redirected_to": None} | changes))
    document = row(2, ResourceType.DOCUMENT, left_ms, left_ms + 150, path="", connection=2)
    other = build_connection(number=2, host=MAIN, dns=None, connect=span(left_ms, left_ms), tls=None)
    return replace(sketch(document, fcp_ms=4_000, document=first, connections=(other,)), document=2)


def test_what_is_left_within_a_second_of_its_end_did_not_stand_to_be_read() -> None:
    """Its first bytes had been there for longer."""
    assert told(left_at(3_000, first_ms=1_200), REDIRECTS) is not None
    assert told(left_at(3_001, first_ms=1_200), REDIRECTS) is None


def test_what_was_left_before_its_end_did_not_stand_within_a_second_of_its_first_byte() -> None:
    assert told(left_at(1_900, first_ms=1_200), REDIRECTS) is not None
    assert told(left_at(2_000, first_ms=1_200), REDIRECTS) is not None
    assert told(left_at(1_900, first_ms=1_200, status=None), REDIRECTS) is None


def test_a_document_over_a_connection_of_its_own_had_its_first_flight_for_itself_in_any_case() -> None:
    """Two packets of what a server says first would make no 12 kB come later."""
    for size_bytes in (11_000, 12_300):
        first = moved(1, 0, 400, f"https://{MAIN}/", host="old.example", connection=2)
        other = build_connection(
            number=2, host="old.example", dns=span(0, 20), connect=span(20, 100), tls=span(100, 180)
        )
        page = redirected(first, connections=(other,), transferred_bytes=size_bytes)
        found = told(page, REDIRECTS)
        assert found is not None
        assert found.saving_us == 400_000


def test_a_step_over_an_open_connection_spares_no_lookup() -> None:
    """The connection's own lookup was paid by whoever opened it; the document comes over another."""
    first = moved(1, 0, 300, f"http://{MAIN}/b", url=f"http://{MAIN}/a", connection=2)
    second = moved(2, 300, 420, f"https://{MAIN}/", url=f"http://{MAIN}/b", connection=2, reused=True)
    opened = build_connection(number=2, host=MAIN, dns=span(0, 40), connect=span(40, 120), tls=None)
    found = told(redirected(first, second, connections=(opened,)), REDIRECTS)
    assert found is not None
    assert evidence_of(found)["costs_ms"] == (260.0, 120.0)


def test_redirects_of_frames_and_files_are_none_of_the_page() -> None:
    framed = moved(1, 0, 300, f"https://{MAIN}/", flags=(RowFlag.FRAME,))
    script = row(1, ResourceType.SCRIPT, 0, 300, status=302, redirected_to=f"https://{MAIN}/")
    for before in (
        framed,
        script,
        moved(1, 0, 300, "https://elsewhere.example/"),
        moved(1, 0, 200, f"https://{MAIN}/"),
    ):
        assert told(redirected(before), REDIRECTS) is None


def test_a_document_that_is_asked_for_once_more_leads_to_no_other_address() -> None:
    """As for client hints (Critical-CH), of which the log tells as of a redirect, or when it reloads itself."""
    for_hints = moved(1, 0, 400, f"https://{MAIN}/", path="", status=200)
    itself = moved(1, 0, 400, "", path="", status=200, redirected_to=None)
    for before in (for_hints, itself):
        assert told(redirected(before), REDIRECTS) is None
    # A redirect to the same address, as for a cookie, is one all the same.
    assert told(redirected(moved(1, 0, 400, f"https://{MAIN}/", path="")), REDIRECTS) is not None
    # What led there is one too, and nothing else is told with it.
    plain = moved(1, 0, 300, f"https://{MAIN}/", url=f"http://{MAIN}/", connection=2)
    first = build_connection(number=2, host=MAIN, dns=span(0, 40), connect=span(40, 120), tls=None)
    again = moved(2, 300, 700, f"https://{MAIN}/", path="", status=200)
    found = told(redirected(plain, again, connections=(first,)), REDIRECTS)
    assert found is not None
    assert (found.saving_us, found.rows) == (260_000, (1,))
    assert evidence_of(found)["urls"] == (f"http://{MAIN}/", f"https://{MAIN}/")


def test_nobody_knows_what_a_document_from_the_cache_would_have_cost_without_the_step_before() -> None:
    """What came before fetched it ahead, as by speculation rules."""
    page = redirected(moved(1, 0, 400, "", path="first", status=200, redirected_to=None))
    assert told(page, REDIRECTS) is not None
    first, document = page.waterfall.requests
    cached = replace(document, served_from=ServedFrom.DISK_CACHE, connection=None)
    held = replace(page, waterfall=replace(page.waterfall, requests=(first, cached)))
    assert told(held, REDIRECTS) is None
    assert REDIRECTS in open_questions(held)
