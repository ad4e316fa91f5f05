"""What is said of the largest paint, and above all what is not: pictures that look late and are none."""

from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page.largest_paint import LargestPaint, largest_row
from workers.measurement.finding import FindingId
from workers.measurement.page_view import ShownPicture
from workers.measurement.waterfall import Blocking, ResourceType, RowFlag, ServedFrom
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import (
    IN_BODY,
    MAIN,
    evidence_of,
    open_questions,
    picture,
    row,
    sketch,
    style,
    told,
)

BLOCKING = FindingId.PAGE_RENDER_BLOCKING
LATE, OVERSIZED = FindingId.PAGE_LCP_LATE, FindingId.PAGE_IMAGE_OVERSIZED
STRANGER = "cdn.example.net"
# What names a picture at 685 ms.
NAMING = row(9, ResourceType.SCRIPT, 310, 685)
HERO = f"https://{MAIN}/hero.png"


def test_a_picture_that_is_asked_for_late_costs_what_a_hint_would_gain() -> None:
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO}
    hero = picture(2, 690, 980, path="hero.png", initiator_url=NAMING.url)
    found = told(sketch(hero, NAMING, fcp_ms=340, vitals=vitals), LATE)
    assert found is not None
    assert (found.saving_us, evidence_of(found)["could_be_asked_at_ms"]) == (380_000, 310.0)


@pytest.mark.parametrize(
    ("protocol", "connection", "gained_ms"),
    [("h2", 1, 380), ("http/1.1", 1, 220), ("http/1.0", 1, 220), ("http/1.1", 2, 380)],
)
def test_a_picture_that_is_asked_for_sooner_over_http_1_takes_another_connection_where_its_own_is_at_work(
    protocol: str, connection: int, gained_ms: int
) -> None:
    """Or has the style sheet take one, in 160 ms, as the name is known: the page is painted when both are there."""
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO}
    hero = picture(2, 690, 980, path="hero.png", initiator_url=NAMING.url, protocol=protocol, reused=True)
    naming = replace(NAMING, timing=replace(NAMING.timing, end_us=685_000), connection=2)
    before = style(3, 310, 680, path="a.css", protocol=protocol, connection=connection, render_blocking=False)
    found = told(sketch(hero, naming, before, fcp_ms=340, vitals=vitals), LATE)
    assert found is not None
    assert found.saving_us == gained_ms * 1000


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


@pytest.mark.parametrize(
    ("changes", "saving_us"),
    [
        ({"fcp_ms": 600}, 200_000),
        ({"fcp_ms": 810}, None),
        ({"flags": (RowFlag.FRAME,)}, None),
        ({"document_ms": 700}, 100_000),
    ],
    ids=["a late first paint", "one that waited too", "what a frame stops at", "a document that came late"],
)
def test_a_held_picture_would_be_shown_with_the_first_paint_and_its_document_at_the_earliest(
    changes: dict[str, Any], saving_us: int | None
) -> None:
    """Of two scripts ahead of it the later one holds it up."""
    ahead = {"initiator_at": (9, 10), **IN_BODY, "flags": changes.get("flags", ())}
    scripts = [row(n, ResourceType.SCRIPT, 310, end, **ahead) for n, end in ((3, 800), (4, 780))]
    slow = row(1, ResourceType.DOCUMENT, 0, changes.get("document_ms", 300), path="", first_ms=290)
    vitals = {"lcp_us": 830_000, "lcp_url": HERO}
    hero = picture(2, 310, 450, **NAMED)
    page = sketch(hero, *scripts, fcp_ms=changes.get("fcp_ms", 330), vitals=vitals, document=slow)
    found = told(page, HELD)
    assert (found and found.saving_us) == saving_us


def test_a_text_is_held_up_by_its_font_and_no_picture_by_it() -> None:
    script = row(3, ResourceType.SCRIPT, 310, 700, initiator_at=(9, 10), **IN_BODY)
    face = row(2, ResourceType.FONT, 310, 810, initiator_url=f"https://{MAIN}/", initiator_at=(9, 40))
    assert told(sketch(face, script, fcp_ms=330, vitals={"lcp_us": 830_000}), HELD) is None


def test_what_a_held_picture_gains_is_no_gain_of_fewer_bytes_too() -> None:
    """Together no more than lies between the first paint and the largest."""
    script = row(3, ResourceType.SCRIPT, 310, 800, initiator_at=(9, 10), **IN_BODY)
    hero = picture(2, 310, 780, first_ms=320, transferred_bytes=400_200, body_bytes=400_000, **NAMED)
    shown = (ShownPicture(request=2, width=1500, height=1000, shown_ppm=100_000),)
    page = sketch(hero, script, fcp_ms=700, vitals={"lcp_us": 830_000, "lcp_url": HERO}, pictures=shown)
    oversized = told(page, OVERSIZED)
    assert oversized is not None
    assert (oversized.saving_us or 0) <= 130_000
    late = replace(hero, timing=replace(hero.timing, end_us=560_000, download=span(320, 560)))
    page = replace(page, waterfall=replace(page.waterfall, requests=(page.waterfall.requests[0], late, script)))
    held, oversized = told(page, HELD), told(page, OVERSIZED)
    assert held is not None
    assert oversized is not None
    assert held.saving_us == 100_000
    assert (oversized.saving_us or 0) <= 30_000


def test_what_is_gained_of_the_largest_paint_once_is_not_gained_again() -> None:
    """It would be there at 680 ms, and by something else at 480, where the page works until 550."""
    vitals = {"lcp_us": 1_000_000, "lcp_url": HERO, "long_tasks": (span(400, 550),)}
    largest = LargestPaint.of(sketch(picture(2, 690, 980, path="hero.png"), NAMING, fcp_ms=340, vitals=vitals))
    assert largest is not None
    assert largest.claim(300_000) == 300_000
    assert largest.left_after_us(300_000) == 0
    assert largest.claim(200_000) == 130_000
    assert largest.gain_us(500_000) == largest.left_us == 230_000


def test_a_picture_that_was_painted_long_after_it_came_is_left_open_and_is_no_font() -> None:
    vitals = {"lcp_us": 1_200_000, "lcp_url": HERO}
    hero = picture(2, 690, 980, path="hero.png", initiator_url=NAMING.url)
    assert LATE in open_questions(sketch(hero, NAMING, fcp_ms=340, vitals=vitals))
    page = sketch(hero, NAMING, fcp_ms=340, vitals=vitals | {"lcp_us": 1_000_000})
    assert told(page, LATE) is not None
    assert FindingId.PAGE_FONT_LATE not in open_questions(page)


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


def test_a_picture_that_comes_just_before_the_page_goes_to_work_is_painted_after_it() -> None:
    """As on pages of Next.js: preloaded, their picture comes when the scripts do. It takes 98 ms to be painted, and was
    when the scripts had worked."""
    hero = picture(2, 560, 1030, path="hero.png")
    vitals = {"lcp_us": 1_128_000, "lcp_url": HERO}
    page = sketch(hero, style(3, 310, 551), fcp_ms=588, vitals=vitals | {"long_tasks": (span(790, 870),)})
    found = told(page, LATE)
    assert found is not None
    assert found.saving_us == 160_000
    free = told(sketch(hero, style(3, 310, 551), fcp_ms=588, vitals=vitals), LATE)
    assert free is not None
    assert free.saving_us == 250_000


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
