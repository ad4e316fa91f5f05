"""Files that a hint had come and that nothing took: who is told of, and what a paint gains without their bytes."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.finding import Finding, FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import ConsoleLevel, ConsoleMessage
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom
from workers.tests.builders import build_connection
from workers.tests.diagnosis.page_sketch import MAIN, diagnosed, evidence_of, picture, row, sketch, style, told

UNUSED = FindingId.PAGE_PRELOAD_UNUSED
SIZES = {"transferred_bytes": 200_200, "body_bytes": 200_000}


def hinted(end_ms: float = 800, **changes: Any) -> Request:
    """A script of 200 kB on a line of 500 kB/s."""
    values = {"flags": (RowFlag.PRELOAD,), "initiator_url": f"https://{MAIN}/", "first_ms": 400} | SIZES | changes
    return row(2, ResourceType.SCRIPT, 310, end_ms, **values)


def warned(url: str, level: ConsoleLevel = ConsoleLevel.WARNING) -> ConsoleMessage:
    """In Chromium's own words, of a run in the lab."""
    text = (
        f"The resource {url} was preloaded using link preload but not used within a few seconds from the window's load "
        "event. Please make sure it has an appropriate `as` value and it is preloaded intentionally."
    )
    return ConsoleMessage(at_us=3_748_000, level=level, text=text)


def page(*rest: Request, url: str | None = None, fcp_ms: float = 340, **changes: Any) -> PageMeasurement:
    hint = changes.pop("hint", hinted())
    values = {"console": (warned(url or hint.url),)} | changes
    return sketch(hint, *rest, fcp_ms=fcp_ms, **values)


def saving_ms(measured: PageMeasurement) -> float | None:
    found: Finding | None = told(measured, UNUSED)
    return None if found is None or found.saving_us is None else found.saving_us / 1000


def test_what_the_browser_says_that_nothing_used_is_told_with_its_bytes() -> None:
    found = told(page(), UNUSED)
    assert found is not None
    assert (found.rows, found.saving_us) == ((2,), None)
    assert evidence_of(found) == {"files": ("2 2, 200.2 kB",), "unused_bytes": 200_200}


@pytest.mark.parametrize(
    "changes",
    [
        {"console": ()},
        {"console": (warned(f"https://{MAIN}/other.js"),)},
        {"console": (warned(f"https://{MAIN}/2", ConsoleLevel.ERROR),)},
        {"hint": hinted(flags=())},
        {"hint": hinted(flags=(RowFlag.PRELOAD, RowFlag.FRAME))},
        {"hint": hinted(served_from=ServedFrom.DISK_CACHE)},
        {"hint": hinted(initiator_url="https://tags.example.net/t.js")},
        {"hint": hinted(transferred_bytes=9_999)},
    ],
)
def test_nothing_is_told_of_what_may_have_been_used_or_is_anothers_or_small(changes: dict[str, Any]) -> None:
    assert told(page(**changes), UNUSED) is None


def test_ten_kilobytes_are_worth_a_word() -> None:
    assert told(page(hint=hinted(transferred_bytes=10_000)), UNUSED) is not None


def test_what_came_sooner_than_in_a_round_trip_waited_for_nothing() -> None:
    """As of a server that began to send before it was asked, or a round trip that was measured on a worse moment."""
    sheet = style(3, 310, 345, first_ms=320, transferred_bytes=200)
    assert saving_ms(page(sheet, picture(4, 310, 340, first_ms=321), hint=hinted(first_ms=318), fcp_ms=360)) is None


def test_while_something_else_came_too_it_was_not_held_up_for_certain() -> None:
    """Of 268 ms in which it was due another file came for 198: what is left is less than what the order decides."""
    other = picture(5, 310, 598, first_ms=400, transferred_bytes=2_000)
    sheet = style(3, 310, 602, first_ms=600, transferred_bytes=200)
    measured = page(sheet, picture(4, 310, 840, first_ms=601), other, hint=hinted(first_ms=390), fcp_ms=620)
    assert saving_ms(measured) is None


def test_what_a_header_had_come_is_the_owners_too() -> None:
    assert told(page(hint=hinted(initiator_url=None)), UNUSED) is not None


def test_what_the_page_asked_for_as_another_kind_had_to_come() -> None:
    """It waits for the same bytes: a hint of the wrong kind brings them, and the page takes them from the cache."""
    taken = row(3, ResourceType.SCRIPT, 310, 802, path="2", served_from=ServedFrom.DISK_CACHE, connection=None)
    assert told(page(taken), UNUSED) is None


def hero(first_ms: float, end_ms: float, **changes: Any) -> Request:
    return picture(3, 310, end_ms, first_ms=first_ms, **changes)


def shown(largest: Request, lcp_ms: float, **changes: Any) -> PageMeasurement:
    vitals = {"lcp_us": round(lcp_ms * 1000), "lcp_url": largest.url}
    return page(largest, vitals=vitals, **changes)


def test_the_largest_picture_gains_what_the_line_took_for_them() -> None:
    """Both share the line from 400 ms on: of 240 kB at 500 kB/s 40 are its own. In the lab 969 ms of 1,036, 241 of 240
    and 451 of 480."""
    assert saving_ms(shown(hero(400, 880), 900)) == pytest.approx(400, abs=15)


def test_over_another_connection_and_over_http1_nobody_knows_what_is_gained() -> None:
    assert saving_ms(shown(hero(400, 880, connection=2), 900)) is None
    old = {"protocol": "http/1.1", "connection": 2}
    assert saving_ms(shown(hero(400, 880, **old), 900, hint=hinted(protocol="http/1.1"))) is None


def behind(first_ms: float, other_ms: float) -> PageMeasurement:
    """A style sheet and a picture that were due at 332 ms, as the script was."""
    sheet = style(3, 310, first_ms + 2, first_ms=first_ms, transferred_bytes=200)
    other = picture(4, 310, 840, first_ms=other_ms)
    return page(sheet, other, fcp_ms=first_ms + 20)


def test_the_first_paint_gains_for_how_long_another_file_came_in_place_of_its_own() -> None:
    assert saving_ms(behind(600, 601)) == pytest.approx(268, abs=2)


def test_a_file_that_begins_to_come_alone_may_have_been_made_so_late() -> None:
    assert (saving_ms(behind(600, 450)) or 0) < 5


def test_what_else_came_meanwhile_did_not_come_in_its_place() -> None:
    """In the lab 296 ms were told of 176: a style sheet had come first, with and without the hint."""
    sheet = style(3, 310, 595, first_ms=380, transferred_bytes=100_000)
    largest, other = (picture(number, 310, 640, first_ms=601, transferred_bytes=2_000) for number in (4, 5))
    vitals = {"lcp_us": 660_000, "lcp_url": largest.url}
    found = told(page(sheet, largest, other, hint=hinted(first_ms=596), fcp_ms=610, vitals=vitals), UNUSED)
    assert found is not None
    assert (found.saving_us or 0) < 50_000


def test_where_the_order_of_a_server_decides_no_milliseconds_are_told() -> None:
    """In the lab 83 ms of 50 kB of a script were told, and another one took their place: nothing was gained."""
    assert saving_ms(shown(hero(400, 880), 900)) is not None
    other = row(4, ResourceType.SCRIPT, 310, 1_280, first_ms=400, transferred_bytes=400_000, priority="Low")
    assert saving_ms(page(hero(400, 880), other, vitals={"lcp_us": 900_000, "lcp_url": hero(400, 880).url})) is None


def over(measured: PageMeasurement, trip_ms: float = 20) -> PageMeasurement:
    """The same over a connection that was seen never to stand still."""
    far = build_connection(number=1, host=MAIN, rtt_us=round(trip_ms * 1000), pauses=())
    return replace(measured, waterfall=replace(measured.waterfall, connections=(far,)))


def test_one_that_begins_later_and_shares_the_line_then_gains_both_as_far_as_the_line_took_it() -> None:
    """The script came alone from 340 to 500 ms, and as much of it as of the picture from then on: of 42 kB at 500 kB/s
    the last would have come 84 ms after 331 and not at 665."""
    other = picture(5, 310, 504, first_ms=500, transferred_bytes=2_000)
    largest = hero(500, 665, priority="Low")
    hint = hinted(825, first_ms=340, priority="High")
    measured = page(largest, other, hint=hint, vitals={"lcp_us": 690_000, "lcp_url": largest.url})
    assert saving_ms(over(measured)) == pytest.approx(250, abs=5)


def test_of_what_nobody_knows_when_it_was_sent_or_was_there_when_it_was_due_nothing_is_claimed() -> None:
    unsent = hero(400, 880)
    assert saving_ms(shown(replace(unsent, timing=replace(unsent.timing, send=None)), 900)) is None
    assert saving_ms(page(style(3, 310, 332.4, first_ms=331), hint=hinted(first_ms=320), fcp_ms=350)) is None


def test_a_file_of_which_nobody_knows_how_much_came_gains_nothing_for_certain() -> None:
    """As in files of other tools."""
    assert saving_ms(page(style(3, 310, 390, transferred_bytes=None), fcp_ms=400)) is None


@pytest.mark.parametrize(("trip_ms", "is_told"), [(20, True), (150, False)])
def test_what_a_window_had_to_grow_for_comes_no_sooner_for_certain(trip_ms: int, is_told: bool) -> None:
    """The bytes of the script made the window large for those of the style sheet: in the lab (h2o) 147 ms were told,
    and the sheet came 4 ms later without the script."""
    sheet = style(3, 310, 635 + trip_ms, first_ms=465 + trip_ms, transferred_bytes=60_200)
    other = picture(4, 310, 640 + trip_ms, first_ms=466 + trip_ms, transferred_bytes=2_000)
    measured = page(sheet, other, hint=hinted(640 + trip_ms, first_ms=320 + trip_ms), fcp_ms=650 + trip_ms)
    assert (saving_ms(over(measured, trip_ms)) is not None) is is_told


@pytest.mark.parametrize(("unused_bytes", "told_ms"), [(18_000, None), (24_000, 48)])
def test_what_is_gained_must_be_more_than_what_may_be_doubted(unused_bytes: int, told_ms: float | None) -> None:
    """Else nobody knows that anything is: in the lab 13 ms were told of 268, and 16 of 100."""
    hint = hinted(400 + unused_bytes / 250, transferred_bytes=unused_bytes)
    measured = shown(hero(400, 480 + unused_bytes / 500), 500 + unused_bytes / 500, hint=hint)
    assert saving_ms(measured) == (told_ms if told_ms is None else pytest.approx(told_ms, abs=3))


@pytest.mark.parametrize(("first_ms", "end_ms"), [(110, 325), (110, 380), (890, 1_130)])
def test_what_came_before_it_was_due_or_behind_it_can_take_no_place(first_ms: float, end_ms: float) -> None:
    sizes = {"first_ms": first_ms, "transferred_bytes": 40_200}
    others = [picture(number, first_ms - 40, end_ms, **sizes) for number in (4, 5, 6)]
    largest = hero(400, 880)
    measured = page(largest, *others, vitals={"lcp_us": 900_000, "lcp_url": largest.url})
    assert saving_ms(measured) == pytest.approx(400, abs=15)


@pytest.mark.parametrize(("urgency", "is_told"), [("VeryHigh", False), ("Medium", True)])
def test_what_a_server_may_send_first_anyway_gains_nothing_for_certain(urgency: str, is_told: bool) -> None:
    """In the lab 180 ms of three fonts were told of 116: the style sheet had come ahead of them."""
    largest = hero(400, 640, priority=urgency)
    found = told(shown(largest, 660, hint=hinted(priority="High")), UNUSED)
    assert found is not None
    assert (found.saving_us is not None) is is_told


def test_a_font_that_nothing_uses_holds_the_first_paint_up_for_a_tenth_of_a_second() -> None:
    """In the lab 100 ms of 100, 72, 96 and 80."""
    font = row(2, ResourceType.FONT, 310, 900, flags=(RowFlag.PRELOAD,), initiator_url=f"https://{MAIN}/", **SIZES)
    sheet = style(3, 310, 400, first_ms=380, connection=2)
    assert saving_ms(page(sheet, hint=font, fcp_ms=510)) == 100


def test_a_font_that_a_script_in_the_body_preloads_holds_no_paint_up() -> None:
    """It comes too late for that: in the lab 100 ms were told, and the page was painted 4 ms sooner without it."""
    font = row(2, ResourceType.FONT, 485, 787, flags=(RowFlag.PRELOAD,), initiator_url=f"https://{MAIN}/", **SIZES)
    assert saving_ms(page(style(3, 310, 481, connection=2), hint=font, fcp_ms=508)) is None


def test_nobody_gains_the_same_by_compressing_what_need_not_come() -> None:
    found = diagnosed(page())
    assert [one.id for one in found.findings] == [UNUSED]
    asked = replace(page(), console=())
    assert [one.id for one in diagnosed(asked).findings] == [FindingId.PAGE_UNCOMPRESSED]


def test_a_largest_paint_gains_what_the_first_one_does_and_what_lies_between() -> None:
    """Its picture began to come with the style sheet; without the script both come 268 ms sooner."""
    sheet = style(3, 310, 602, first_ms=600, transferred_bytes=200)
    largest = picture(4, 310, 640, first_ms=601, transferred_bytes=20_000)
    vitals = {"lcp_us": 660_000, "lcp_url": largest.url}
    found = told(page(sheet, largest, fcp_ms=622, vitals=vitals), UNUSED)
    assert found is not None
    assert found.saving_us == pytest.approx(268_000, abs=2_000)
