"""The waterfall under hands and eyes: keys, what is sorted, and what a narrow window leaves room for."""

import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from backend.web.tests import measurements
from backend.web.tests.browsing import browsing
from backend.web.tests.world import World
from backend.web.units import duration
from backend.web.waterfall.axis import LABEL_PERCENT
from workers.measurement.messages import Measured
from workers.measurement.timing import Timing

pytestmark = pytest.mark.django_db(transaction=True)
# Of this machine's own font nobody knows how wide it is: where no other is installed, it is one of typewriters.
PLAIN_FONT = "() => document.documentElement.style.setProperty('--font', 'Liberation Sans')"
NARROWEST = (320, 700)
# The labels of lines of which two lie on each other, or that reach beyond the waterfall.
CROWDED = """() => {
  const frame = document.querySelector(".wf-frame").getBoundingClientRect();
  const texts = [...document.querySelectorAll(".wf-mark-text")];
  const labels = texts.map((one) => [one.textContent, one.getBoundingClientRect()]);
  const meet = (one, other) => one.left < other.right && other.left < one.right && Math.abs(one.top - other.top) < 4;
  const isMet = (box, index) => labels.some(([, other], at) => at !== index && meet(box, other));
  return labels.filter(([, box], index) =>
    box.left < frame.left || box.right > frame.right || isMet(box, index),
  ).map(([text]) => text);
}"""

# The times under the axis: how many are seen and are not, and those that come within two pixels of the one before.
TIMES = """() => {
  const texts = [...document.querySelectorAll(".wf-tick-text")];
  const all = texts.map((one) => [one.textContent, one.getBoundingClientRect()]);
  const seen = all.filter(([, box]) => box.width > 0);
  const met = seen.filter(([, box], index) => index > 0 && box.left < seen[index - 1][1].right + 2);
  return { count: seen.length, hidden: all.length - seen.length, met: met.map(([text]) => text) };
}"""


def run_path(world: World, requests: int = 40) -> str:
    pending = world.pending("page")
    world.end(pending, Measured(measurement=measurements.eventful_page(requests)))
    return reverse("web:run", args=[pending.run_id])


def test_enter_on_a_row_leads_to_the_details_of_that_row(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=2")
        page.locator("#r5 a").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#details")).to_be_focused()
        expect(page.locator("#details h3")).to_contain_text("5. ")
        expect(page.locator("tr.selected")).to_have_id("r5")
        assert page.url.endswith("request=5")
        assert site.complaints == []


def test_links_lead_there_from_what_is_seen_now(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=2")
        page.locator("#wf-q").fill("app")
        page.keyboard.press("Escape")
        page.keyboard.press("+")
        page.get_by_role("button", name="Load", exact=True).click()
        zoom = parse_qs(urlsplit(page.url).query)["zoom"]
        shown = page.locator("tr.wf-row:not([hidden]) a").last
        # A context menu offers its address, and a click with Ctrl opens it beside.
        shown.dispatch_event("pointerdown")
        told = parse_qs(urlsplit(shown.get_attribute("href") or "").query)
        assert (told["q"], told["zoom"], told["hide"]) == (["app"], zoom, ["load"])
        assert told["request"] != ["2"]
        page.get_by_role("link", name="Connections", exact=True).click()
        expect(page.locator(".wf-frame.of-connections")).to_be_visible()
        assert parse_qs(urlsplit(page.url).query) == {"view": ["connections"], "zoom": zoom, "hide": ["load"]}
        page.locator("#details .wf-causes a").first.click()
        expect(page.locator(".wf-frame.of-requests")).to_be_visible()
        asked = parse_qs(urlsplit(page.url).query)
        assert (asked["zoom"], asked["hide"], asked["request"]) == (zoom, ["load"], ["1"])
        page.go_back()
        page.go_back()
        expect(page.locator("#wf-q")).to_have_value("app")
        assert site.complaints == []


def test_while_a_key_is_held_only_the_row_at_which_it_stops_is_asked_for(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=1")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for _ in range(9):
            page.keyboard.down("j")
        page.keyboard.up("j")
        expect(page.locator("tr.selected")).to_have_id("r10")
        expect(page.locator("#details h3")).to_contain_text("10. ")
        assert page.url.endswith("request=10")
        assert [int(url.rpartition("/requests/")[2].partition("?")[0]) for url in asked] == [2, 10]
        assert site.complaints == []


def test_a_stretch_says_how_long_it_is_while_it_is_drawn(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.locator("#waterfall-title").scroll_into_view_if_needed()
        axis = page.locator("thead .wf-cell")
        box, plot = axis.bounding_box(), page.locator(".wf-marks").bounding_box()
        assert box
        assert plot
        y = box["y"] + box["height"] - 4
        page.mouse.move(plot["x"] + plot["width"] / 4, y)
        page.mouse.down()
        page.mouse.move(plot["x"] + plot["width"] / 2, y)
        whole = page.evaluate("JSON.parse(document.getElementById('wf-data-r').textContent)")
        told = page.locator(".wf-band").text_content()
        assert told == duration(round((whole["end_us"] - whole["start_us"]) / 4))
        page.mouse.up()
        expect(page.locator(".wf-band")).to_be_hidden()
        expect(page.locator("#r1 .wf-bar")).to_have_attribute("viewBox", "25 0 25 14")


def test_words_beside_lanes_take_the_room_there_is_and_make_no_row_higher(world: World, server: LiveServer) -> None:
    path = run_path(world, 60)
    with browsing(world, server) as site:
        page = site.open(f"{path}?view=connections")
        spare = "row => row.getBoundingClientRect().height - row.querySelector('svg').getBoundingClientRect().height"
        before = page.locator("tr.wf-row.high").evaluate_all(f"rows => rows.map({spare})")
        assert len(before) == 4
        seen = "one => one.getBoundingClientRect().bottom <= one.closest('tr').getBoundingClientRect().bottom"
        assert all(page.locator(".high .wf-host").evaluate_all(f"all => all.map({seen})"))
        fill = "all => all.forEach((one) => (one.textContent = 'word '.repeat(60)))"
        page.locator(".high .wf-host").evaluate_all(fill)
        assert page.locator("tr.wf-row.high").evaluate_all(f"rows => rows.map({spare})") == before


def test_who_is_signed_out_and_asks_for_a_picture_is_led_to_the_sign_in(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.context.clear_cookies()
        page.locator("a[data-export=png]").click()
        page.wait_for_url("**/account/login/**")


def test_choices_are_told_without_colours_of_our_own(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        site.page.emulate_media(forced_colors="active")
        page = site.open(path)
        for name, chosen in (("Sites", True), ("Alerts", False), ("Requests", True), ("Connections", False)):
            line = page.get_by_role("link", name=name, exact=True).first
            assert ("underline" in line.evaluate("one => getComputedStyle(one).textDecorationLine")) == chosen, name


def test_of_hops_no_key_is_told_that_filters(world: World, server: LiveServer) -> None:
    pending = world.pending("probe")
    world.end(pending, Measured(measurement=measurements.probe()))
    with browsing(world, server) as site:
        page = site.open(reverse("web:run", args=[pending.run_id]))
        expect(page.locator("thead .wf-cell")).to_have_attribute("title", re.compile("drag here to zoom"))
        expect(page.locator(".keys")).not_to_contain_text("filter")
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        expect(page.locator("dialog")).not_to_contain_text("filter")


def test_under_the_sheet_of_keys_nothing_moves_and_escape_closes_only_it(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=2")
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("j")
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_be_hidden()
        expect(page.locator("tr.selected")).to_have_id("r2")
        page.locator("#wf-kind").focus()
        page.keyboard.press("Escape")
        expect(page.locator("tr.selected")).to_have_id("r2")
        assert page.url.endswith("request=2")
        assert site.complaints == []


@pytest.mark.parametrize("column", ["name", "host", "time"])
def test_what_is_sorted_says_so_with_and_without_a_reload(world: World, server: LiveServer, column: str) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.locator(f"[data-sort={column}]").click()
        page.locator(f"[data-sort={column}]").click()
        said = "ascending" if column == "time" else "descending"
        for _ in range(2):
            heading = page.locator("thead [aria-sort]")
            expect(heading).to_have_attribute("aria-sort", said)
            expect(heading.locator(f"[data-sort={column}]")).to_have_count(1)
            expect(page.locator("[data-order]")).to_have_attribute("data-sort", column)
            page.reload()


@pytest.mark.parametrize("zoom", ["900000-950000", "-5--1"])
def test_a_stretch_of_another_view_is_drawn_alike_by_server_and_script(
    world: World, server: LiveServer, zoom: str
) -> None:
    measured = measurements.eventful_page(20)
    early = replace(measured.waterfall.requests[1], number=21)
    early = replace(early, timing=replace(early.timing, start_us=-8_000))
    waterfall = replace(measured.waterfall, requests=(*measured.waterfall.requests, early))
    pending = world.pending("page")
    world.end(pending, Measured(measurement=replace(measured, waterfall=waterfall)))
    path = f"{reverse('web:run', args=[pending.run_id])}?zoom={zoom}"
    seen = []
    for script in (False, True):
        with browsing(world, server, script=script) as site:
            page = site.open(path)
            ticks = page.locator(".wf-tick-text").all_text_contents()
            seen.append((page.locator("#r1 .wf-bar").get_attribute("viewBox"), ticks))
            assert ticks != []
    assert seen[0] == seen[1]


def test_in_the_narrowest_window_no_two_labels_lie_on_each_other(world: World, server: LiveServer) -> None:
    measured = measurements.eventful_page(20)
    slow = replace(measured.vitals, start_render_us=9_400_000, lcp_us=12_340_000, load_us=16_400_000)
    pending = world.pending("page")
    world.end(pending, Measured(measurement=replace(measured, vitals=slow)))
    path = reverse("web:run", args=[pending.run_id])
    with browsing(world, server, size=NARROWEST) as site:
        page = site.open(path)
        page.evaluate(PLAIN_FONT)
        axis = page.locator(".wf-marks").evaluate("lines => lines.getBoundingClientRect().width")
        labels = page.locator(".wf-mark-text").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
        assert max(labels) <= axis * LABEL_PERCENT / 100
        assert page.locator(".wf-mark-text").count() > 4
        assert page.evaluate(CROWDED) == []
        assert not site.is_wider_than_window()


@pytest.mark.parametrize("seconds", [0.9, 3.1, 4.1, 12.0, 59.0])
def test_no_two_times_of_an_axis_lie_on_each_other(world: World, server: LiveServer, seconds: float) -> None:
    measured, end_us = measurements.page(2), round(seconds * 1_000_000)
    vitals = replace(measured.vitals, load_us=end_us, fully_loaded_us=end_us)
    pending = world.pending("page")
    world.end(pending, Measured(measurement=replace(measured, vitals=vitals)))
    path = reverse("web:run", args=[pending.run_id])
    with browsing(world, server) as site:
        page = site.open(path)
        page.evaluate(PLAIN_FONT)
        for zoom in ("", "+"):
            page.keyboard.press(zoom or "Escape")
            # A phone, the same held the other way, a window of half a screen, and all of one.
            for width in (320, 360, 390, 520, 769, 800, 1320):
                page.set_viewport_size({"width": width, "height": 800})
                seen = page.evaluate(TIMES)
                assert seen["met"] == [], (width, zoom, seen)
                assert seen["count"] > 2, (width, zoom)
                assert seen["hidden"] <= (width < 1000), (width, zoom)


def test_a_very_long_address_leaves_room_for_the_phases(world: World, server: LiveServer) -> None:
    measured = measurements.page(3)
    url = f"https://www.shop.example/{'a-very-long-folder/' * 90}end.js"
    requests = (replace(measured.waterfall.requests[0], url=url), *measured.waterfall.requests[1:])
    pending = world.pending("page")
    world.end(
        pending, Measured(measurement=replace(measured, waterfall=replace(measured.waterfall, requests=requests)))
    )
    with browsing(world, server, size=(390, 800)) as site:
        page = site.open(reverse("web:run", args=[pending.run_id]))
        page.locator("#r1 .wf-name").click()
        expect(page.locator("#details.raised")).to_be_visible()
        expect(page.locator("#details")).to_contain_text("Waiting (first byte)")
        expect(page.locator("#details .sum dt").first).to_be_in_viewport()
        page.locator("#details .wf-url summary").click()
        expect(page.locator("#details .wf-url p")).to_have_text(url)
        assert site.axe() == []


def test_without_colours_of_our_own_it_is_still_told_which_lines_are_shown(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        site.page.emulate_media(forced_colors="active")
        page = site.open(path)
        button = page.get_by_role("button", name="Load", exact=True)
        assert "line-through" not in button.evaluate("one => getComputedStyle(one).textDecorationLine")
        button.click()
        assert button.evaluate("one => getComputedStyle(one).textDecorationLine") == "line-through"
        page.locator(".wf-explain summary").click()
        colours = page.locator(".wf-explain .swatch").evaluate_all(
            "all => all.map(one => getComputedStyle(one).backgroundColor)"
        )
        assert len(set(colours)) == len(colours) > 3


def test_times_stand_right_above_the_rows_however_few_labels_are_left(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.locator("#r3 a").focus()
        for key in ("j", "+", "+", "+"):
            page.keyboard.press(key)
        first = page.locator(".wf-row").first.evaluate("row => row.getBoundingClientRect().top")
        ticks = page.locator(".wf-tick-text").evaluate_all("all => all.map(one => one.getBoundingClientRect().bottom)")
        assert ticks != []
        assert all(first - 24 < bottom <= first for bottom in ticks)


def test_the_sheet_tells_only_keys_that_do_something_on_this_page(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server) as site:
        page = site.open(path)
        page.keyboard.press("?")
        sheet = page.locator("dialog")
        expect(sheet.get_by_text("export as HAR")).to_be_visible()
        expect(sheet.get_by_text("older and newer run")).to_be_hidden()
        expect(sheet.locator("dt[data-needs=c]")).to_be_hidden()
        assert site.axe() == []


@pytest.mark.parametrize("requests", [200, 1_000])
def test_a_row_that_the_address_names_is_in_sight_when_the_page_opens(
    world: World, server: LiveServer, requests: int
) -> None:
    path = run_path(world, requests)
    with browsing(world, server) as site:
        page = site.open(f"{path}?request=170")
        expect(page.locator("#r170")).to_be_in_viewport(ratio=1)
        expect(page.locator("#r170")).to_have_class(re.compile("selected"))
        page = site.open(f"{path}?request=170&zoom=0-400#details")
        expect(page.locator("#details")).to_be_in_viewport()
        page = site.open(path)
        expect(page.locator("h1")).to_be_in_viewport()


def test_a_row_without_a_length_has_a_mark_where_it_is(world: World, server: LiveServer) -> None:
    measured = measurements.page(3)
    first, second, *others = measured.waterfall.requests
    at_us = 400_000
    bare = replace(second, timing=Timing(start_us=at_us, end_us=None), failure="ERR_BLOCKED_BY_CLIENT")
    waterfall = replace(measured.waterfall, requests=(first, bare, *others))
    pending = world.pending("page")
    world.end(pending, Measured(measurement=replace(measured, waterfall=waterfall)))
    with browsing(world, server) as site:
        page = site.open(reverse("web:run", args=[pending.run_id]))
        mark = page.locator("#r2 .wf-bar rect")
        expect(mark).to_have_count(1)
        style = "one => { const { height, strokeWidth } = getComputedStyle(one); return [height, strokeWidth]; }"
        assert mark.evaluate(style) == ["10px", "1px"]
        assert page.locator("#r2 .wf-time").text_content() == duration(None)


@pytest.mark.parametrize("kind", ["page", "probe"])
def test_that_there_was_no_answer_is_read_in_full(world: World, server: LiveServer, kind: str) -> None:
    pending = world.pending(kind)
    if kind == "page":
        measured = measurements.page(3)
        bare = replace(measured.waterfall.requests[1], timing=Timing(start_us=400_000, end_us=None), status=None)
        found = replace(measured, waterfall=replace(measured.waterfall, requests=(bare,)))
        world.end(pending, Measured(measurement=found))
    else:
        hop = replace(measurements.probe().hops[0], status=None)
        world.end(pending, Measured(measurement=replace(measurements.probe(), hops=(hop,))))
    with browsing(world, server) as site:
        page = site.open(reverse("web:run", args=[pending.run_id]))
        told = page.locator("tr.wf-row .wf-status")
        for media in ("screen", "print"):
            page.emulate_media(media=media)
            expect(told).to_have_text("no answer")
            assert told.evaluate("one => one.scrollWidth <= one.clientWidth"), media


def test_in_a_window_of_half_a_screen_nothing_is_cut_off(world: World, server: LiveServer) -> None:
    path = run_path(world)
    with browsing(world, server, size=(800, 900)) as site:
        site.open(path)
        assert site.axe() == []
        assert not site.is_wider_than_window()


def test_keys_are_told_only_where_a_script_hears_them(world: World, server: LiveServer) -> None:
    path = run_path(world)
    for script in (True, False):
        with browsing(world, server, script=script) as site:
            expect(site.open(path).locator(".keys")).to_be_visible(visible=script)
