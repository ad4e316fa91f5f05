"""What hosts cost pages that a real Chromium loads from real servers: what was built in is what is measured."""

from collections.abc import Iterator
from typing import Any

import pytest

from workers.browser.pool import BrowserPool
from workers.commands.load_turns import load_in_turns
from workers.diagnosis.without.cost import Cost, cost_of
from workers.diagnosis.without.samples import Metric
from workers.diagnosis.without.verdict import DIFFERENT, Verdict
from workers.measurement.page_options import PageOptions
from workers.tests.browser.conftest import page_request
from workers.tests.browser.slow_site import Slow, SlowSite, slowly_serving
from workers.tests.browser.twin_pages import at_port, html
from workers.tests.waiting import undisturbed

OTHER, THIRD = "other.localhost", "third.localhost"
BRINGS = """for (const host of ["third.localhost", "127.0.0.1"]) {
  const script = document.createElement("script")
  script.src = `https://${host}:PORT/late.js`
  document.head.append(script)
}"""
BANNER = """addEventListener("DOMContentLoaded", () => {
  const banner = document.createElement("h2")
  banner.id = "banner"
  banner.style = "font-size: 90px"
  banner.textContent = "Buy now and buy again and buy more than that"
  document.body.prepend(banner)
})"""


def script(text: str = "window.ran = true", think_s: float = 0.0) -> Slow:
    return Slow(body=text.encode(), kind="text/javascript", think_s=think_s)


PAGES = {
    "/blocked": html("<script src=https://other.localhost:PORT/slow.js></script>"),
    "/slow.js": script(think_s=0.3),
    "/bringing": html("<script src=https://other.localhost:PORT/brings.js></script>"),
    "/brings.js": script(BRINGS, think_s=0.1),
    "/late.js": script(think_s=0.25),
    "/free": html("<script async src=https://other.localhost:PORT/quick.js></script>"),
    "/quick.js": script(think_s=0.05),
    "/needing": html("<script src=https://other.localhost:PORT/lib.js></script>", "<script>lib.make()</script>"),
    "/lib.js": script("window.lib = {make() { document.body.innerHTML = '<h1>Made</h1>' }}"),
    "/advertising": html("<script src=https://other.localhost:PORT/banner.js></script>"),
    "/banner.js": script(BANNER),
}


@pytest.fixture
def site() -> Iterator[SlowSite]:
    with slowly_serving({}, handshake_s=0.02) as site:
        site.answers = at_port(PAGES, site.port)
        yield site


def cost(pool: BrowserPool, url: str, pairs: int, *hosts: str, **options: Any) -> Cost:
    request = page_request(url, page=PageOptions(without=hosts or (OTHER,), **options))
    return cost_of(request.page.without, load_in_turns(lambda one: pool.load(one).outcome, request, pairs))


@undisturbed
def test_what_a_blocking_script_costs_is_how_long_it_takes(pool: BrowserPool, site: SlowSite) -> None:
    found = cost(pool, site.url("/blocked"), 8)
    assert found.verdict is Verdict.SOONER, found.sentence
    assert found.sentence.startswith("Without other.localhost the largest paint comes 3")
    for metric in (Metric.LCP, Metric.FCP, Metric.START_RENDER, Metric.SPEED_INDEX, Metric.FULLY_LOADED):
        # A connection takes 20 ms, and two flights, besides.
        assert -380_000 < found.metrics[metric].estimate < -300_000, metric
    assert found.metrics[Metric.TBT].verdict not in DIFFERENT
    assert found.metrics[Metric.REQUESTS].estimate == -1
    (estimate,) = [one for one in found.estimates if one.id == "page.render_blocking"]
    assert abs(estimate.saving_us + found.metrics[Metric.FCP].estimate) < 50_000


@undisturbed
def test_what_a_host_brings_goes_with_it(pool: BrowserPool, site: SlowSite) -> None:
    found = cost(pool, site.url("/bringing"), 3)
    assert found.gone == ("127.0.0.1", THIRD)
    assert found.metrics[Metric.REQUESTS].estimate == -3
    # Of the middle of three loads; how exact a cost is, the blocking script tells.
    assert -250_000 < found.metrics[Metric.LCP].estimate < -100_000
    assert -600_000 < found.metrics[Metric.FULLY_LOADED].estimate < -340_000


@undisturbed
def test_a_script_that_nothing_waits_for_costs_no_paint(pool: BrowserPool, site: SlowSite) -> None:
    found = cost(pool, site.url("/free"), 3)
    assert found.pairs == 3, found.warnings
    for metric in (Metric.LCP, Metric.FCP, Metric.TBT):
        assert abs(found.metrics[metric].estimate) < 40_000, metric
    assert found.metrics[Metric.REQUESTS].estimate == -1


@undisturbed
def test_a_page_that_cannot_do_without_a_host_breaks(pool: BrowserPool, site: SlowSite) -> None:
    found = cost(pool, site.url("/needing"), 3)
    assert found.verdict is Verdict.BREAKS
    assert found.sentence == "Without other.localhost the screen stays empty: there is no page to compare with."
    assert any("lib is not defined" in warning.text for warning in found.warnings)


@undisturbed
def test_another_largest_paint_without_a_host_is_told(pool: BrowserPool, site: SlowSite) -> None:
    found = cost(pool, site.url("/advertising"), 3)
    told = "Without other.localhost the largest paint is another element: p instead of h2#banner."
    assert told in [warning.text for warning in found.warnings]


def test_a_host_that_the_page_does_not_ask_has_no_verdict(pool: BrowserPool, site: SlowSite) -> None:
    found = cost(pool, site.url("/free"), 3, THIRD)
    assert (found.verdict, found.pairs) == (Verdict.NOT_ASKED, 0)
    assert found.sentence.startswith(f"The page asked nothing of {THIRD}: there is no verdict. It asked localhost")
