"""What is said of pages that scripts make, and what is not."""

from dataclasses import replace
from typing import Any

import pytest

from workers.measurement.finding import FindingId, Severity
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Blocking, Request, ResourceType, RowFlag
from workers.tests.builders import build_connection, span
from workers.tests.diagnosis.page_sketch import MAIN, evidence_of, open_questions, picture, row, sketch, style, told

MADE = FindingId.PAGE_CLIENT_RENDERED
SCRIPT, FETCH = ResourceType.SCRIPT, ResourceType.FETCH


def script(number: int, start_ms: float, end_ms: float, **changes: Any) -> Request:
    return row(number, SCRIPT, start_ms, end_ms, **changes)


def empty(*rest: Request, fcp_ms: float, **changes: Any) -> PageMeasurement:
    """A page whose document, which has come after 300 ms, shows nothing."""
    return sketch(*rest, fcp_ms=fcp_ms, **({"body_from": (3, 1)} | changes))


def test_a_page_that_a_script_makes_costs_the_time_from_its_document_to_that_script() -> None:
    found = told(empty(script(2, 310, 900), fcp_ms=920), MADE)
    assert found is not None
    assert (found.saving_us, found.severity, found.rows) == (600_000, Severity.HIGH, (2,))
    evidence = evidence_of(found)
    assert (evidence["could_be_painted_ms"], evidence["made_ms"]) == (300.0, 900.0)


def test_what_servers_thought_about_and_sent_is_no_gain() -> None:
    """The request and the first of its answer are on their way for a round trip, and it took 1 ms to send."""
    page = empty(script(2, 310, 500), row(3, FETCH, 500, 900), fcp_ms=920)
    found = told(page, MADE)
    assert found is not None
    trip_us = page.waterfall.connections[0].rtt_us
    assert trip_us is not None
    assert (found.saving_us, found.rows) == (200_000 + 1_000 + trip_us, (2, 3))


def test_a_script_that_reads_no_more_than_the_head_makes_the_page_of_that() -> None:
    """The body comes after the paint, or never."""
    for end in (1_400, None):
        fetched = row(3, FETCH, 500, 1_400, first_ms=900)
        fetched = replace(fetched, timing=replace(fetched.timing, end_us=end and end * 1_000))
        found = told(empty(script(2, 310, 500), fetched, fcp_ms=920), MADE)
        assert found is not None
        assert (found.rows, evidence_of(found)["made_ms"]) == ((2, 3), 900.0)


def test_what_is_still_on_its_way_made_nothing() -> None:
    late = row(3, SCRIPT, 310, 900)
    found = told(empty(script(2, 310, 900), replace(late, timing=replace(late.timing, end_us=None)), fcp_ms=920), MADE)
    assert found is not None
    assert found.rows == (2,)


def test_data_that_is_fetched_at_once_is_waited_for_once() -> None:
    both = (row(3, FETCH, 500, 900), row(4, FETCH, 500, 850))
    one = told(empty(script(2, 310, 500), both[0], fcp_ms=920), MADE)
    two = told(empty(script(2, 310, 500), *both, fcp_ms=920), MADE)
    assert one is not None
    assert two is not None
    assert one.saving_us == two.saving_us


def test_what_a_script_works_until_the_page_is_there_counts_too() -> None:
    page = empty(script(2, 310, 700), fcp_ms=1_120, vitals={"long_tasks": (span(705, 1_100),)})
    found = told(page, MADE)
    assert found is not None
    assert found.saving_us == 800_000


def test_short_scripts_that_run_until_the_page_has_been_read_and_loaded_count_too() -> None:
    """Of a real page: the bundle, two small scripts behind it, and what the page does once it has loaded."""
    read = {"dom_interactive_us": 760_000, "load_us": 790_000}
    found = told(empty(script(2, 310, 700), fcp_ms=830, vitals=read), MADE)
    assert found is not None
    assert (found.saving_us, evidence_of(found)["made_ms"]) == (490_000, 790.0)
    assert MADE in open_questions(empty(script(2, 310, 700), fcp_ms=830))


@pytest.mark.parametrize("meanwhile", [picture(3, 310, 770), style(3, 310, 770, render_blocking=False)])
def test_what_a_page_does_once_it_has_loaded_waits_for_all_that_comes_before(meanwhile: Request) -> None:
    read = {"dom_interactive_us": 760_000, "load_us": 790_000}
    assert MADE in open_questions(empty(script(2, 310, 700), meanwhile, fcp_ms=830, vitals=read))


def test_a_parser_that_may_have_waited_for_a_style_sheet_did_not_work_all_the_while() -> None:
    late = style(3, 310, 745, render_blocking=False)
    page = empty(script(2, 310, 700), late, fcp_ms=800, vitals={"dom_interactive_us": 760_000})
    assert MADE in open_questions(page)


def test_what_else_holds_the_paint_up_is_no_gain() -> None:
    found = told(empty(style(2, 310, 600), script(3, 310, 900), fcp_ms=920), MADE)
    assert found is not None
    assert found.saving_us == 300_000


def test_a_script_that_is_there_before_anything_can_be_painted_runs_first_whatever_the_document_shows() -> None:
    tasks = (span(605, 850),)
    assert told(empty(style(2, 310, 600), script(3, 310, 500), fcp_ms=870, vitals={"long_tasks": tasks}), MADE) is None
    rest = (style(2, 310, 600), script(3, 310, 500), script(4, 850, 1_200))
    found = told(empty(*rest, fcp_ms=1_220, vitals={"long_tasks": tasks}), MADE)
    assert found is not None
    assert found.saving_us == 350_000


def test_what_a_script_that_all_waits_for_worked_before_it_asked_for_more_is_no_gain() -> None:
    holds = script(2, 310, 600, path="app.js", blocking=Blocking.RENDERING, render_blocking=True)
    more = script(3, 640, 900, initiator_url=holds.url)
    found = told(empty(holds, more, fcp_ms=920), MADE)
    assert found is not None
    assert found.saving_us == 260_000


@pytest.mark.parametrize(
    "changes",
    [{"shows_from": (3, 29)}, {"body_from": None}],
    ids=["it shows something", "nobody has read it"],
)
def test_a_document_that_may_show_something_is_not_said_to_be_empty(changes: dict[str, object]) -> None:
    page = empty(script(2, 310, 900), fcp_ms=920, **changes)
    assert told(page, MADE) is None
    assert MADE not in open_questions(page)


def test_a_paint_that_came_long_after_the_last_script_is_left_open() -> None:
    page = empty(script(2, 310, 700), fcp_ms=1_100)
    assert told(page, MADE) is None
    assert MADE in open_questions(page)


def shell(*rest: Request, lcp_ms: float, **changes: Any) -> PageMeasurement:
    """A page whose document shows something, but not the largest text."""
    vitals = {"lcp_us": round(lcp_ms * 1000)}
    page = sketch(*rest, fcp_ms=340, vitals=vitals, body_from=(3, 1), shows_from=(3, 29), text_made=True)
    return replace(page, **changes)


def test_the_largest_text_that_a_script_makes_costs_the_time_from_the_first_paint_on() -> None:
    found = told(shell(script(2, 310, 900), lcp_ms=930), MADE)
    assert found is not None
    assert (found.saving_us, found.rows) == (560_000, (2,))


def test_of_an_empty_document_the_time_counts_until_the_largest_text_is_there() -> None:
    rest = (script(2, 310, 700), script(3, 700, 1_100))
    page = empty(*rest, fcp_ms=720, vitals={"lcp_us": 1_120_000}, text_made=True)
    found = told(page, MADE)
    assert found is not None
    assert found.saving_us == 800_000


@pytest.mark.parametrize("made", [False, None])
def test_a_largest_text_that_stands_in_the_document_is_not_said_to_be_made(made: bool | None) -> None:
    page = shell(script(2, 310, 900), lcp_ms=930, text_made=made)
    assert told(page, MADE) is None
    assert MADE not in open_questions(page)


def test_what_a_strangers_script_puts_beside_the_page_no_document_would_hold() -> None:
    consent = script(2, 310, 900, host="consent.example.net")
    assert told(shell(consent, lcp_ms=930), MADE) is None
    assert told(empty(consent, fcp_ms=930), MADE) is not None


def test_where_a_strangers_script_came_directly_before_the_largest_text_too_nobody_knows_who_made_it() -> None:
    """The page's own counted a visit meanwhile."""
    own = (script(3, 310, 500), row(4, FETCH, 510, 900))
    for end_ms, tasks in ((890, ()), (800, (span(805, 910),))):
        consent = script(2, 310, end_ms, host="consent.example.net")
        page = shell(consent, *own, lcp_ms=930)
        page = replace(page, vitals=replace(page.vitals, long_tasks=tasks))
        assert told(page, MADE) is None
        assert MADE in open_questions(page)
    found = told(shell(script(2, 310, 800, host="ads.example.net"), *own, lcp_ms=930), MADE)
    assert found is not None
    assert found.rows == (2, 3, 4)


@pytest.mark.parametrize("lcp_ms", [1_120, 1_400], ids=["at once", "by a clock"])
def test_what_a_strangers_script_puts_beside_a_page_that_scripts_make_costs_that_nothing(lcp_ms: int) -> None:
    """The document could have held what was painted first, and not the question of the other."""
    rest = (script(2, 310, 700), script(3, 310, 1_100, host="consent.example.net"))
    found = told(empty(*rest, fcp_ms=720, vitals={"lcp_us": lcp_ms * 1000}, text_made=True), MADE)
    assert found is not None
    assert (found.saving_us, found.rows) == (400_000, (2,))


def test_of_a_document_that_was_still_coming_when_it_was_painted_nobody_knows() -> None:
    page = shell(script(2, 310, 900), lcp_ms=930)
    coming = row(1, ResourceType.DOCUMENT, 0, 500, path="", first_ms=250)
    waterfall = replace(page.waterfall, requests=(coming, *page.waterfall.requests[1:]))
    assert told(replace(page, waterfall=waterfall), MADE) is None


def test_a_largest_picture_is_no_text_that_was_made() -> None:
    hero = picture(3, 905, 920, path="hero.png")
    page = shell(script(2, 310, 900), hero, lcp_ms=930)
    vitals = replace(page.vitals, lcp_url=hero.url)
    assert told(replace(page, vitals=vitals), MADE) is None


def test_what_naming_a_picture_in_the_document_gains_is_not_claimed_twice() -> None:
    """It would come from 310 to 810 ms: with both, it is shown 610 ms sooner than it was."""
    hero = picture(3, 900, 1_400, path="hero.png", initiator_url=f"https://{MAIN}/a.js")
    seen = {"lcp_us": 1_420_000, "lcp_url": hero.url}
    page = empty(script(2, 310, 900, path="a.js"), hero, fcp_ms=920, vitals=seen)
    made, late = told(page, MADE), told(page, FindingId.PAGE_LCP_LATE)
    assert made is not None
    assert made.saving_us == 600_000
    assert late is None
    alone = told(replace(page, body_from=None), FindingId.PAGE_LCP_LATE)
    assert alone is not None
    assert alone.saving_us == 500_000


def test_naming_a_picture_gains_less_where_it_comes_beside_all_that_a_page_in_its_document_needs() -> None:
    """As measured at 80 ms: with both, the picture came 426 ms after it was asked for, since the window had not grown,
    and 165 ms without. The page was there 184 ms sooner with both, the picture 172."""
    far = build_connection(
        number=1, host=MAIN, dns=span(0, 90), connect=span(90, 170), tls=span(170, 252), rtt_us=80_000
    )
    app = script(3, 375, 627, first_ms=545, path="app.js", transferred_bytes=82_584)
    hero = picture(5, 838, 1_003, first_ms=920, path="hero.png", transferred_bytes=150_504, initiator_url=app.url)
    seen = {"lcp_us": 1_020_000, "lcp_url": hero.url}
    sheet = style(2, 374, 544, first_ms=464, transferred_bytes=15_677)
    page = empty(sheet, app, row(4, FETCH, 630, 836, first_ms=834), hero, fcp_ms=856, vitals=seen)
    page = replace(page, waterfall=replace(page.waterfall, connections=(far,)))
    made = told(page, MADE)
    assert made is not None
    assert made.saving_us == pytest.approx(172_000, rel=0.1)
    assert told(page, FindingId.PAGE_LCP_LATE) is None


@pytest.mark.parametrize(
    "shown",
    [picture(3, 310, 890), row(3, ResourceType.MEDIA, 310, 1_400)],
    ids=["a picture", "a film"],
)
def test_what_may_be_a_picture_or_a_film_is_left_open(shown: Request) -> None:
    page = empty(script(2, 310, 900), shown, fcp_ms=920)
    assert told(page, MADE) is None
    assert MADE in open_questions(page)


@pytest.mark.parametrize(
    "late",
    [
        script(2, 310, 900, flags=(RowFlag.FRAME,)),
        script(2, 310, 1_500),
        script(2, 310, 340),
        script(2, 310, 900, blocking=Blocking.RENDERING, render_blocking=True),
    ],
    ids=["a frame's own", "behind the paint", "hardly later than the document", "which all waits for"],
)
def test_scripts_that_made_nothing_later_are_no_cause(late: Request) -> None:
    page = empty(late, fcp_ms=920 if late.render_blocking else 350)
    assert told(page, MADE) is None
    assert MADE not in open_questions(page)
