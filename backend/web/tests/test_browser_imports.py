"""Bringing a file in a real browser: chosen or dropped, faults at the field, and a page with a waterfall."""

from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from backend.runs.models import Upload
from backend.runs.tests.factories import NOW
from backend.web.tests import measurements
from backend.web.tests.browsing import PHONE, browsing
from backend.web.tests.world import World, make_import
from workers.measurement.messages import Measured
from workers.tests.measurement.imports import samples

pytestmark = pytest.mark.django_db(transaction=True)
DROP = """(form, [name, text]) => {
  const held = new DataTransfer();
  for (const each of name) held.items.add(new File([text], each));
  for (const kind of ["dragover", "drop"]) {
    form.dispatchEvent(new DragEvent(kind, { dataTransfer: held, bubbles: true, cancelable: true }));
  }
}"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.har"
    path.write_bytes(samples.written(samples.devtools()))
    return path


def choose(page: Page, file: Path) -> None:
    page.get_by_label("File", exact=True).set_input_files(file)


def send(page: Page) -> None:
    page.get_by_role("button", name="Import").click()


def drop(page: Page, document: samples.Document, *names: str) -> None:
    page.locator("form.drop").evaluate(DROP, [list(names), samples.written(document).decode()])


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_a_file_leads_to_its_waterfall(
    world: World, server: LiveServer, broker: str, file: Path, *, script: bool
) -> None:
    with browsing(world, server, script=script) as site:
        page = site.open("/imports/")
        choose(page, file)
        page.get_by_label("Site", exact=True).select_option(label=world.site.name)
        send(page)
        page.wait_for_url("**/imports/*-*/")
        expect(page.get_by_role("heading", level=1)).to_contain_text("uploaded")
        expect(page.locator(".wf-row")).to_have_count(4)
        if script:
            page.locator(".wf-row").nth(1).click()
            expect(page.locator("#details h3")).to_have_text("2. app.js")
        assert site.complaints == []


def test_what_is_dropped_is_taken_and_faults_lose_nothing_that_was_filled_in(
    world: World, server: LiveServer, broker: str
) -> None:
    pages = [samples.page("a"), samples.page("b", started="2026-11-21T12:01:00Z")]
    second = samples.at("https://shop.example/2", started="2026-11-21T12:01:00Z", pageref="b")
    with browsing(world, server) as site:
        page = site.open("/imports/")
        page.get_by_label("Site", exact=True).select_option(label=world.site.name)
        drop(page, samples.devtools(), "a.har", "b.har")
        expect(page.locator("form.drop [role=status]")).to_have_text("These are 2 files. Drop one at a time.")
        drop(page, samples.har(samples.entry("never")), "bad.har")
        send(page)
        expect(page.locator(".errorlist")).to_contain_text("entry 1: startedDateTime is not a date and time")
        chosen = page.get_by_label("File", exact=True)
        assert chosen.evaluate("input => input.files[0].name") == "bad.har"
        assert site.axe() == []
        drop(page, samples.har(samples.entry(pageref="a"), second, pages=pages), "two.har")
        send(page)
        expect(page.locator(".messages")).to_contain_text("2 page loads are imported.")
        # The browser itself tells of the form that was not taken.
        assert [text for text in site.complaints if "422" not in text] == []
    made = [(upload.file_name, upload.site) for upload in Upload.objects.select_related("site")]
    assert made == [("two.har", world.site)] * 2


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_an_import_is_laid_beside_a_run_that_is_chosen(
    world: World, server: LiveServer, broker: str, *, script: bool
) -> None:
    run = world.pending("page", scheduled_for=NOW)
    world.end(run, Measured(measurement=measurements.eventful_page(12)))
    made = make_import(world, site=world.site)
    with browsing(world, server, script=script) as site:
        page = site.open(reverse("web:import", args=[made.public_id]))
        page.get_by_role("link", name="Compare").click()
        page.get_by_label("B, after").select_option(str(run.run_id))
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("heading", level=3).first).to_contain_text("A: Shop out of acme.har")
        page.get_by_role("link", name="Swap").click()
        expect(page.get_by_role("heading", level=3).first).to_contain_text("A: Shop from Eu")
        page.locator("#b2 a").click()
        expect(page.locator("#details h3")).to_have_text("2. app.js")
        assert page.url.partition("#")[0].endswith(f"?a={run.run_id}&b={made.public_id}&request=b2")
        page.goto(page.url.partition("#")[0])
        expect(page.locator("#b2")).to_have_class("wf-row selected")
        if script:
            site.look_over(f"{reverse('web:compare')}?a={made.public_id}")
            site.look_over(f"{reverse('web:compare')}?a={run.run_id}&b={made.public_id}")
        assert site.complaints == []


def test_the_pages_are_accessible_and_fit(world: World, server: LiveServer, broker: str, file: Path) -> None:
    with browsing(world, server, dark=True) as site:
        page = site.open("/imports/")
        choose(page, file)
        send(page)
        page.wait_for_url("**/imports/*-*/")
        made = page.url.removeprefix(server.url)
        for path in (made, "/imports/"):
            site.open(path)
            assert site.axe() == [], (path, "dark")
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.emulate_media(color_scheme="light")
        for path in (made, "/imports/"):
            site.open(path)
            assert not site.is_wider_than_window(), path
            assert site.axe() == [], (path, "phone")
        assert site.complaints == []
