"""What is said of files that a page takes out of the cache while something else still brings them."""

from dataclasses import replace

import pytest

from workers.measurement.finding import FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import PlainText
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom
from workers.tests.diagnosis.page_sketch import IN_BODY, MAIN, open_questions, picture, row, sketch, style, told

BLOCKING, IMPORT, LATE = FindingId.PAGE_RENDER_BLOCKING, FindingId.PAGE_CSS_IMPORT, FindingId.PAGE_LCP_LATE
UNCOMPRESSED = FindingId.PAGE_UNCOMPRESSED
FILE = f"https://{MAIN}/a.css"


def from_cache(
    number: int, kind: ResourceType, start_ms: float, end_ms: float, *, path: str, initiator_url: str | None = None
) -> Request:
    served = {"served_from": ServedFrom.DISK_CACHE, "connection": None, "protocol": None, "transferred_bytes": 0}
    rendering = kind in (ResourceType.STYLESHEET, ResourceType.SCRIPT)
    asked = {"path": path, "render_blocking": rendering, "initiator_url": initiator_url}
    return row(number, kind, start_ms, end_ms, **served, **asked)


def preloaded(number: int, start_ms: float, end_ms: float, *, path: str = "a.css") -> Request:
    """By a hint that says that it is something else."""
    return row(number, ResourceType.OTHER, start_ms, end_ms, path=path, flags=(RowFlag.PRELOAD,))


def gained_ms(page: PageMeasurement, id: FindingId) -> float | None:
    found = told(page, id)
    return None if found is None else (found.saving_us or 0) / 1000


def test_what_waits_for_a_hint_that_does_not_match_holds_the_paint_up_until_that_has_brought_it() -> None:
    """In the lab 588 ms of 588: Chrome says of the second row that it blocks, and that it came from the disk."""
    sheet = from_cache(3, ResourceType.STYLESHEET, 311, 701, path="a.css")
    page = sketch(preloaded(2, 310, 700), sheet, fcp_ms=720)
    found = told(page, BLOCKING)
    assert found is not None
    assert (found.saving_us, found.rows) == (401_000, (3,))


def test_fewer_bytes_of_the_row_that_brings_it_are_fewer_for_the_row_that_waits() -> None:
    sheet = from_cache(3, ResourceType.STYLESHEET, 311, 701, path="a.css")
    sizes = {"transferred_bytes": 60_200, "body_bytes": 60_000, "mime_type": "text/css"}
    hint = row(2, ResourceType.OTHER, 310, 700, path="a.css", first_ms=400, **sizes)
    page = sketch(hint, sheet, fcp_ms=720, texts=(PlainText(request=2, body_bytes=60_000, gzip_bytes=10_000),))
    assert (gained_ms(page, UNCOMPRESSED) or 0) > 100


def test_what_had_come_before_it_was_asked_for_waited_for_what_named_it() -> None:
    naming = style(3, 310, 700, path="b.css")
    sheet = from_cache(4, ResourceType.STYLESHEET, 701, 703, path="a.css", initiator_url=naming.url)
    found = told(sketch(preloaded(2, 310, 690), naming, sheet, fcp_ms=720), BLOCKING)
    assert found is not None
    assert (found.saving_us, found.rows) == (403_000, (3,))


def test_what_comes_from_the_disk_of_a_visitor_who_was_there_before_is_nobodys_wait() -> None:
    page = sketch(from_cache(3, ResourceType.STYLESHEET, 310, 701, path="a.css"), fcp_ms=720)
    assert told(page, BLOCKING) is None


def test_an_import_that_was_on_its_way_already_does_not_wait_for_its_importer() -> None:
    importer = style(3, 310, 500, path="a.css")
    imported = from_cache(4, ResourceType.STYLESHEET, 501, 701, path="b.css", initiator_url=FILE)
    page = sketch(preloaded(2, 310, 700, path="b.css"), importer, imported, fcp_ms=720)
    assert told(page, IMPORT) is None
    assert gained_ms(page, BLOCKING) == 401


def test_a_script_that_waits_so_may_make_the_page_all_the_same() -> None:
    """The hint calls it a style sheet."""
    script = from_cache(3, ResourceType.SCRIPT, 311, 701, path="a.js")
    page = sketch(preloaded(2, 310, 700, path="a.js"), script, fcp_ms=720, body_from=(1, 10))
    assert told(page, BLOCKING) is None
    assert BLOCKING in open_questions(page)


NAMING = row(9, ResourceType.SCRIPT, 310, 685)
HERO = f"https://{MAIN}/hero.png"


def taken(start_ms: float, end_ms: float, **changes: object) -> Request:
    """The largest picture, out of a cache."""
    shown = from_cache(8, ResourceType.IMAGE, start_ms, end_ms, path="hero.png", initiator_url=NAMING.url)
    return replace(shown, **changes)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize("cache", [ServedFrom.DISK_CACHE, ServedFrom.MEMORY_CACHE])
@pytest.mark.parametrize(
    ("kind", "flag", "asked_ms", "gained_ms"),
    [
        # As long as it came it would have come from the first on: from 310 ms to 490 ms.
        (ResourceType.IMAGE, RowFlag.FRAME, 400, 203),
        (ResourceType.OTHER, RowFlag.PRELOAD, 310, 203),
        # By a 103 (Early Hints), before the document came.
        (ResourceType.OTHER, RowFlag.PRELOAD, 100, 370),
        (ResourceType.FETCH, RowFlag.WORKER, 400, 203),
    ],
)
def test_a_picture_that_something_else_had_brought_is_late_by_what_it_lay_there_and_what_that_was_asked_late(
    cache: ServedFrom, kind: ResourceType, flag: RowFlag, asked_ms: int, gained_ms: int
) -> None:
    """In the lab 257 ms of 248 for a frame, 104 of 108 for a hint."""
    brought = picture(2, asked_ms, asked_ms + 180, path="hero.png", resource_type=kind, flags=(flag,))
    page = hero_page(brought, taken(690, 693, served_from=cache), lcp_ms=710)
    found = told(page, LATE)
    assert found is not None
    assert (found.saving_us, found.rows) == (gained_ms * 1000, (8,))


def test_a_picture_that_lay_there_for_a_moment_is_not_late() -> None:
    brought = picture(2, 310, 640, path="hero.png", resource_type=ResourceType.OTHER, flags=(RowFlag.PRELOAD,))
    page = hero_page(brought, taken(690, 693), lcp_ms=710)
    assert told(page, LATE) is None
    assert LATE not in open_questions(page)


def test_a_picture_that_a_frame_still_brought_is_as_late_as_the_frames_request() -> None:
    brought = picture(2, 500, 700, path="hero.png", flags=(RowFlag.FRAME,), initiator_url=f"https://{MAIN}/f")
    assert gained_ms(hero_page(brought, taken(690, 701), lcp_ms=710), LATE) == 190


def test_a_picture_that_had_a_place_in_the_page_before_may_be_what_was_painted() -> None:
    """In a second place it says nothing of when the first was known."""
    first = picture(2, 310, 490, path="hero.png", initiator_url=f"https://{MAIN}/")
    assert told(hero_page(first, taken(690, 693), lcp_ms=710), LATE) is None


def test_of_a_picture_that_nothing_of_this_load_brought_nothing_is_said() -> None:
    assert told(hero_page(taken(690, 693), lcp_ms=710), LATE) is None


def test_what_holds_a_picture_up_stands_ahead_of_its_place_and_not_of_its_hint() -> None:
    """In the lab 408 ms."""
    main = f"https://{MAIN}/"
    brought = replace(preloaded(2, 310, 500, path="hero.png"), initiator_url=main, initiator_at=(1, 50))
    script = row(3, ResourceType.SCRIPT, 310, 900, path="b.js", initiator_at=(1, 100), **IN_BODY)
    shown = replace(taken(311, 504), number=4, initiator_url=main, initiator_at=(1, 150))
    vitals = {"lcp_us": 920_000, "lcp_url": HERO}
    found = told(sketch(brought, script, shown, fcp_ms=340, vitals=vitals), FindingId.PAGE_LCP_HELD)
    assert found is not None
    assert (found.saving_us, found.rows) == (400_000, (2, 3))


def hero_page(*rows: Request, lcp_ms: int) -> PageMeasurement:
    ordered = [replace(one, number=number) for number, one in ((7, NAMING), *((one.number, one) for one in rows))]
    vitals = {"lcp_us": lcp_ms * 1000, "lcp_url": HERO}
    return sketch(*sorted(ordered, key=lambda one: one.number), fcp_ms=340, vitals=vitals)
