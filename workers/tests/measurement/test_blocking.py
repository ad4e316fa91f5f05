"""What waits for a row, in Chrome's words and by the document's own text."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.captures_page import BodySeen
from workers.measurement.compute.page.blocking import blocking_of, blocks_rendering, with_hinted, with_preloads
from workers.measurement.compute.page.page import compute_page
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Blocking, ResourceType, RowFlag, ServedFrom
from workers.tests.captures import store
from workers.tests.measurement.recorded import page_of, row
from workers.tests.shapes import golden


def test_render_blocking_initiator_and_priority_are_told_when_known() -> None:
    page = page_of("six-connections")
    assert row(page, "/s.css").render_blocking is True
    assert row(page, "/a.png").render_blocking is None or row(page, "/a.png").render_blocking is False
    assert row(page, "/s.css").initiator_url == row(page, "/page").url
    assert row(page, "/s.css").priority == "VeryHigh"


def test_chromes_own_word_for_what_waits_and_the_tags_place_are_kept() -> None:
    page = page_of("six-connections")
    sheet, document = row(page, "/s.css"), row(page, "/page")
    assert sheet.blocking is Blocking.RENDERING
    assert document.blocking is None
    assert document.initiator_at is None
    assert sheet.initiator_at is not None
    assert min(sheet.initiator_at) >= 1


@pytest.mark.parametrize(
    ("word", "blocking"),
    [
        ("InBodyParserBlocking", Blocking.PARSER),
        ("in_body_parser_blocking", Blocking.PARSER),
        ("NonBlockingDynamic", Blocking.NOTHING_INSERTED),
        ("dynamically_injected_non_blocking", Blocking.NOTHING_INSERTED),
        ("potentially_blocking", Blocking.MAYBE),
        ("render_blocking", Blocking.RENDERING),
        ("NonBlocking", Blocking.NOTHING),
        ("a word of tomorrow", None),
        (None, None),
    ],
)
def test_words_of_devtools_and_of_traces_mean_the_same(word: str | None, blocking: Blocking | None) -> None:
    assert blocking_of(word) is blocking
    assert blocks_rendering(blocking) is (None if blocking is None else blocking is Blocking.RENDERING)


@pytest.mark.parametrize(("starts", "blocking"), [((1, 1), Blocking.PARSER), ((9_999, 1), Blocking.RENDERING)])
def test_what_the_body_of_a_document_in_pieces_names_stops_the_parser_alone(
    starts: tuple[int, int], blocking: Blocking
) -> None:
    """Chrome calls it by the word for the head's; here one of the head is taken for one of the body."""
    page = compute_page(replace(store.load("six-connections"), body=BodySeen(starts, None))).measurement
    assert row(page, "/s.css").blocking is blocking
    assert row(page, "/s.css").render_blocking is (blocking is Blocking.RENDERING)


@pytest.mark.parametrize(
    ("kind", "flags", "blocking", "is_held"),
    [
        (ResourceType.STYLESHEET, (RowFlag.PRELOAD,), Blocking.NOTHING, True),
        (ResourceType.SCRIPT, (RowFlag.PRELOAD,), Blocking.NOTHING, False),
        (ResourceType.STYLESHEET, (), Blocking.NOTHING, False),
        (ResourceType.STYLESHEET, (RowFlag.PRELOAD,), Blocking.NOTHING_INSERTED, False),
    ],
)
def test_a_style_sheet_that_is_preloaded_blocks_where_the_page_says_so_in_the_end(
    kind: ResourceType, flags: tuple[RowFlag, ...], blocking: Blocking, is_held: bool
) -> None:
    one = replace(row(page_of("six-connections"), "/s.css"), resource_type=kind, flags=flags, blocking=blocking)
    (held,) = with_preloads([one], {f"{one.url}#x"})
    assert held.blocking is (Blocking.RENDERING if is_held else blocking)
    assert list(with_preloads([one], set())) == [one]


def test_what_a_preloaded_style_sheet_was_redirected_to_blocks_as_well_and_no_other_of_that_address() -> None:
    one = row(page_of("six-connections"), "/s.css")
    style = replace(one, resource_type=ResourceType.STYLESHEET, flags=(RowFlag.PRELOAD,), blocking=Blocking.NOTHING)
    target = f"{style.url}?2"
    first = replace(style, redirected_to=target, timing=Timing(start_us=100, end_us=300))
    unused, led = (replace(style, url=target, timing=Timing(start_us=at_us, end_us=600)) for at_us in (100, 300))
    held = with_preloads([first, unused, led], {style.url})
    assert [each.blocking for each in held] == [Blocking.RENDERING, Blocking.NOTHING, Blocking.RENDERING]


@pytest.mark.parametrize(
    ("tag_ms", "hint", "is_held"),
    [
        (150, {}, True),
        (310, {}, False),
        (150, {"flags": ()}, False),
        (150, {"blocking": Blocking.NOTHING}, False),
        (150, {"url": "https://another.test/"}, False),
    ],
)
def test_what_an_early_hint_asked_for_holds_the_paint_up_where_a_tag_waits_for_it(
    tag_ms: int, hint: dict[str, Any], is_held: bool
) -> None:
    one = row(page_of("six-connections"), "/s.css")
    times = Timing(start_us=100_000, end_us=300_000)
    hinted = replace(replace(one, timing=times, flags=(RowFlag.PRELOAD,), blocking=None), **hint)
    cached = Timing(start_us=tag_ms * 1000, end_us=max(tag_ms + 1, 301) * 1000)
    tag = replace(one, number=99, timing=cached, served_from=ServedFrom.DISK_CACHE)
    words = [each.blocking for each in with_hinted([hinted, tag])]
    told = hint.get("blocking")
    assert words == ([Blocking.RENDERING, Blocking.NOTHING] if is_held else [told, Blocking.RENDERING])


def test_a_real_early_hint_holds_the_paint_up_where_its_file_was_still_under_way() -> None:
    blocking = {}
    for name in ("early-hints", "early-hint-under-way"):
        rows = compute_page(golden.load(name)).measurement.waterfall.requests
        blocking[name] = [one.blocking for one in rows if one.url.endswith("/a.css")]
    assert blocking == {
        "early-hints": [None, Blocking.RENDERING],
        "early-hint-under-way": [Blocking.RENDERING, Blocking.NOTHING],
    }
