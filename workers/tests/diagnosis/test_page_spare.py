"""A file that is asked for sooner comes in the way of what the paint needs anyway: what a line had no room for is no
saving. Instants as measured through a line of 1600 kbit/s and a round trip of 150 ms, and through others.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from workers.diagnosis.page.case import case_of
from workers.diagnosis.page.spare import spare_us
from workers.measurement.connection import Pause
from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request, ResourceType, Waterfall
from workers.tests.builders import build_connection, pause, span
from workers.tests.diagnosis.page_sketch import MAIN, row, sketch, told

LATE, FONT_LATE = FindingId.PAGE_LCP_LATE, FindingId.PAGE_FONT_LATE
EXTRA = FindingId.PAGE_EXTRA_HOSTS_AND_LOST_MUX
ICONS = "icons.example"
ROOT, SHEET, HERO = f"https://{MAIN}/", f"https://{MAIN}/a.css", f"https://{MAIN}/hero.png"


def coming(number: int, kind: ResourceType, asked: tuple[int, int, int], size_bytes: int, **changes: Any) -> Request:
    """Asked for, begun and come at three instants in milliseconds."""
    start, first, end = asked
    timing = Timing(
        start_us=start * 1000,
        end_us=end * 1000,
        send=span(start, start),
        wait=span(start, first),
        download=span(first, end),
    )
    return replace(row(number, kind, start, end, transferred_bytes=size_bytes, **changes), timing=timing)


def page(*rest: Request, fcp_ms: int, lcp_ms: int, document_bytes: int = 400, **changes: Any) -> PageMeasurement:
    """The document comes from 620 ms on, over HTTP/2 or `protocol`."""
    end_ms, protocol = changes.pop("document_ms", 621), changes.pop("protocol", "h2")
    document = coming(1, ResourceType.DOCUMENT, (465, 620, end_ms), document_bytes, path="", protocol=protocol)
    vitals = {"lcp_us": lcp_ms * 1000, "lcp_url": HERO, "dom_interactive_us": end_ms * 1000} | changes
    seen = sketch(*rest, fcp_ms=fcp_ms, vitals=vitals, document=document)
    far = build_connection(
        number=1, host=MAIN, dns=span(0, 5), connect=span(5, 155), tls=span(155, 310), rtt_us=150_000
    )
    return replace(seen, waterfall=replace(seen.waterfall, connections=(far,)))


def sheet(**changes: Any) -> Request:
    values = {"path": "a.css", "render_blocking": True, "initiator_url": ROOT} | changes
    return coming(2, ResourceType.STYLESHEET, (632, 980, 1211), 60_291, **values)


def hero(asked: tuple[int, int, int], **changes: Any) -> Request:
    values = {"path": "hero.png", "initiator_url": SHEET, "body_bytes": 100_000} | changes
    return coming(3, ResourceType.IMAGE, asked, 100_590, **values)


def test_a_background_gains_what_the_line_had_to_spare_beside_its_style_sheet() -> None:
    """Preloaded, it came 152 ms sooner; more than twice that was claimed."""
    found = told(page(sheet(), hero((1215, 1465, 1891)), fcp_ms=1228, lcp_ms=1904), LATE)
    assert (found and found.saving_us) == pytest.approx(152_000, abs=40_000)


def test_a_font_gains_what_the_line_had_to_spare_beside_its_style_sheet() -> None:
    """Preloaded, it showed the text 164 ms sooner, and the first paint 100 later."""
    font = coming(3, ResourceType.FONT, (1213, 1463, 1643), 50_475, path="f.woff2", initiator_url=SHEET)
    found = told(page(sheet(), font, fcp_ms=1228, lcp_ms=1660, lcp_url=None, lcp_element="p"), FONT_LATE)
    assert (found and found.saving_us) == pytest.approx(164_000, abs=40_000)


def test_a_picture_at_the_end_of_a_long_document_gains_a_round_trip() -> None:
    """Preloaded, it came between the document's pieces, and its place was read later: of 680 ms that were claimed 150
    were gained."""
    picture = hero((2288, 2527, 2965), initiator_url=ROOT, initiator_at=(1, 300_000))
    long = page(picture, fcp_ms=820, lcp_ms=2976, document_bytes=300_654, document_ms=2287)
    first = coming(4, ResourceType.SCRIPT, (802, 960, 965), 900, path="a.js", initiator_url=ROOT)
    found = told(replace(long, waterfall=replace(long.waterfall, requests=(*long.waterfall.requests, first))), LATE)
    assert (found and found.saving_us) == pytest.approx(152_000, abs=40_000)


def test_over_connections_of_their_own_only_what_fills_the_line_takes_room() -> None:
    """Of a document that took six times as long as its window needed to grow. Preloaded, the picture came no sooner."""
    one: dict[str, Any] = {"protocol": "http/1.1"}
    picture = hero((2282, 2519, 2957), initiator_url=ROOT, initiator_at=(1, 300_000), **one)
    first = coming(4, ResourceType.SCRIPT, (802, 960, 965), 900, path="a.js", initiator_url=ROOT, connection=2)
    long = page(picture, first, fcp_ms=820, lcp_ms=2972, document_bytes=300_654, document_ms=2281, **one)
    assert told(long, LATE) is None
    quick = page(sheet(**one), hero((1215, 1465, 1891), **one), fcp_ms=1228, lcp_ms=1904)
    case, later = case_of(quick), quick.waterfall.requests[-1]
    assert case is not None
    assert spare_us(case, later, later, 500_000) == 500_000


def test_a_style_sheet_that_its_server_makes_slowly_leaves_room() -> None:
    slow = coming(2, ResourceType.STYLESHEET, (632, 780, 1780), 20_000, path="a.css", render_blocking=True)
    found = told(page(slow, hero((1785, 1935, 2200)), fcp_ms=1800, lcp_ms=2215), LATE)
    assert found is not None
    assert (found.saving_us or 0) >= 400_000


def test_a_script_that_names_the_picture_is_not_needed_by_a_page_that_does_so() -> None:
    script = coming(2, ResourceType.SCRIPT, (632, 980, 1211), 60_291, path="l.js", initiator_url=ROOT)
    later = hero((1215, 1465, 1891), initiator_url=script.url)
    found = told(page(script, later, fcp_ms=700, lcp_ms=1904), LATE)
    needed = told(page(sheet(path="l.js", url=script.url), later, fcp_ms=1228, lcp_ms=1904), LATE)
    assert found is not None
    assert needed is not None
    assert (found.saving_us or 0) > (needed.saving_us or 0) + 100_000


NARROW = {
    "one of a record": ((13_231, 346, 501, 502),),
    "one of two records": ((27_249, 347, 544, 595),),
    "three of a record": ((13_231, 347, 501, 502), (13_231, 352, 602, 603), (13_231, 353, 665, 666)),
    "one of four records": ((60_285, 348, 543, 766),),
}


def narrow(
    sheets: Sequence[tuple[int, int, int, int]], hero: tuple[int, int, int, int], pauses: tuple[Pause, ...] | None
) -> PageMeasurement:
    """Style sheets by their sizes and three instants, and a picture that the last one names, at 80 ms."""
    kind = ResourceType.STYLESHEET
    rows = [
        coming(number, kind, (asked, first, end), size, path=f"{number}.css", render_blocking=True)
        for number, (size, asked, first, end) in enumerate(sheets, start=2)
    ]
    size_bytes, asked_ms, first_ms, end_ms = hero
    values = {"path": "hero.png", "initiator_url": rows[-1].url, "body_bytes": size_bytes - 500}
    picture = coming(9, ResourceType.IMAGE, (asked_ms, first_ms, end_ms), size_bytes, **values)
    seen = page(*rows, picture, fcp_ms=sheets[-1][3] + 19, lcp_ms=end_ms + 17)
    opening = {"dns": span(0, 90), "connect": span(90, 170), "tls": span(170, 252), "rtt_us": 80_000}
    near = build_connection(number=1, host=MAIN, pauses=pauses, **opening)
    document = coming(1, ResourceType.DOCUMENT, (253, 336, 337), 319, path="")
    return replace(seen, waterfall=Waterfall(requests=(document, *seen.waterfall.requests[1:]), connections=(near,)))


@pytest.mark.parametrize(
    ("name", "at_ms", "gained_ms"),
    [
        ("one of a record", 505, 64),
        ("one of two records", 598, 84),
        ("three of a record", 669, 80),
        ("one of four records", 770, 84),
    ],
)
def test_what_a_narrow_line_brings_of_style_sheets_leaves_a_picture_no_room(
    name: str, at_ms: int, gained_ms: int
) -> None:
    """Measured at 80 ms through 1600 kbit/s, by preloading it: told were 159, 118, 316 and 117 ms."""
    found = told(narrow(NARROW[name], (64_483, at_ms, at_ms + 168, at_ms + 418), None), LATE)
    assert (found and found.saving_us) == pytest.approx(gained_ms * 1000, abs=30_000)


SMALL = {
    "of two records behind three of one": (
        ((13_184, 349, 510, 513), (13_184, 349, 612, 614), (13_248, 349, 674, 676)),
        (19_558, 680, 847, 865),
        pause(510, 544, 1_448),
    ),
    "of one record behind three": (
        ((13_184, 354, 516, 517), (13_184, 355, 617, 618), (13_248, 355, 679, 680)),
        (10_219, 683, 820, 821),
        pause(515, 548, 1_448),
    ),
    "of two records behind three of a part of one": (
        ((5_174, 356, 471, 473), (5_174, 356, 498, 500), (5_238, 356, 552, 553)),
        (19_558, 555, 723, 740),
        pause(513, 546, 1_448),
    ),
}


@pytest.mark.parametrize(("name", "gained_ms"), list(zip(SMALL, (88, 96, 92), strict=True)))
def test_a_picture_that_a_record_or_two_hold_finds_no_room_there_either(name: str, gained_ms: int) -> None:
    """It came no longer than a window takes to grow: told were 184, 169 and 136 ms."""
    sheets, hero, window = SMALL[name]
    found = told(narrow(sheets, hero, (window,)), LATE)
    assert (found and found.saving_us) == pytest.approx(gained_ms * 1000, abs=15_000)


@pytest.mark.parametrize(("came_ms", "gained_ms"), [(10, 140), (300, 90)])
def test_what_came_over_the_connection_shows_whether_its_server_or_the_line_was_slow(
    came_ms: int, gained_ms: int
) -> None:
    """A style sheet and the picture took 51 ms longer than a round trip each. Another one came at once, or as a narrow
    line carries it."""
    before = narrow([(13_184, 349, 480, 481)], (10_219, 490, 621, 622), ())
    other = coming(10, ResourceType.IMAGE, (800, 900, 900 + came_ms), 76_384, path="other.png")
    seen = replace(before, waterfall=replace(before.waterfall, requests=(*before.waterfall.requests, other)))
    case, picture = case_of(seen), seen.waterfall.requests[-2]
    assert case is not None
    assert spare_us(case, picture, picture, 141_000) == pytest.approx(gained_ms * 1000, abs=5_000)


@pytest.mark.parametrize(
    ("hero", "gained_ms"),
    [((10_219, 490, 570, 622), 89), ((60_000, 490, 570, 870), 89), ((60_000, 490, 770, 990), 100)],
    ids=["as soon as it was due", "large", "large, and late by more than a record takes"],
)
def test_a_picture_begins_to_come_no_sooner_than_it_was_due_nor_than_its_first_record(
    hero: tuple[int, int, int, int], gained_ms: int
) -> None:
    """By 100 ms sooner it would meet the last 11 of its style sheet, where it began to come at 570 ms."""
    before = narrow([(13_184, 349, 480, 481)], hero, ())
    other = coming(10, ResourceType.IMAGE, (1_000, 1_100, 1_400), 76_384, path="other.png")
    seen = replace(before, waterfall=replace(before.waterfall, requests=(*before.waterfall.requests, other)))
    case, picture = case_of(seen), seen.waterfall.requests[-2]
    assert case is not None
    assert spare_us(case, picture, picture, 100_000) == pytest.approx(gained_ms * 1000, abs=2_000)


def test_a_first_flight_is_in_nothings_way() -> None:
    small = coming(2, ResourceType.STYLESHEET, (632, 980, 1211), 14_000, path="a.css", render_blocking=True)
    found = told(page(small, hero((1215, 1365, 1791)), fcp_ms=1228, lcp_ms=1804), LATE)
    assert found is not None
    assert (found.saving_us or 0) >= 400_000


def elsewhere(document_bytes: int, document_ms: int, **changes: Any) -> PageMeasurement:
    """A small style sheet of the owner's other host, whose connection opens in 600 ms."""
    host = f"static.{MAIN}"
    asked = coming(2, ResourceType.STYLESHEET, (790, 1540, 1545), 600, host=host, connection=2, render_blocking=True)
    sheet = replace(asked, timing=replace(asked.timing, wait=span(1390, 1540)))
    seen = page(sheet, fcp_ms=1570, lcp_ms=1570, document_bytes=document_bytes, document_ms=document_ms, lcp_url=None)
    opening = {"dns": span(790, 940), "connect": span(940, 1090), "tls": span(1090, 1390), "rtt_us": 150_000}
    away = build_connection(number=2, host=host, **opening)
    connections = (*seen.waterfall.connections, away)
    return replace(seen, waterfall=replace(seen.waterfall, connections=connections), words_us=625_000, **changes)


def test_a_host_of_its_own_costs_what_the_line_had_to_spare_beside_the_document() -> None:
    """Over 1600 kbit/s a document of 100 kB comes until 1180 ms. Measured: of 600 ms that the connection took 316 were
    gained over that of the document, and all of 450 where that was small."""
    (long, short) = (told(elsewhere(*sizes), EXTRA) for sizes in ((100_600, 1180), (5_400, 650)))
    assert (long and long.saving_us) == pytest.approx(316_000, abs=110_000)
    assert (short and short.saving_us) == 600_000


def test_a_document_that_its_server_makes_slowly_leaves_a_host_of_its_own_all_that_it_costs() -> None:
    found = told(elsewhere(100_600, 1180, came_on_us=1_100_000), EXTRA)
    assert (found and found.saving_us) == 600_000


@pytest.mark.parametrize(("size_bytes", "took_ms", "saving_ms"), [(14_000, 2, 373), (60_000, 60, 557)])
def test_only_what_no_first_flight_holds_shows_how_quick_a_line_is(
    size_bytes: int, took_ms: int, saving_ms: int
) -> None:
    """Beside a document that came at 1600 kbit/s: a first flight comes at once on any line."""
    before = elsewhere(100_600, 1180)
    quick = coming(5, ResourceType.IMAGE, (1_600, 1_750, 1_750 + took_ms), size_bytes, path="quick.png")
    rows = (*before.waterfall.requests, quick)
    found = told(replace(before, waterfall=replace(before.waterfall, requests=rows)), EXTRA)
    assert (found and found.saving_us) == pytest.approx(saving_ms * 1000, abs=60_000)


WINDOWS = (pause(872, 950, 1_448), pause(1_016, 1_100, 1_448))


@pytest.mark.parametrize(("pauses", "saving_ms"), [((), 200), (WINDOWS, 664)])
def test_what_came_without_a_pause_filled_the_line(pauses: tuple[Pause, ...], saving_ms: int) -> None:
    """A script of 118 kB takes as long as a window needs to grow, and so does the other host's connection, whose
    packets wait behind it: of 653 ms that were told 244 were gained in the lab."""
    host = f"static.{MAIN}"
    script = coming(2, ResourceType.SCRIPT, (650, 800, 1_416), 117_660, path="a.js", render_blocking=True)
    asked = coming(3, ResourceType.STYLESHEET, (650, 1_600, 2_080), 69_500, host=host, connection=2)
    late = replace(asked, timing=replace(asked.timing, wait=span(1_450, 1_600)), render_blocking=True)
    seen = page(script, late, fcp_ms=2_100, lcp_ms=2_100, lcp_url=None)
    opening = {"dns": span(650, 900), "connect": span(900, 1_150), "tls": span(1_150, 1_450), "rtt_us": 150_000}
    own = replace(seen.waterfall.connections[0], pauses=pauses)
    connections = (own, build_connection(number=2, host=host, **opening))
    found = told(replace(seen, waterfall=replace(seen.waterfall, connections=connections)), EXTRA)
    assert (found and found.saving_us) == pytest.approx(saving_ms * 1000, abs=60_000)


def _beside_a_stranger(script_ms: int) -> PageMeasurement:
    """A page of 20 Mbit/s and 60 ms whose paint waits for a stranger's script of 551 kB, which takes so long."""
    script = coming(
        2,
        ResourceType.SCRIPT,
        (264, 908 - script_ms, 908),
        551_334,
        path="all.js",
        host=ICONS,
        connection=2,
        render_blocking=True,
        initiator_url=ROOT,
    )
    picture = coming(
        3,
        ResourceType.IMAGE,
        (941, 1_066, 1_608),
        1_009_082,
        path="hero.png",
        initiator_url=ROOT,
        body_bytes=1_008_000,
    )
    plain = row(1, ResourceType.DOCUMENT, 0, 258, path="", headers={"cache-control": "no-cache"})
    vitals = {"lcp_us": 1_644_000, "lcp_url": HERO, "dom_interactive_us": 962_000}
    seen = sketch(script, picture, fcp_ms=988, vitals=vitals, document=plain)
    grows, theirs = (pause(1_073, 1_123), pause(1_146, 1_184)), (pause(593, 630), pause(631, 642), pause(663, 704))
    known: dict[str, Any] = {"rtt_us": 60_000}
    ways = (
        build_connection(number=1, host=MAIN, connect=span(5, 65), tls=span(65, 130), pauses=grows, **known),
        build_connection(number=2, host=ICONS, connect=span(270, 330), tls=span(330, 400), pauses=theirs, **known),
    )
    return replace(seen, waterfall=replace(seen.waterfall, connections=ways))


def _spare_beside_a_stranger_us(script_ms: int) -> int:
    case = case_of(_beside_a_stranger(script_ms))
    assert case is not None
    return spare_us(case, case.rows[2], case.rows[2], 677_000)


def test_a_picture_gains_what_the_line_had_to_spare_beside_what_the_paint_needs_of_a_stranger() -> None:
    """Preloaded, it was painted 262 ms sooner, as the script came later; 650 were claimed."""
    assert _spare_beside_a_stranger_us(script_ms=322) == 677_000 - 322_000


def test_what_a_quick_stranger_sends_takes_little_of_a_slow_servers_line() -> None:
    """Its own time, and a round trip."""
    assert _spare_beside_a_stranger_us(script_ms=60) == 677_000 - 120_000
