"""The pages in a real browser: no violation of the policy, no error, keys that work, nothing for axe to find."""

import re
from dataclasses import asdict
from datetime import timedelta

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from backend.runs.models import PendingRun
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.testing import wait_until
from backend.web.tests import measurements
from backend.web.tests.browsing import browsing, meanwhile
from backend.web.tests.world import World
from backend.web.waterfall.shapes import SHAPES
from workers.measurement.messages import Measured
from workers.measurement.timing import answer_phases

pytestmark = pytest.mark.django_db(transaction=True)


def run_path(world: World, requests: int = 100, minutes: int = 0) -> str:
    pending = world.pending("page", scheduled_for=NOW - timedelta(minutes=minutes))
    world.end(pending, Measured(measurement=measurements.page(requests)))
    return reverse("web:run", args=[pending.run_id])


def site_path(world: World) -> str:
    for minutes in range(1, 8):
        pending = world.pending("probe", scheduled_for=NOW - timedelta(minutes=minutes))
        world.end(pending, FAILED if minutes == 3 else Measured(measurement=measurements.probe()))
    return f"{reverse('web:site', args=[world.site.public_id])}?kind=probe&range=3h"


def scrolled_to_end(page: Page) -> bool:
    """Presses the key; a page that is not drawn yet does not scroll."""
    page.keyboard.press("End")
    return bool(page.evaluate("scrollY + innerHeight > document.documentElement.scrollHeight - 2"))


def test_run_and_site_are_accessible_and_keep_the_policy(world: World, server: LiveServer) -> None:
    paths = [run_path(world), site_path(world)]
    with browsing(world, server) as site:
        for path in paths:
            site.look_over(path)
        assert site.complaints == []


def test_keys_go_through_the_rows_and_the_address_follows(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator("#details h3")).to_have_text("3. inter.woff2")
        expect(page.locator("tr.selected")).to_have_id("r3")
        assert page.url.endswith("?request=3")
        page.keyboard.press("k")
        expect(page.locator("#details h3")).to_have_text("2. hero.avif")
        page.keyboard.press("Enter")
        expect(page.locator("#details")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("tr.selected")).to_have_count(0)
        expect(page.locator("#r2 a")).to_be_focused()
        assert site.complaints == []


def test_from_a_row_arrows_home_and_end_lead_to_other_rows_and_elsewhere_they_scroll(
    world: World, server: LiveServer
) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        wait_until(lambda: scrolled_to_end(page), "the page to scroll to its end")
        assert "request=" not in page.url
        page.keyboard.press("j")
        for key, row in (("ArrowDown", "r3"), ("End", "r100"), ("ArrowUp", "r99"), ("Home", "r1")):
            page.keyboard.press(key)
            expect(page.locator("tr.selected")).to_have_id(row)
            expect(page.locator(f"#{row} a")).to_be_focused()
        assert site.complaints == []


def test_leaving_the_filter_keeps_what_is_filtered(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.keyboard.press("/")
        page.keyboard.type("404")
        expect(page.locator("output")).to_have_text("1 of 100")
        page.keyboard.press("Escape")
        expect(page.locator("#wf-q")).not_to_be_focused()
        expect(page.locator("#wf-q")).to_have_value("404")
        page.keyboard.press("j")
        expect(page.locator("tr.selected")).to_be_visible()
        assert "q=404" in page.url


def test_on_a_phone_details_lie_over_the_rows_and_rows_can_be_sorted(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.set_viewport_size({"width": 390, "height": 844})
        row, details = page.locator("#r40"), page.locator("#details")
        row.scroll_into_view_if_needed()
        row.click()
        expect(page.locator("#details h3")).to_contain_text("40.")
        expect(details).to_be_in_viewport()
        place, over = row.bounding_box(), details.bounding_box()
        assert place is not None
        assert over is not None
        assert place["y"] + place["height"] <= over["y"]
        page.get_by_role("button", name="Close").click()
        expect(details).not_to_be_in_viewport()
        expect(page.locator("tr.selected")).to_have_count(0)
        page.select_option("#wf-sort", "-size")
        sizes = page.locator("tbody .wf-row").first
        assert page.url.endswith("?sort=-size")
        largest = sizes.get_attribute("id")
        page.reload()
        expect(page.locator("#wf-sort")).to_have_value("-size")
        expect(page.locator("tbody .wf-row").first).to_have_id(largest or "")
        assert site.complaints == []


def test_rows_stay_where_they_are_while_time_is_zoomed(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        heads = [link.bounding_box() for link in page.locator("thead a").all()]
        assert heads
        assert all(head is not None and head["height"] >= 24 for head in heads)
        page.locator("#r1").scroll_into_view_if_needed()
        before = page.locator("#r1").bounding_box()
        for _ in range(3):
            page.keyboard.press("+")
        assert "zoom=" in page.url
        assert page.locator("#r1").bounding_box() == before


def test_each_phase_has_its_own_height_and_place_in_a_row(world: World, server: LiveServer) -> None:
    path = run_path(world)
    drawn = """() => [...document.querySelectorAll("#r1 .wf-bar rect")].map((bar) => {
        const box = bar.getBoundingClientRect();
        return [bar.getAttribute("class"), box.top - bar.parentNode.getBoundingClientRect().top, box.height];
    })"""
    with browsing(world, server) as site:
        bars = site.open(path).evaluate(drawn)
    assert {phase for phase, *_ in bars} >= {"p-dns", "p-wait", "p-download"}
    for phase, top, height in bars:
        assert (top, height) == pytest.approx(SHAPES[phase.removeprefix("p-")])


def test_bars_of_a_part_of_the_time_stay_out_of_the_words_beside_them(world: World, server: LiveServer) -> None:
    path = run_path(world)
    # What lies in the middle of the first row's size, or else the bar that was drawn over it.
    under = """() => {
        const { left, top, width, height } = document.querySelector("#r1 .wf-size").getBoundingClientRect();
        return document.elementFromPoint(left + width / 2, top + height / 2).closest("td, svg").getAttribute("class");
    }"""
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=1")
        page.locator("thead .wf-cell").scroll_into_view_if_needed()
        axis = page.locator("thead .wf-cell").bounding_box()
        assert axis is not None
        # The first row ends left of it, by less than its own length.
        left, right = axis["x"] + axis["width"] * 0.35, axis["x"] + axis["width"] * 0.6
        page.mouse.move(left, axis["y"] + axis["height"] - 4)
        page.mouse.down()
        page.mouse.move(right, axis["y"] + axis["height"] - 4)
        page.mouse.up()
        expect(page.locator(".wf-frame")).to_have_class(re.compile("zoomed"))
        page.locator("#r1").scroll_into_view_if_needed()
        assert page.evaluate(under) == "wf-size"
        page.keyboard.press("0")
        expect(page.locator(".wf-frame")).not_to_have_class(re.compile("zoomed"))


def test_typing_filters_at_once_and_survives_a_reload(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.keyboard.press("/")
        page.keyboard.type("404")
        expect(page.locator("output")).to_have_text("1 of 100")
        expect(page.locator("tr.wf-row:visible")).to_have_count(1)
        page.reload()
        expect(page.locator("tr.wf-row:visible")).to_have_count(1)
        page.locator("#wf-q").fill("nowhere")
        expect(page.locator(".wf-none")).to_be_visible()
        assert site.complaints == []


def test_of_two_thousand_rows_only_those_in_sight_are_drawn(world: World, server: LiveServer) -> None:
    path = run_path(world, 2_000)
    with browsing(world, server) as site:
        page = site.open(path)
        expect(page.locator("output")).to_have_text("2,000 of 2,000")
        assert page.locator("tr.wf-row").count() < 120
        page.locator("#wf-q").fill("/1999/")
        expect(page.locator("tr.wf-row")).to_have_count(1)
        page.locator("#wf-q").fill("")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(page.locator("tr.wf-row").last).to_have_attribute("aria-rowindex", "2001")
        assert site.complaints == []


def test_two_runs_are_compared_row_by_row(world: World, server: LiveServer) -> None:
    runs = [run_path(world, requests, minutes=40 - requests).split("/")[2] for requests in (30, 31)]
    with browsing(world, server) as site:
        page = site.open(f"{reverse('web:compare')}?a={runs[0]}&b={runs[1]}")
        page.locator("#b3 a").click()
        expect(page.locator("#b3")).to_have_class("wf-row selected")
        expect(page.locator("#a3")).to_have_class("wf-row matched")
        expect(page.locator("#details h3")).to_have_text("3. inter.woff2")
        page.locator("#a5").hover()
        expect(page.locator("#b5")).to_have_class("wf-row matched")
        page.locator("#wf-only").select_option("differs")
        expect(page.locator("tr.wf-row:visible")).not_to_have_count(61)
        expect(page.locator("#b31")).to_be_visible()
        page.reload()
        expect(page.locator("#b3")).to_have_class("wf-row selected")
        with page.expect_download() as download:
            page.get_by_text("PNG").click()
        assert download.value.path().read_bytes().startswith(b"\x89PNG")
        assert site.axe() == []
        assert site.complaints == []


def test_the_chart_is_drawn_with_the_figures_behind_it(world: World, server: LiveServer) -> None:
    path = site_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}&region=eu")
        painted = (
            "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(byte => byte)"
        )
        chart = page.locator("canvas")
        wait_until(lambda: chart.evaluate(painted), "the chart to be drawn")
        page.get_by_text("Show as table").click()
        expect(page.get_by_role("cell", name="311 ms").first).to_be_visible()
        assert site.complaints == []


def test_lines_of_the_chart_are_told_apart_in_the_readers_own_colours_too(world: World, server: LiveServer) -> None:
    path = site_path(world)
    with browsing(world, server) as site:
        site.page.emulate_media(forced_colors="active")
        chart = site.open(f"{path}&region=eu").locator("canvas")
        coloured = """canvas => {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return data.some((red, at) => at % 4 === 0 && data[at + 3] > 250 && Math.abs(red - data[at + 2]) > 60);
        }"""
        wait_until(lambda: chart.evaluate(coloured), "lines in colours")


def test_without_the_script_no_room_is_kept_for_a_chart(world: World, server: LiveServer) -> None:
    path = site_path(world)
    with browsing(world, server, script=False) as site:
        page = site.open(path)
        expect(page.locator("canvas")).to_be_hidden()
        page.get_by_text("Show as table").click()
        expect(page.get_by_role("cell", name="311 ms").first).to_be_visible()


def test_a_person_who_waits_sees_the_result_without_doing_anything(world: World, server: LiveServer) -> None:
    pending = world.pending("probe", urgent=True, scheduled_for=NOW)
    path = f"{reverse('web:trial', args=[world.site.public_id])}?run={pending.run_id}"
    with browsing(world, server) as site:
        page = site.open(path)
        expect(page.get_by_role("heading", level=1)).to_have_text("Testing Shop from Eu")
        begun = PendingRun.objects.filter(pk=pending.pk)
        meanwhile(lambda: begun.update(stage="connecting", agent="agent-of-eu"))
        expect(page.locator("li.now")).to_contain_text("connecting")
        meanwhile(lambda: world.end(pending, Measured(measurement=measurements.probe())))
        expect(page.get_by_role("heading", level=1)).to_have_text("Tested Shop from Eu")
        expect(page.locator("li.done")).to_contain_text("first byte after 311 ms")
        assert site.complaints == []


def test_phases_come_while_a_probe_looks_deeper_and_go_if_it_fails_after_all(world: World, server: LiveServer) -> None:
    probe, load = (world.pending(kind, urgent=True, scheduled_for=NOW) for kind in ("probe", "page"))
    path = f"{reverse('web:trial', args=[world.site.public_id])}?run={probe.run_id}&run={load.run_id}"
    early = asdict(answer_phases([hop.timing for hop in measurements.probe().hops]))
    with browsing(world, server) as site:
        page = site.open(path)
        table = page.get_by_role("table", name="Phases of the last hop")
        expect(table).to_have_count(0)
        page.evaluate("document.body.dataset.same = 'yes'")
        meanwhile(lambda: PendingRun.objects.filter(pk=probe.pk).update(stage="loading", agent="eu", phases=early))
        expect(page.locator("li.now")).to_contain_text("first byte after 311 ms")
        expect(page.locator("li.now")).to_contain_text("looking deeper")
        expect(table.get_by_role("rowheader", name="Waiting (first byte)")).to_be_visible()
        meanwhile(lambda: world.end(probe, FAILED))
        expect(page.locator("li.failed")).to_contain_text("refused")
        expect(table).to_have_count(0)
        assert page.evaluate("document.body.dataset.same") == "yes", "nothing moved under anybody's hands"
        assert site.complaints == []


def test_phases_say_no_more_that_the_probe_looks_deeper_once_it_has_ended(world: World, server: LiveServer) -> None:
    probe, load = (world.pending(kind, urgent=True, scheduled_for=NOW) for kind in ("probe", "page"))
    PendingRun.objects.filter(pk=probe.pk).update(
        stage="loading", agent="eu", phases=asdict(answer_phases([hop.timing for hop in measurements.probe().hops]))
    )
    path = f"{reverse('web:trial', args=[world.site.public_id])}?run={probe.run_id}&run={load.run_id}"
    with browsing(world, server) as site:
        page = site.open(path)
        expect(page.locator("[data-live=phases]")).to_contain_text("It goes on looking deeper")
        meanwhile(lambda: world.end(probe, Measured(measurement=measurements.probe())))
        expect(page.locator("li.done")).to_contain_text("first byte after 311 ms")
        expect(page.locator("[data-live=phases]")).not_to_contain_text("It goes on looking deeper")
        expect(page.get_by_role("table", name="Phases of the last hop")).to_be_visible()
        assert site.complaints == []


def test_without_the_script_rows_are_links(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server, script=False) as site:
        page = site.open(path)
        page.locator("#r18 a").click()
        expect(page.locator("#details h3")).to_have_text("18. app.css")
        page.locator("#wf-q").fill("404")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator("output")).to_have_text("1 of 100")


def test_dragging_along_the_axis_zooms_and_a_double_click_shows_all(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.locator(".wf").evaluate("table => table.scrollIntoView()")
        head, plot = (page.locator(name).bounding_box() for name in (".wf thead .wf-cell", ".wf-marks"))
        assert head is not None
        assert plot is not None
        y, left, width = head["y"] + head["height"] / 2, plot["x"], plot["width"]
        whole = page.locator("#r18 .wf-bar").get_attribute("viewBox")

        def drag(begin: float, end: float) -> None:
            page.mouse.move(left + begin * width, y)
            page.mouse.down()
            page.mouse.move(left + (begin + end) / 2 * width, y + 200)
            page.mouse.move(left + end * width, y + 200)

        drag(0.75, 0.25)
        band = page.locator(".wf-band").bounding_box()
        assert band is not None
        assert band["x"] == pytest.approx(left + width / 4, abs=1.5)
        assert band["width"] == pytest.approx(width / 2, abs=1.5)
        page.mouse.up()
        expect(page.locator(".wf-band")).to_be_hidden()
        box = [float(one) for one in (page.locator("#r18 .wf-bar").get_attribute("viewBox") or "").split()]
        assert (box[0], box[2]) == pytest.approx((25, 50), abs=0.5)
        assert "zoom=" in page.url
        ticks = page.locator(".wf-tick-text").all_text_contents()
        # From the address the server draws the same part of the time.
        page.reload()
        assert page.locator(".wf-tick-text").all_text_contents() == ticks
        page.locator(".wf").evaluate("table => table.scrollIntoView()")
        # A hand that shakes while it clicks zooms nothing; a double click shows all.
        drag(0.5, 0.502)
        page.mouse.up()
        assert page.locator(".wf-tick-text").all_text_contents() == ticks
        page.mouse.dblclick(left + width / 2, y)
        expect(page.locator("#r18 .wf-bar")).to_have_attribute("viewBox", str(whole))
        assert "zoom=" not in page.url
        assert site.complaints == []
