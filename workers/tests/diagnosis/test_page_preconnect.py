"""Connections to other hosts that a paint waited for, and that a hint in the head would have opened before."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.connection import Connection, Header
from workers.measurement.finding import Finding, FindingId, NotJudged, NotJudgedReason
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, diagnosed, evidence_of, picture, row, sketch, style, told

PRECONNECT = FindingId.PAGE_PRECONNECT_MISSING
STRANGER, ANOTHER = "fonts.example.net", "media.example.com"


def opened(number: int, host: str, start_ms: float) -> Connection:
    """In 180 ms."""
    ends = (start_ms + 20, start_ms + 100, start_ms + 180)
    dns, connect, tls = span(start_ms, ends[0]), span(ends[0], ends[1]), span(ends[1], ends[2])
    return build_connection(number=number, host=host, dns=dns, connect=connect, tls=tls)


def font(number: int, start_ms: float, end_ms: float, host: str = STRANGER, connection: int = 2) -> Request:
    return row(number, ResourceType.FONT, start_ms, end_ms, host=host, connection=connection)


def held_by(*fonts: Request, fcp_ms: float, connections: tuple[Connection, ...], **changes: Any) -> PageMeasurement:
    """The first paint came directly after fonts of other hosts, which the page asked for at 700 ms."""
    return sketch(style(2, 310, 690), *fonts, fcp_ms=fcp_ms, connections=connections, **changes)


def reasons(page: PageMeasurement) -> list[NotJudgedReason]:
    return [one.reason for one in diagnosed(page).not_judged if one.id is PRECONNECT]


def found_of(page: PageMeasurement) -> list[Finding]:
    return [one for one in diagnosed(page).findings if one.id is PRECONNECT]


FAR = held_by(font(3, 700, 1_000), fcp_ms=1_010, connections=(opened(2, STRANGER, 700),))


def test_a_first_paint_that_waited_for_a_connection_comes_sooner_by_what_that_took() -> None:
    found = told(FAR, PRECONNECT)
    assert found is not None
    assert (found.host, found.rows, found.saving_us) == (STRANGER, (3,), 180_000)
    evidence = evidence_of(found)
    assert [evidence[name] for name in ("connection_ms", "asked_at_ms", "hint_read_at_ms")] == [180.0, 700.0, 310.0]


def test_no_connection_is_open_sooner_than_the_hint_is_read() -> None:
    """The page asked for the font 100 ms after the first thing of all."""
    page = sketch(style(2, 310, 400), font(3, 410, 710), fcp_ms=720, connections=(opened(2, STRANGER, 410),))
    found = told(page, PRECONNECT)
    assert (found and found.saving_us) == 100_000


def test_of_several_files_of_a_host_the_first_to_ask_for_and_the_longest_wait_are_told() -> None:
    late = replace(font(4, 760, 1_005), url=f"https://{STRANGER}/4")
    page = held_by(font(3, 700, 1_000), late, fcp_ms=1_010, connections=(opened(2, STRANGER, 700),))
    (found,) = found_of(page)
    assert (found.rows, found.saving_us) == ((3, 4), 120_000)
    assert [evidence_of(found)[name] for name in ("connection_ms", "asked_at_ms")] == [180.0, 700.0]


def test_what_two_hosts_hold_up_neither_gains_alone() -> None:
    connections = (opened(2, STRANGER, 700), opened(3, ANOTHER, 700))
    both = (font(3, 700, 1_000), font(4, 700, 970, ANOTHER, 3))
    assert found_of(held_by(*both, fcp_ms=1_010, connections=connections)) == []


@pytest.mark.parametrize(
    "page",
    [
        replace(FAR, hints=(STRANGER,)),
        held_by(font(3, 700, 1_000, MAIN), fcp_ms=1_010, connections=(opened(2, MAIN, 700),)),
        held_by(font(3, 700, 1_000), fcp_ms=1_010, connections=(opened(2, STRANGER, 500),)),
        held_by(font(3, 700, 1_000), fcp_ms=1_200, connections=(opened(2, STRANGER, 700),)),
    ],
    ids=["a hint that is there", "the document's own host", "open by then", "a paint that came of something else"],
)
def test_nothing_is_asked_for_that_no_paint_would_gain_by(page: PageMeasurement) -> None:
    assert told(page, PRECONNECT) is None
    assert reasons(page) == []


@pytest.mark.parametrize(
    ("link", "is_told"),
    [
        (f"<https://{STRANGER}>; rel=preconnect", False),
        (f'</a.css>; rel=preload; as=style, <//{STRANGER}>; crossorigin; rel="Preconnect"', False),
        (f"<https://{STRANGER}>; rel=dns-prefetch", True),
        (f"<https://{ANOTHER}>; rel=preconnect", True),
    ],
)
def test_a_hint_in_the_documents_headers_counts(link: str, is_told: bool) -> None:
    document, *rest = FAR.waterfall.requests
    said = replace(document, response_headers=(Header(name="Link", value=link),))
    page = replace(FAR, waterfall=replace(FAR.waterfall, requests=(said, *rest)))
    assert (told(page, PRECONNECT) is not None) is is_told


def test_where_nobody_looked_for_hints_that_is_left_open() -> None:
    page = replace(FAR, hints=None)
    assert told(page, PRECONNECT) is None
    assert NotJudged(id=PRECONNECT, reason=NotJudgedReason.NOT_MEASURED) in diagnosed(page).not_judged


def test_a_largest_picture_that_was_asked_for_early_waits_for_its_hosts_connection_too() -> None:
    """No hint for the picture itself helps then."""
    hero = picture(3, 360, 900, host=ANOTHER, path="hero.png", connection=2)
    seen = {"lcp_us": 920_000, "lcp_url": hero.url}
    page = sketch(style(2, 310, 340), hero, fcp_ms=350, connections=(opened(2, ANOTHER, 360),), vitals=seen)
    found = told(page, PRECONNECT)
    assert (found and found.saving_us) == 50_000
    assert told(page, FindingId.PAGE_LCP_LATE) is None
    late = replace(page, vitals=replace(page.vitals, lcp_us=1_200_000))
    assert told(late, PRECONNECT) is None
