"""What is said of the first paint, and above all what is not: files that look as if they held it up and did not."""

from dataclasses import replace

import pytest

from workers.measurement.finding import FindingId, NotJudged, NotJudgedReason, Severity
from workers.measurement.page_view import PlainText
from workers.measurement.waterfall import Blocking, Place, Request, ResourceType, RowFlag, TimingSource
from workers.tests.builders import span
from workers.tests.diagnosis.page_sketch import (
    IN_BODY,
    MAIN,
    diagnosed,
    evidence_of,
    open_questions,
    picture,
    row,
    sketch,
    style,
    told,
)

BLOCKING, THIRD = FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_THIRD_PARTY_BLOCKING
UNCACHED, UNCOMPRESSED = FindingId.PAGE_UNCACHED, FindingId.PAGE_UNCOMPRESSED
STRANGER = "cdn.example.net"


def test_what_blocks_costs_the_time_from_the_document_to_its_end() -> None:
    found = told(sketch(style(2, 310, 700), fcp_ms=720), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.severity, found.rows) == (400_000, Severity.HIGH, (2,))


def test_no_page_is_painted_before_the_browser_begins_to_read_its_document() -> None:
    """A browser that is just starting, or has much to do, reads late what came early."""
    found = told(sketch(style(2, 360, 700, initiator_url=f"https://{MAIN}/"), fcp_ms=720), BLOCKING)
    assert found is not None
    assert found.saving_us == 340_000


@pytest.mark.parametrize(
    ("parsed_ms", "ends_ms", "saving_us"),
    [
        (None, (700,), 340_000),
        (355, (700,), 340_000),
        (380, (700,), 320_000),
        (600, (700,), 240_000),
        (700, (700,), 240_000),
        (701, (700,), 340_000),
        (380, (375, 700), 340_000),
    ],
)
def test_no_page_is_painted_before_the_browser_has_read_its_document(
    parsed_ms: int | None, ends_ms: tuple[int, ...], saving_us: int
) -> None:
    """While its style sheet came it read what it asked for at 360 ms. Measured with 60 pictures in the document: 92 and
    106 ms were told, 76 and 92 gained. A long document is painted before it has been read to its end, and where the
    parser may have stopped for something nobody knows how long it takes."""
    sheets = [style(n, 360, end_ms, initiator_url=f"https://{MAIN}/") for n, end_ms in enumerate(ends_ms, start=2)]
    vitals = {} if parsed_ms is None else {"dom_interactive_us": parsed_ms * 1000}
    found = told(sketch(*sheets, fcp_ms=720, vitals=vitals), BLOCKING)
    assert (found and found.saving_us) == saving_us


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


@pytest.mark.parametrize(("worked_until_ms", "saving_us"), [(850, 400_000), (780, None)])
def test_what_came_while_scripts_worked_that_a_file_had_stopped_did_not_hold_the_paint_up(
    worked_until_ms: int, saving_us: int | None
) -> None:
    deferred = row(3, ResourceType.SCRIPT, 310, 760)
    busy = {"long_tasks": (span(705, 770), span(772, worked_until_ms))}
    page = sketch(style(2, 310, 700), deferred, fcp_ms=870, vitals=busy)
    found = told(page, BLOCKING)
    assert (found and found.saving_us) == saving_us
    assert (BLOCKING in open_questions(page)) is (saving_us is None)


@pytest.mark.parametrize(("parsed_us", "saving_us"), [(830_000, 400_000), (None, None)])
def test_a_paint_directly_behind_the_reading_of_the_page_waited_for_what_had_stopped_that(
    parsed_us: int | None, saving_us: int | None
) -> None:
    deferred = row(3, ResourceType.SCRIPT, 310, 850)
    page = sketch(style(2, 310, 700), deferred, fcp_ms=870, vitals={"dom_interactive_us": parsed_us})
    found = told(page, BLOCKING)
    assert (found and found.saving_us) == saving_us
    assert (BLOCKING in open_questions(page)) is (saving_us is None)


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
    assert diagnosed(sketch(*rest, fcp_ms=340)).findings == ()


@pytest.mark.parametrize(("picture_ms", "lcp_ms", "is_open"), [(570, 640, False), (570, 601, True), (598, 640, True)])
def test_a_picture_that_was_there_and_was_painted_after_the_first_paint_did_not_make_it(
    picture_ms: int, lcp_ms: int, is_open: bool
) -> None:
    """As on WordPress's pages, whose words come with their style sheets and whose picture a frame later."""
    shown = picture(3, 320, picture_ms)
    largest = {"lcp_us": lcp_ms * 1000, "lcp_url": shown.url}
    page = sketch(style(2, 310, 530, path="a.css"), shown, fcp_ms=600, vitals=largest)
    assert (BLOCKING in open_questions(page)) is is_open
    assert (told(page, BLOCKING) is None) is is_open


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


def test_a_document_that_comes_in_pieces_is_painted_no_sooner_than_its_first_words_come() -> None:
    document = row(1, ResourceType.DOCUMENT, 0, 1_900, first_ms=100, path="")
    page = sketch(style(2, 110, 400), fcp_ms=720, document=document)
    # Its words came behind the style sheet, or nobody knows when.
    assert told(replace(page, words_us=700_000), BLOCKING) is None
    assert told(page, BLOCKING) is None
    assert NotJudged(id=BLOCKING, reason=NotJudgedReason.PAINT_ELSEWHERE) in diagnosed(page).not_judged
    # What was painted first were no words, which came later: nobody knows when it had come.
    assert told(replace(page, words_us=1_800_000), BLOCKING) is None
    assert BLOCKING in open_questions(replace(page, words_us=1_800_000))
    held = sketch(style(2, 110, 700), fcp_ms=720, document=document, words_us=500_000)
    assert (found := told(held, BLOCKING)) is not None
    assert found.saving_us == 200_000
    assert (found := told(replace(held, words_us=105_000), BLOCKING)) is not None
    assert found.saving_us == 590_000


@pytest.mark.parametrize(("words_us", "saving_us"), [(120_000, 580_000), (350_000, 350_000), (None, 100_000)])
def test_what_came_after_a_document_in_pieces_held_its_first_words_up_from_when_they_had_come(
    words_us: int | None, saving_us: int
) -> None:
    """Where nobody knows when that was, from when the document was complete."""
    document = row(1, ResourceType.DOCUMENT, 0, 600, first_ms=100, path="")
    page = sketch(style(2, 110, 700), fcp_ms=715, document=document, words_us=words_us)
    assert (found := told(page, BLOCKING)) is not None
    assert found.saving_us == saving_us


@pytest.mark.parametrize(("host", "expected"), [(MAIN, BLOCKING), (STRANGER, THIRD)])
def test_a_script_ahead_of_all_that_the_body_shows_holds_the_paint_up(host: str, expected: FindingId) -> None:
    script = row(2, ResourceType.SCRIPT, 310, 690, host=host, initiator_at=(3, 20), **IN_BODY)
    found = told(sketch(script, fcp_ms=705, shows_from=(3, 29)), expected)
    assert found is not None
    assert (found.saving_us, found.rows) == (380_000, (2,))


def test_a_style_sheet_in_the_body_counts_with_the_one_in_the_head() -> None:
    head, body = style(2, 310, 600), style(3, 310, 690, initiator_at=(3, 20), **IN_BODY)
    found = told(sketch(head, body, fcp_ms=705, shows_from=(3, 29)), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.rows) == (380_000, (2, 3))


def test_what_a_style_sheet_in_the_body_imports_or_leads_to_holds_the_paint_up_too() -> None:
    moved = style(2, 310, 400, initiator_at=(3, 20), path="r", redirected_to=f"https://{MAIN}/b.css", **IN_BODY)
    sheet = style(3, 400, 500, path="b.css", render_blocking=None)
    imported = style(4, 505, 690, path="c.css", **(IN_BODY | {"initiator_url": sheet.url}))
    page = sketch(moved, sheet, imported, fcp_ms=705, shows_from=(3, 29))
    found, import_ = told(page, BLOCKING), told(page, FindingId.PAGE_CSS_IMPORT)
    assert found is not None
    assert found.rows == (2, 3, 4)
    assert import_ is not None
    assert (found.saving_us or 0) + (import_.saving_us or 0) == 380_000


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
    assert NotJudged(id=id, reason=NotJudgedReason.MADE_LATER) in diagnosed(empty).not_judged
    assert told(replace(empty, shows_from=(3, 29)), id) is not None
    assert told(replace(empty, body_from=None), id) is not None


@pytest.mark.parametrize(("kind", "is_told"), [(ResourceType.SCRIPT, False), (ResourceType.STYLESHEET, True)])
def test_scripts_of_a_file_are_left_open_since_nobody_can_read_its_document(kind: ResourceType, is_told: bool) -> None:
    """Whether they make what is shown no archive tells: an application's looks as that of any page."""
    file = {"timing_source": TimingSource.ARCHIVE, "render_blocking": True}
    page = sketch(row(2, kind, 310, 690, **file), fcp_ms=705)
    assert (told(page, BLOCKING) is not None, BLOCKING in open_questions(page)) == (is_told, not is_told)


def test_style_sheets_ahead_of_the_scripts_that_make_a_page_cost_what_they_come_later() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 500, render_blocking=True)
    found = told(sketch(script, style(3, 310, 690), fcp_ms=705, body_from=(3, 1)), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.rows) == (190_000, (3,))


@pytest.mark.parametrize(("host", "id"), [(MAIN, BLOCKING), (STRANGER, THIRD)])
@pytest.mark.parametrize("kind", [ResourceType.SCRIPT, ResourceType.FETCH])
def test_style_sheets_beside_what_makes_a_page_and_blocks_nothing_are_left_open(
    kind: ResourceType, host: str, id: FindingId
) -> None:
    """An application that comes with its style sheet is drawn no sooner without that."""
    made = sketch(style(2, 310, 690, host=host), row(3, kind, 310, 695), fcp_ms=705, body_from=(3, 1))
    assert told(made, id) is None
    assert id in open_questions(made)
    assert told(replace(made, shows_from=(3, 29)), id) is not None


@pytest.mark.parametrize(
    ("script", "saving_us"),
    [
        (row(3, ResourceType.SCRIPT, 310, 500), 190_000),
        (row(3, ResourceType.SCRIPT, 310, 800), 390_000),
        (row(3, ResourceType.SCRIPT, 310, 695, flags=(RowFlag.FRAME,)), 390_000),
    ],
)
def test_a_style_sheet_costs_what_it_comes_later_than_what_may_make_the_page(script: Request, saving_us: int) -> None:
    """What came after the first paint, or belongs to a frame, did not make it."""
    found = told(sketch(style(2, 310, 690), script, fcp_ms=705, body_from=(3, 1)), BLOCKING)
    assert found is not None
    assert found.saving_us == saving_us


@pytest.mark.parametrize(
    ("changes", "saving_us"),
    [
        ({}, 190_000),
        ({"initiator_at": None}, 390_000),
        ({"flags": (RowFlag.PRELOAD,)}, 390_000),
        ({"flags": (RowFlag.FRAME,)}, 390_000),
    ],
)
def test_a_document_without_words_is_painted_no_sooner_than_its_first_picture_comes(
    changes: dict[str, object], saving_us: int
) -> None:
    first, second = picture(3, 310, 500, **({"initiator_at": (3, 9)} | changes)), picture(4, 310, 600)
    page = sketch(style(2, 310, 690), first, second, fcp_ms=705, body_from=(3, 1))
    assert (found := told(page, BLOCKING)) is not None
    assert found.saving_us == saving_us
    assert (found := told(replace(page, shows_from=(3, 29)), BLOCKING)) is not None
    assert found.saving_us == 390_000


@pytest.mark.parametrize(("came_on_us", "saving_us"), [(None, 250_000), (880_000, 20_000)])
def test_a_document_comes_sooner_for_fewer_bytes_from_when_it_came_on_alone(
    came_on_us: int | None, saving_us: int
) -> None:
    """Its server thought in the middle of it, however much there was."""
    sizes = {"transferred_bytes": 40_200, "body_bytes": 40_000}
    document = row(1, ResourceType.DOCUMENT, 0, 900, first_ms=300, path="", **sizes)
    texts = (PlainText(request=1, body_bytes=40_000, gzip_bytes=12_000),)
    found = told(sketch(fcp_ms=920, document=document, texts=texts, came_on_us=came_on_us), UNCOMPRESSED)
    assert found is not None
    assert found.saving_us is not None
    assert (found.saving_us > saving_us) if came_on_us is None else (found.saving_us == saving_us)


def test_one_that_ended_after_the_first_paint_did_not_hold_it_up() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 690, initiator_at=(3, 20), **IN_BODY)
    assert told(sketch(script, fcp_ms=420, shows_from=(3, 29)), BLOCKING) is None


def test_a_paint_that_a_script_in_the_body_may_have_held_up_is_left_open() -> None:
    script = row(2, ResourceType.SCRIPT, 310, 690, render_blocking=False)
    page = sketch(script, fcp_ms=700)
    assert told(page, BLOCKING) is None
    assert BLOCKING in open_questions(page)
    assert BLOCKING not in open_questions(sketch(script, fcp_ms=340))


def test_a_long_chain_of_imports_is_followed_to_its_end() -> None:
    """Longer than Python lets functions call themselves."""
    chain = [style(2, 310, 330)]
    for number in range(3, 2_000):
        start_ms = 290 + 20 * (number - 1)
        chain.append(style(number, start_ms, start_ms + 20, initiator_url=chain[-1].url))
    found = told(sketch(*chain, fcp_ms=20 * 2_000 + 290), BLOCKING)
    assert found is not None


@pytest.mark.parametrize(("flags", "saving_us"), [((), None), ((RowFlag.FRAME,), 110_000)])
def test_a_font_that_the_first_paint_came_directly_after_held_it_up_unless_it_is_a_frames(
    flags: tuple[RowFlag, ...], saving_us: int | None
) -> None:
    page = sketch(style(2, 310, 410), row(3, ResourceType.FONT, 412, 600, flags=flags), fcp_ms=620)
    found = told(page, BLOCKING)
    assert (found and found.saving_us) == saving_us
