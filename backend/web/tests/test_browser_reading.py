"""What does not fit is there all the same: under the pointer, in the details, on paper."""

import re
from io import BytesIO

import pytest
from django.urls import reverse
from playwright.sync_api import Page, PdfMargins, expect
from pypdf import PdfReader
from pytest_django.live_server_helper import LiveServer

from backend.web.tests import measurements
from backend.web.tests.browsing import browsing
from backend.web.tests.world import World
from workers.measurement.messages import Measured, PageMeasurement

pytestmark = pytest.mark.django_db(transaction=True)
# Whether all that an element holds can be seen.
IS_WHOLE = "element => element.scrollWidth <= element.clientWidth && element.scrollHeight <= element.clientHeight"

# Each dash would be a line of its own on each page of paper, a hundred thousand in all, and all are read for the text.
WITHOUT_DASHES = """() => {
  const plain = new CSSStyleSheet();
  plain.replaceSync("* { stroke-dasharray: none !important }");
  document.adoptedStyleSheets = [plain];
}"""

# From a row's number to its time, without the number of another one between them.
WHOLE_ROW = re.compile(r"^(\d+)\s(?:(?!^\d+\s)[\s\S])*?example\s+(?:\d{3}|failed) .* ms$", re.MULTILINE)


def run_path(world: World, page: PageMeasurement | None = None) -> str:
    pending = world.pending("page")
    world.end(pending, Measured(measurement=page or measurements.eventful_page(40)))
    return reverse("web:run", args=[pending.run_id])


def test_what_is_cut_off_in_a_row_is_told_under_the_pointer(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        name = page.locator("#r6 .wf-name")
        assert not name.evaluate(IS_WHOLE)
        name.locator(".wf-note").first.hover()
        expect(name).to_have_attribute("title", "blocks rendering · img.shop.example")
        page.locator("#r1 .wf-host").hover()
        expect(page.locator("#r1 .wf-name")).to_have_attribute("title", "www.shop.example")
        assert site.complaints == []


def test_on_paper_everything_can_be_read(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=6")
        headers = page.locator("#details details", has_text="Response headers").locator("dl")
        settings = page.locator(".finding details", has_text="Settings by server").first
        expect(headers).to_be_hidden()
        expect(settings).to_be_visible()
        page.emulate_media(media="print")
        expect(headers).to_be_visible()
        expect(settings).to_be_hidden()
        for row in page.locator(".wf-row .wf-name").all():
            assert row.evaluate(IS_WHOLE), row.inner_text()
        assert page.locator("#details").evaluate(IS_WHOLE)


def sheets(page: Page, *, paper: str = "A4", landscape: bool = False, margin: str = "1cm") -> list[str]:
    """The text of each page of paper."""
    page.evaluate(WITHOUT_DASHES)
    all_around: PdfMargins = {"top": margin, "bottom": margin, "left": margin, "right": margin}
    printed = page.pdf(format=paper, landscape=landscape, margin=all_around)
    return [sheet.extract_text() for sheet in PdfReader(BytesIO(printed)).pages]


def on_paper(world: World, server: LiveServer, requests: int, margin: str) -> list[str]:
    """The text of each page of a run that is printed."""
    path = run_path(world, measurements.eventful_page(requests))
    with browsing(world, server) as site:
        return sheets(site.open(path), margin=margin)


def test_on_paper_a_sum_stands_once_and_below_all_that_it_adds_up(world: World, server: LiveServer) -> None:
    probed = world.pending("probe")
    world.end(probed, Measured(measurement=measurements.probe()))
    with browsing(world, server) as site:
        page = site.open(reverse("web:run", args=[probed.run_id]))
        title = page.get_by_role("heading", name="Where the time went")
        title.evaluate("title => title.before(document.createElement('div'))")
        for down_px in range(0, 760, 50):
            title.evaluate("(title, px) => { title.previousSibling.style.height = `${px}px`; }", down_px)
            (told,) = (text for text in sheets(page, landscape=True) if "Phase Time Share" in text)
            assert "Where the time went" in told, down_px
            assert "Waiting (" in told.partition("Phase Time Share")[2].partition("Total")[0], down_px


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_wherever_a_waterfall_begins_on_paper_rows_follow_its_title_and_its_head(
    world: World, server: LiveServer, paper: str
) -> None:
    path = run_path(world, measurements.eventful_page(10))
    with browsing(world, server) as site:
        page = site.open(path)
        section = page.locator("section[data-mount=waterfall]")
        # Where it would begin moves down a page of this paper, by less than a head is high.
        for down_px in range(0, 760, 25):
            section.evaluate("(section, px) => { section.style.marginTop = `${px}px`; }", down_px)
            pages = sheets(page, paper=paper, landscape=True)
            told = [text for text in pages if "# Request host" in text and "Bandwidth in" not in text]
            assert any("Waterfall\n" in text for text in told), down_px
            for text in told:
                assert WHOLE_ROW.search(text), (down_px, text)


@pytest.mark.parametrize(("requests", "margin"), [(120, "0"), (120, "1cm"), (400, "1cm")])
def test_each_page_of_a_printed_waterfall_has_the_time_axis_and_no_row_is_cut_in_two(
    world: World, server: LiveServer, requests: int, margin: str
) -> None:
    pages = on_paper(world, server, requests, margin)
    rows = [[int(number) for number in WHOLE_ROW.findall(text)] for text in pages]
    assert sorted(number for page in rows for number in page) == list(range(1, requests + 1))
    with_rows = [text for text, numbers in zip(pages, rows, strict=True) if numbers]
    assert len(with_rows) > 3
    for text in with_rows:
        assert "# Request host Status Size Time" in text
        for label in ("500 ms", "First byte 286 ms", "Largest paint 840 ms"):
            assert label in text
    # What is drawn on the same axis below the rows stands together below it, too.
    (below,) = (text for text in pages if "Bandwidth in" in text)
    assert "Long tasks" in below
    assert "First byte 286 ms" in below
