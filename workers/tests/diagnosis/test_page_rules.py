"""What is said of a page, and above all what is not: situations that look like a fault and are none."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page_paths import largest_row
from workers.diagnosis.page_returning import lifetime_s
from workers.diagnosis.pages import diagnose_page
from workers.measurement.finding import FindingId, Severity
from workers.measurement.page_options import PageState, Protocol
from workers.measurement.page_view import PlainText, RepeatView, ShownPicture
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Blocking, Place, Request, ResourceType, RowFlag, ServedFrom, Waterfall
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import (
    KEPT,
    MAIN,
    evidence_of,
    open_questions,
    picture,
    row,
    sketch,
    style,
    told,
)

BLOCKING, THIRD = FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_THIRD_PARTY_BLOCKING
LATE, OVERSIZED = FindingId.PAGE_LCP_LATE, FindingId.PAGE_IMAGE_OVERSIZED
UNCACHED, UNCOMPRESSED = FindingId.PAGE_UNCACHED, FindingId.PAGE_UNCOMPRESSED
STRANGER = "cdn.example.net"
# What names a picture at 685 ms.
NAMING = row(9, ResourceType.SCRIPT, 310, 685)
HERO = f"https://{MAIN}/hero.png"


# The first paint


def test_what_blocks_costs_the_time_from_the_document_to_its_end() -> None:
    found = told(sketch(style(2, 310, 700), fcp_ms=720), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.severity, found.rows) == (400_000, Severity.HIGH, (2,))


def test_what_a_frame_asks_for_does_not_block_the_page() -> None:
    framed = style(3, 400, 690, host=STRANGER, flags=(RowFlag.FRAME,))
    page = sketch(style(2, 310, 640), framed, fcp_ms=720)
    assert told(page, THIRD) is None
    found = told(page, BLOCKING)
    assert found is not None
    assert (found.rows, found.saving_us) == ((2,), 340_000)


def test_a_paint_that_waited_for_a_task_did_not_wait_for_the_file_that_came_meanwhile() -> None:
    page = sketch(style(2, 310, 625), fcp_ms=928, vitals={"long_tasks": (span(431, 885),)})
    assert told(page, BLOCKING) is None
    assert BLOCKING in open_questions(page)


def test_what_the_page_worked_while_a_file_came_it_works_without_it_too() -> None:
    """The same page without the style sheet was painted 80 ms sooner, when its own script had ended."""
    busy = {"long_tasks": (span(310, 713),)}
    found = told(sketch(style(2, 310, 808), fcp_ms=830, vitals=busy), BLOCKING)
    assert found is not None
    assert found.saving_us == 95_000
    assert told(sketch(style(2, 310, 740), fcp_ms=760, vitals=busy), BLOCKING) is None


def test_a_visitor_who_comes_again_waits_for_the_pages_own_work_too() -> None:
    asked = style(2, 310, 808, headers={"cache-control": "no-store"})
    plain = told(sketch(asked, fcp_ms=830), UNCACHED)
    busy = told(sketch(asked, fcp_ms=830, vitals={"long_tasks": (span(310, 713),)}), UNCACHED)
    assert (plain and plain.saving_us, busy and busy.saving_us) == (498_000, 95_000)


def test_what_a_file_of_ours_worked_it_works_without_a_strangers_too() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 400, render_blocking=True)
    stranger = style(3, 310, 700, host=STRANGER)
    busy = {"long_tasks": (span(405, 640),)}
    found = told(sketch(script, stranger, fcp_ms=720, vitals=busy), THIRD)
    assert found is not None
    assert found.saving_us == 60_000


def test_a_script_that_works_after_it_came_is_still_what_the_paint_waited_for() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 612, render_blocking=True)
    found = told(sketch(script, fcp_ms=960, vitals={"long_tasks": (span(615, 919),)}), BLOCKING)
    assert found is not None
    assert found.saving_us == 312_000


def test_a_document_that_came_after_the_paint_was_not_what_it_was_read_from() -> None:
    slow = row(1, ResourceType.DOCUMENT, 0, 900, path="")
    early = replace(slow, timing=replace(slow.timing, wait=span(1, 100), download=span(100, 900)))
    found = told(sketch(style(2, 120, 280), fcp_ms=290, document=early), BLOCKING)
    assert found is not None
    assert found.saving_us == 160_000
    assert "document_read_ms" not in evidence_of(found)
    before = told(sketch(style(2, 310, 700), fcp_ms=720), BLOCKING)
    assert before is not None
    assert evidence_of(before)["document_read_ms"] == 300.0


def test_async_scripts_and_print_styles_are_left_alone() -> None:
    rest = (
        row(2, ResourceType.SCRIPT, 310, 700, render_blocking=False),
        style(3, 310, 800, render_blocking=False),
        row(4, ResourceType.SCRIPT, 310, 900, host=STRANGER, render_blocking=False),
    )
    assert diagnose_page(sketch(*rest, fcp_ms=340)).findings == ()


@pytest.mark.parametrize(("host", "expected"), [(MAIN, BLOCKING), (STRANGER, THIRD)])
def test_a_file_that_never_came_held_the_paint_up_all_the_same(host: str, expected: FindingId) -> None:
    refused = row(2, ResourceType.SCRIPT, 310, 900, host=host, render_blocking=True, status=None, failure="ERR_X")
    found = told(sketch(refused, fcp_ms=920), expected)
    assert found is not None
    assert (found.saving_us, evidence_of(found)["files"]) == (600_000, ("2 2, ERR_X",))


def test_what_makes_a_style_sheet_sooner_makes_those_sooner_that_it_imports() -> None:
    plain = {"transferred_bytes": 90_200, "body_bytes": 90_000}
    sheet = style(2, 310, 700, **plain)
    slow = replace(sheet, timing=replace(sheet.timing, wait=span(311, 320), download=span(320, 700)))
    imported = style(3, 701, 800, initiator_url=sheet.url)
    page = sketch(slow, imported, fcp_ms=810, texts=(PlainText(request=2, body_bytes=90_000, gzip_bytes=30_000),))
    found = told(page, UNCOMPRESSED)
    assert found is not None
    assert found.saving_us is not None
    rest = told(page, BLOCKING)
    assert rest is not None
    assert found.saving_us + (rest.saving_us or 0) == 500_000
    # One that the document names comes no sooner for it.
    beside = replace(imported, initiator_url=f"https://{MAIN}/")
    told_beside = told(
        replace(page, waterfall=replace(page.waterfall, requests=(*page.waterfall.requests[:2], beside))), UNCOMPRESSED
    )
    assert told_beside is not None
    assert told_beside.saving_us is None


@pytest.mark.parametrize(("picture_ms", "is_open"), [(570, True), (510, True), (470, False), (390, False)])
def test_a_first_paint_that_may_be_a_picture_is_left_open(picture_ms: int, is_open: bool) -> None:
    """A page without words shows nothing until its first picture is there."""
    page = sketch(style(2, 310, 400, path="a.css"), picture(3, 320, picture_ms), fcp_ms=600)
    assert (FindingId.PAGE_RENDER_BLOCKING in open_questions(page)) is is_open
    assert (told(page, FindingId.PAGE_RENDER_BLOCKING) is None) is is_open


IN_BODY = {"initiator_url": f"https://{MAIN}/", "blocking": Blocking.PARSER, "render_blocking": False}


@pytest.mark.parametrize(("host", "expected"), [(MAIN, BLOCKING), (STRANGER, THIRD)])
def test_a_script_ahead_of_all_that_the_body_shows_holds_the_paint_up(host: str, expected: FindingId) -> None:
    script = row(2, ResourceType.SCRIPT, 310, 690, host=host, initiator_at=(3, 20), **IN_BODY)
    found = told(sketch(script, fcp_ms=705, shows_from=(3, 29)), expected)
    assert found is not None
    assert (found.saving_us, found.rows) == (390_000, (2,))


def test_a_style_sheet_in_the_body_counts_with_the_one_in_the_head() -> None:
    head, body = style(2, 310, 600), style(3, 310, 690, initiator_at=(3, 20), **IN_BODY)
    found = told(sketch(head, body, fcp_ms=705, shows_from=(3, 29)), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.rows) == (390_000, (2, 3))


def test_what_a_style_sheet_in_the_body_imports_or_leads_to_holds_the_paint_up_too() -> None:
    moved = style(2, 310, 400, initiator_at=(3, 20), path="r", redirected_to=f"https://{MAIN}/b.css", **IN_BODY)
    sheet = style(3, 400, 500, path="b.css", render_blocking=None)
    imported = style(4, 505, 690, path="c.css", **(IN_BODY | {"initiator_url": sheet.url}))
    found = told(sketch(moved, sheet, imported, fcp_ms=705, shows_from=(3, 29)), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.rows) == (390_000, (2, 3, 4))


@pytest.mark.parametrize(
    ("shows_from", "changes"),
    [
        ((3, 10), {}),
        (None, {}),
        ((3, 29), {"initiator_at": None}),
        ((3, 29), {"initiator_url": f"https://{MAIN}/frame", "flags": (RowFlag.FRAME,)}),
        ((3, 29), {"blocking": Blocking.MAYBE}),
    ],
)
def test_one_that_may_stand_behind_or_make_what_was_painted_is_never_claimed(
    shows_from: Place | None, changes: dict[str, object]
) -> None:
    script = row(2, ResourceType.SCRIPT, 310, 690, **({"initiator_at": (3, 20)} | IN_BODY | changes))
    assert told(sketch(script, fcp_ms=705, shows_from=shows_from), BLOCKING) is None


@pytest.mark.parametrize(("host", "id"), [(MAIN, BLOCKING), (STRANGER, THIRD)])
def test_a_script_that_may_make_all_that_a_page_shows_is_left_open(host: str, id: FindingId) -> None:
    """An application that is drawn by its scripts waits for them, however they are loaded."""
    script = row(2, ResourceType.SCRIPT, 310, 690, host=host, render_blocking=True)
    empty = sketch(script, fcp_ms=705, body_from=(3, 1))
    assert told(empty, id) is None
    assert id in open_questions(empty)
    assert told(replace(empty, shows_from=(3, 29)), id) is not None
    assert told(replace(empty, body_from=None), id) is not None


def test_style_sheets_ahead_of_the_scripts_that_make_a_page_cost_what_they_come_later() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 500, render_blocking=True)
    found = told(sketch(script, style(3, 310, 690), fcp_ms=705, body_from=(3, 1)), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.rows) == (190_000, (3,))


def test_one_that_ended_after_the_first_paint_did_not_hold_it_up() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 690, initiator_at=(3, 20), **IN_BODY)
    assert told(sketch(script, fcp_ms=420, shows_from=(3, 29)), BLOCKING) is None


def test_a_paint_that_a_script_in_the_body_may_have_held_up_is_left_open() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 690, render_blocking=False)
    page = sketch(script, fcp_ms=700)
    assert told(page, BLOCKING) is None
    assert BLOCKING in open_questions(page)
    assert BLOCKING not in open_questions(sketch(script, fcp_ms=340))


# The largest paint


def test_a_picture_that_is_asked_for_late_costs_what_a_hint_would_gain() -> None:
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO}
    hero = picture(2, 690, 980, path="hero.png", initiator_url=NAMING.url)
    found = told(sketch(hero, NAMING, fcp_ms=340, vitals=vitals), LATE)
    assert found is not None
    assert (found.saving_us, evidence_of(found)["could_be_asked_at_ms"]) == (380_000, 310.0)


@pytest.mark.parametrize(
    ("named_by", "parsed_ms", "end_ms", "gained_ms"),
    [("", 700, 980, 280), ("", 700, 720, None), ("", 700, 1480, 380), ("", 320, 980, 380), ("9", 700, 980, 380)],
)
def test_a_picture_that_may_have_waited_for_the_parser_gains_what_came_after_that(
    named_by: str, parsed_ms: int, end_ms: int, gained_ms: int | None
) -> None:
    """Named by the document, it is shown no sooner than the parser comes to it."""
    vitals = {"lcp_us": end_ms * 1000 + 20_000, "lcp_url": HERO, "dom_interactive_us": parsed_ms * 1000}
    hero = picture(2, 690, end_ms, path="hero.png", initiator_url=f"https://{MAIN}/{named_by}")
    page = sketch(hero, NAMING, fcp_ms=340, vitals=vitals)
    found = told(page, LATE)
    assert (None if found is None else found.saving_us) == (gained_ms and gained_ms * 1000)
    assert (LATE in open_questions(page)) is (found is None)


def test_a_picture_that_nobody_is_known_to_have_named_may_have_waited_for_the_parser_too() -> None:
    """Of one behind a redirect the first address counts."""
    vitals = {"lcp_us": 1_000_000, "dom_interactive_us": 700_000}
    alone = picture(2, 690, 980, path="hero.png")
    found = told(sketch(alone, NAMING, fcp_ms=340, vitals=vitals | {"lcp_url": HERO}), LATE)
    assert (found and found.saving_us) == 280_000
    first = picture(2, 690, 780, path="r.png", status=302, redirected_to=HERO, initiator_url=f"https://{MAIN}/")
    hops = (first, picture(3, 790, 980, path="hero.png", initiator_url=NAMING.url))
    found = told(sketch(*hops, NAMING, fcp_ms=340, vitals=vitals | {"lcp_url": first.url}), LATE)
    assert (found and found.saving_us) == 280_000


@pytest.mark.parametrize(("place", "gained_ms"), [((9, 10), 130), ((9, 50), 290), (None, 290)])
def test_the_browser_asks_for_a_picture_ahead_of_what_its_parser_stops_at(
    place: tuple[int, int] | None, gained_ms: int
) -> None:
    """Asked for at 690 ms as the document's second half came, it had its place when the script before it was there."""
    script = row(3, ResourceType.SCRIPT, 310, 850, initiator_at=place, **(IN_BODY if place else {}))
    slow = row(1, ResourceType.DOCUMENT, 0, 688, path="")
    document = replace(slow, timing=replace(slow.timing, wait=span(1, 300), download=span(300, 688)))
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO, "dom_interactive_us": 990_000}
    page = sketch(picture(2, 690, 980, **NAMED), script, fcp_ms=340, vitals=vitals, document=document)
    found = told(page, LATE)
    assert (found and found.saving_us) == gained_ms * 1000


def test_a_background_is_shown_no_sooner_than_the_parser_comes_to_its_element() -> None:
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO, "dom_interactive_us": 700_000}
    sheet = style(3, 310, 685)
    hero = picture(2, 690, 980, path="hero.png", initiator_url=sheet.url)
    found = told(sketch(hero, sheet, fcp_ms=340, vitals=vitals), LATE)
    assert (found and found.saving_us) == 290_000
    early = vitals | {"dom_interactive_us": 330_000}
    found = told(sketch(hero, sheet, fcp_ms=340, vitals=early), LATE)
    assert (found and found.saving_us) == 380_000


def test_a_picture_that_found_its_connection_open_would_have_had_to_open_it() -> None:
    """Others had opened it since a hint would have been read: 180 ms that the picture did not wait for."""
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO}
    opening = build_connection(number=2, host=MAIN, dns=span(310, 330), connect=span(330, 410), tls=span(410, 490))
    other = row(3, ResourceType.SCRIPT, 310, 600, connection=2)
    hero = picture(2, 690, 980, path="hero.png", initiator_url=NAMING.url, connection=2)
    page = sketch(hero, other, NAMING, fcp_ms=340, vitals=vitals, connections=(opening,))
    found = told(page, LATE)
    assert (found and found.saving_us) == 200_000
    own = replace(opening, dns=span(690, 700), connect=span(700, 780), tls=span(780, 860))
    opened = told(sketch(hero, NAMING, fcp_ms=340, vitals=vitals, connections=(own,)), LATE)
    assert (opened and opened.saving_us) == 380_000


def test_what_a_busy_machine_asked_for_late_was_not_found_late() -> None:
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO, "dom_interactive_us": 720_000}
    assert told(sketch(picture(2, 690, 980, path="hero.png"), fcp_ms=730, vitals=vitals), LATE) is None


HELD = FindingId.PAGE_LCP_HELD
NAMED = {"path": "hero.png", "initiator_url": f"https://{MAIN}/", "initiator_at": (9, 40)}


def test_a_script_in_the_body_ahead_of_the_largest_picture_holds_it_up() -> None:
    script = row(3, ResourceType.SCRIPT, 310, 800, initiator_at=(9, 10), **IN_BODY)
    vitals = {"lcp_us": 830_000, "lcp_url": HERO}
    page = sketch(picture(2, 310, 450, **NAMED), script, fcp_ms=330, vitals=vitals)
    found = told(page, HELD)
    assert found is not None
    assert (found.saving_us, found.rows, evidence_of(found)["files"]) == (350_000, (2, 3), ("3 3",))
    assert told(page, BLOCKING) is None
    assert told(page, LATE) is None
    at_work = vitals | {"long_tasks": (span(420, 560),)}
    busy = told(sketch(picture(2, 310, 450, **NAMED), script, fcp_ms=330, vitals=at_work), HELD)
    assert (busy and busy.saving_us) == 240_000


@pytest.mark.parametrize(
    ("changes", "lcp_ms"),
    [
        ({"initiator_at": (9, 50)}, 830),
        ({"initiator_at": None}, 830),
        ({"blocking": Blocking.NOTHING}, 830),
        ({"initiator_url": f"https://{MAIN}/frame"}, 830),
        ({}, 950),
        ({}, 470),
    ],
)
def test_one_behind_the_picture_or_long_before_its_paint_does_not(changes: dict[str, object], lcp_ms: float) -> None:
    script = row(3, ResourceType.SCRIPT, 310, 800, **({"initiator_at": (9, 10)} | IN_BODY | changes))
    vitals = {"lcp_us": round(lcp_ms * 1000), "lcp_url": HERO}
    page = sketch(picture(2, 310, 450, **NAMED), script, fcp_ms=330, vitals=vitals)
    assert told(page, HELD) is None
    assert (HELD in open_questions(page)) is (lcp_ms == 950)


def test_a_picture_behind_a_redirect_is_the_largest_all_the_same() -> None:
    first = picture(2, 690, 780, path="r.png", status=302, redirected_to=HERO)
    page = sketch(
        first,
        picture(3, 790, 980, path="hero.png"),
        NAMING,
        fcp_ms=340,
        vitals={"lcp_us": 1_000_000, "lcp_url": f"https://{MAIN}/r.png"},
    )
    found = told(page, LATE)
    assert found is not None
    assert (found.rows, evidence_of(found)["asked_at_ms"]) == ((3,), 690.0)


def test_a_picture_that_comes_while_the_page_is_at_work_is_painted_after_it() -> None:
    vitals = {"lcp_us": 1_020_000, "lcp_url": HERO, "long_tasks": (span(650, 940),)}
    hero = picture(2, 640, 1000, path="hero.png")
    found = told(sketch(hero, row(3, ResourceType.SCRIPT, 310, 638), fcp_ms=340, vitals=vitals), LATE)
    assert found is not None
    assert found.saving_us == 60_000


def test_a_picture_that_a_clock_asked_for_comes_no_sooner_for_a_hint() -> None:
    vitals = {"lcp_us": 2_020_000, "lcp_url": HERO, "load_us": 350_000, "dom_content_loaded_us": 345_000}
    hero = picture(2, 1500, 2000, path="hero.png")
    slide = sketch(hero, fcp_ms=340, vitals=vitals)
    assert told(slide, LATE) is None
    assert LATE in open_questions(slide)
    fetched = row(3, ResourceType.FETCH, 310, 1480, path="data.json")
    assert told(sketch(hero, fetched, fcp_ms=340, vitals=vitals), LATE) is not None
    # A script that came before works until it asks.
    script = row(3, ResourceType.SCRIPT, 310, 1200, path="app.js")
    busy = vitals | {"long_tasks": (span(1205, 1360), span(1361, 1490))}
    assert told(sketch(hero, script, fcp_ms=340, vitals=busy), LATE) is not None
    timer = vitals | {"long_tasks": (span(1361, 1490),)}
    assert told(sketch(hero, script, fcp_ms=340, vitals=timer), LATE) is None


def test_the_row_of_the_largest_picture_is_the_one_that_brought_it() -> None:
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO}
    led = picture(2, 310, 400, path="hero.png", status=302, redirected_to=f"https://{MAIN}/real.png")
    brought = picture(3, 400, 980, path="real.png")
    fetched = row(4, ResourceType.FETCH, 400, 900, path="hero.png")
    framed = picture(5, 400, 900, path="hero.png", flags=(RowFlag.FRAME,))
    found = largest_row(sketch(led, brought, fetched, framed, fcp_ms=340, vitals=vitals))
    assert found is not None
    assert found.number == 3
    # Of a data: address only its beginning is kept, which several pictures may share.
    data = vitals | {"lcp_url": "data:image/png;base64,iVBOR"}
    inline = [picture(n, 310, 312, url=data["lcp_url"], served_from=ServedFrom.DATA) for n in (2, 3)]
    found = largest_row(sketch(inline[0], fcp_ms=340, vitals=data))
    assert found is not None
    assert found.number == 2
    assert largest_row(sketch(*inline, fcp_ms=340, vitals=data)) is None
    assert largest_row(sketch(brought, fcp_ms=340)) is None


def test_a_text_that_waits_for_its_font_waits_for_the_connection_of_its_host() -> None:
    font = row(3, ResourceType.FONT, 700, 1_000, host=STRANGER, connection=2)
    far = build_connection(number=2, host=STRANGER, dns=span(700, 720), connect=span(720, 800), tls=span(800, 880))
    page = sketch(style(2, 310, 690), font, fcp_ms=705, connections=(far,), vitals={"lcp_us": 1_020_000})
    found = told(page, FindingId.PAGE_PRECONNECT_MISSING)
    assert found is not None
    assert (found.host, found.rows, found.saving_us) == (STRANGER, (3,), 180_000)
    assert told(page, LATE) is None
    swapped = replace(page, vitals=replace(page.vitals, lcp_us=705_000))
    assert told(swapped, FindingId.PAGE_PRECONNECT_MISSING) is None
    script = row(4, ResourceType.SCRIPT, 310, 1_010, render_blocking=False)
    made = replace(page, waterfall=replace(page.waterfall, requests=(*page.waterfall.requests, script)))
    assert told(made, FindingId.PAGE_PRECONNECT_MISSING) is None
    assert told(replace(page, hints=(STRANGER,)), FindingId.PAGE_PRECONNECT_MISSING) is None


def test_a_circle_of_redirects_ends() -> None:
    rows = [picture(n, 690, 700, path="r.png", status=302, redirected_to=f"https://{MAIN}/r.png") for n in (2, 3, 4)]
    vitals = {"lcp_us": 1_000_000, "lcp_url": f"https://{MAIN}/r.png"}
    assert told(sketch(*rows, fcp_ms=340, vitals=vitals), LATE) is None


def test_a_drawing_has_no_pixels_to_be_too_many() -> None:
    shown = (ShownPicture(request=2, width=1500, height=1000, shown_ppm=20_000),)
    photo = sketch(picture(2, 310, 500), fcp_ms=340, pictures=shown)
    drawing = sketch(picture(2, 310, 500, mime_type="image/svg+xml"), fcp_ms=340, pictures=shown)
    assert told(photo, OVERSIZED) is not None
    assert told(drawing, OVERSIZED) is None


# Bytes


def test_a_text_that_nothing_waits_for_is_told_for_its_bytes_alone() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 900, transferred_bytes=60_200, body_bytes=60_000)
    page = sketch(script, fcp_ms=340, texts=(PlainText(request=2, body_bytes=60_000, gzip_bytes=15_000),))
    found = told(page, UNCOMPRESSED)
    assert found is not None
    assert (found.severity, found.saving_us, evidence_of(found)["saved_bytes"]) == (Severity.LOW, None, 45_000)


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": KEPT | {"content-encoding": "br"}, "transferred_bytes": 15_000},
        {"headers": KEPT | {"content-encoding": "zstd"}, "transferred_bytes": 15_000},
        {"mime_type": "image/webp"},
        {"mime_type": "font/woff2"},
        {"mime_type": "text/event-stream"},
        {"status": 206},
        {"host": STRANGER},
        {"body_bytes": 1_900, "transferred_bytes": 2_000},
        # Something on the way compressed what the server calls plain.
        {"transferred_bytes": 15_000},
    ],
)
def test_what_is_compressed_or_need_not_be_is_left_alone(changes: dict[str, Any]) -> None:
    sizes = {"transferred_bytes": 90_200, "body_bytes": 90_000}
    script = row(2, ResourceType.SCRIPT, 310, 900, **(sizes | changes))
    assert told(sketch(script, fcp_ms=340), UNCOMPRESSED) is None


# Visitors who come again


@pytest.mark.parametrize(
    ("headers", "lifetime"),
    [
        ({"cache-control": "max-age=31536000, immutable"}, 31_536_000),
        ({"cache-control": "public, max-age=600, max-age=900"}, 600),
        ({"cache-control": "max-age=60, stale-while-revalidate=86400"}, 86_460),
        ({"cache-control": "max-age=60, must-revalidate, stale-while-revalidate=86400"}, 60),
        ({"cache-control": "private, no-store"}, 0),
        ({"cache-control": 'max-age=600, no-cache="set-cookie"'}, 600),
        ({"pragma": "no-cache", "cache-control": "max-age=600"}, 0),
        ({"cache-control": "s-maxage=600"}, 0),
        ({"etag": '"x"'}, 0),
        ({"vary": "*", "cache-control": "max-age=600"}, 0),
        ({"cache-control": "max-age=-1"}, 0),
        ({"expires": "Sun, 22 Nov 2026 12:00:00 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 86_400),
        ({"expires": "0", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 0),
        ({"last-modified": "Wed, 11 Nov 2026 12:00:00 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 86_400),
        (
            {
                "last-modified": "Wed, 11 Nov 2026 12:00:00 GMT",
                "date": "Sat, 21 Nov 2026 12:00:00 GMT",
                "cache-control": "must-revalidate",
            },
            0,
        ),
        ({}, None),
    ],
)
def test_a_browser_keeps_an_answer_as_long_as_it_is_told_to(headers: dict[str, str], lifetime: int | None) -> None:
    assert lifetime_s(picture(2, 310, 500, headers=headers)) == lifetime


def test_what_is_kept_for_minutes_is_told_of_the_next_day_and_not_of_the_second_view() -> None:
    kept = style(2, 310, 700, headers={"cache-control": "max-age=600"}, transferred_bytes=60_200)
    page = sketch(kept, fcp_ms=720, repeat=_again())
    found = told(page, UNCACHED)
    assert found is not None
    assert "seen_in_repeat_view" not in evidence_of(found)
    # As long as the file took.
    assert found.saving_us == 390_000


def test_what_was_asked_for_again_costs_what_the_second_view_waited() -> None:
    asked = style(2, 310, 700, headers={"cache-control": "no-cache"}, transferred_bytes=60_200)
    found = told(sketch(asked, fcp_ms=720, repeat=_again(style(2, 110, 250))), UNCACHED)
    assert found is not None
    assert evidence_of(found)["seen_in_repeat_view"] is True
    assert found.saving_us == 150_000


def test_pictures_that_count_visits_are_meant_to_come_again() -> None:
    never = {"cache-control": "no-store"}
    pixel = picture(2, 310, 400, headers=never, body_bytes=43, transferred_bytes=300)
    large = style(3, 310, 900, headers=never, transferred_bytes=60_200, render_blocking=False)
    found = told(sketch(pixel, large, fcp_ms=340), UNCACHED)
    assert found is not None
    assert found.rows == (3,)


def _again(*rest: Request) -> RepeatView:
    """A second view, whose document came after 100 ms and whose first paint after 260 ms."""
    document = row(1, ResourceType.DOCUMENT, 0, 100, path="")
    return RepeatView(
        state=PageState.WARM_CACHE,
        waterfall=Waterfall(requests=(document, *rest), connections=()),
        vitals=Vitals(fcp_us=260_000 if rest else 120_000),
        document=1,
    )


# Protocols


@pytest.mark.parametrize(("only", "expected"), [(None, True), (Protocol.H1, False)])
def test_a_browser_that_may_speak_nothing_else_blames_no_server_for_it(only: Protocol | None, expected: bool) -> None:
    connections = tuple(
        build_connection(number=n, host=MAIN, protocol="http/1.1", dns=None, connect=span(310, 390), tls=span(390, 470))
        for n in range(2, 7)
    )
    rows = [picture(n, 310, 600, connection=n, protocol="http/1.1") for n in range(2, 7)]
    page = sketch(*rows, fcp_ms=340, connections=connections, only_protocol=only)
    first, *others = page.waterfall.connections
    old = [build_connection(number=1, host=MAIN, protocol="http/1.1", connect=first.connect, tls=first.tls), *others]
    seen = sketch(*rows, fcp_ms=340, connections=tuple(old), only_protocol=only)
    ids = {one.id for one in diagnose_page(seen).findings}
    ids &= {FindingId.HTTP_H2_MISSING, FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX}
    assert bool(ids) is expected
