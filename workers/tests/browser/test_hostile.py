"""Pages that take all they can get: each ends in time, within its memory, with a typed outcome, and leaves nothing."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from workers.browser import stock
from workers.browser.pool import BrowserPool
from workers.browser.seen import PageRun
from workers.measurement.compute.page.page import MAX_ROWS
from workers.measurement.failure import FailureKind
from workers.measurement.messages import Failed, PageMeasurement
from workers.measurement.waterfall import TimingSource
from workers.tests.browser import processes
from workers.tests.browser.conftest import failed, measured, page_request
from workers.tests.browser.memory import watched
from workers.tests.browser.sites import IMAGE, Answer, Site, serving
from workers.tests.second_tries import measured_again
from workers.tests.waiting import wait_for

MIB = 1024 * 1024
TIMEOUT_S = 1.5
# What a browser and its driver may grow by, whatever the page does; these pages make them grow by 40 to 530 MiB.
LIMIT_BYTES = 1000 * MIB
# Beyond the time that a page is given: its end, its picture, the log, the computing; much of it, for a busy machine.
OVERHEAD_S = 60.0
MEASURED = None
FLOOD_BYTES = 200 * MIB

_WORKER = """
addEventListener('install', event => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => event.respondWith(fetch(event.request.url + '?' + Math.random())));
"""
_REGISTER = """
navigator.serviceWorker.register('/sw.js').then(r => r.update());
navigator.serviceWorker.oncontrollerchange = () => location.reload();
setTimeout(() => location.reload(), 300);
"""
PAGES: dict[str, tuple[str, set[FailureKind | None]]] = {
    "pictures without end": (
        "<script>let n = 0; const more = () => { const i = new Image(); i.onload = i.onerror = more;"
        "i.src = '/a.png?' + n++ }; more(); more()</script><img src=/slow.png>",
        {FailureKind.PAGE_TIMEOUT},
    ),
    "a farewell that asks": (
        "<script>onbeforeunload = event => { event.preventDefault(); return 'stay' };"
        "onunload = () => { for (;;) {} }</script>",
        {MEASURED},
    ),
    "script that leads on for ever": (
        "<script>location.replace('/?' + Math.random())</script>",
        {FailureKind.PAGE_TIMEOUT},
    ),
    "a reload for ever": ("<script>onload = () => location.reload()</script>", {FailureKind.PAGE_TIMEOUT, MEASURED}),
    "a storm of document.write": (
        "<script>setInterval(() => { for (let n = 0; n < 500; n++)"
        " document.write('<p>more<script>1</' + 'script>') }, 1)</script>",
        {MEASURED, FailureKind.PAGE_TIMEOUT},
    ),
    "a service worker that goes round": (f"<script>{_REGISTER}</script>", {FailureKind.PAGE_TIMEOUT, MEASURED}),
    "a flood of console messages": (
        "<script>setInterval(() => { for (let n = 0; n < 5000; n++)"
        " console.log('word '.repeat(50), {n}) }, 1)</script>",
        {MEASURED, FailureKind.PAGE_TIMEOUT},
    ),
    "a flood of alerts": (
        "<script>setInterval(() => alert('again'), 1)</script>",
        {MEASURED, FailureKind.PAGE_TIMEOUT},
    ),
    "a flood of windows": (
        "<script>setInterval(() => window.open('/popup' + Math.random()), 5)</script>",
        {MEASURED, FailureKind.PAGE_TIMEOUT},
    ),
    "frames within frames": (
        "<script>setInterval(() => { for (let n = 0; n < 20; n++)"
        "document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: '<p>' + n })) }, 5)</script>",
        {MEASURED, FailureKind.PAGE_TIMEOUT},
    ),
    "a flood of workers": (
        "<script>const u = URL.createObjectURL(new Blob(['for (;;) {}']));"
        "for (let n = 0; n < 30; n++) new Worker(u)</script>",
        {MEASURED, FailureKind.PAGE_TIMEOUT},
    ),
}


def kind_of(run: PageRun) -> FailureKind | None:
    return run.outcome.failure.kind if isinstance(run.outcome, Failed) else MEASURED


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_ends_within_its_bounds_and_harms_no_other(name: str, pool: BrowserPool, site: Site) -> None:
    body, kinds = PAGES[name]
    site.answers["/sw.js"] = Answer(body=_WORKER.encode(), kind="text/javascript")
    site.answers["/slow.png"] = Answer(wait_for=site.released)
    fine = site.page("/fine", "<p>fine</p><img src=/a.png>")
    measured(pool.load(page_request(fine)))
    # A busy machine has not come so far at once.
    for timeout_s in (TIMEOUT_S, 8 * TIMEOUT_S):
        begun_s = time.monotonic()
        with watched() as peak:
            run = pool.load(page_request(site.page("/", body), timeout_us=round(timeout_s * 1e6)))
        assert time.monotonic() - begun_s < timeout_s + OVERHEAD_S
        if kind_of(run) in kinds:
            break
        measured_again(f"{kind_of(run)} within {timeout_s} s")
    assert kind_of(run) in kinds
    assert peak.grown_bytes < LIMIT_BYTES
    assert isinstance(run.outcome.measurement, PageMeasurement)
    assert len(run.outcome.measurement.waterfall.requests) <= MAX_ROWS
    after = measured(pool.load(page_request(fine)))
    assert [request.url for request in after.waterfall.requests] == [fine, site.url("/a.png")]
    wait_for(lambda: len(processes.renderers()) <= 2, "the page's processes to end")


def pictures(count: int) -> str:
    return "".join(f"<img src=/a.png?{number}>" for number in range(count))


def test_a_page_of_a_thousand_requests_is_measured_whole(pool: BrowserPool) -> None:
    with serving({"/a.png": IMAGE}, secure=False) as plain, watched() as peak:
        page = measured(pool.load(page_request(plain.page("/", pictures(1000)), timeout_us=60_000_000)))
    assert [request.status for request in page.waterfall.requests] == [200] * 1001
    assert not page.waterfall.truncated
    # On a busy machine Chrome tells DevTools so late of some that they cannot be told from others in the log.
    doubtful = [request for request in page.waterfall.requests if request.timing_source is not TimingSource.NETLOG]
    assert len(doubtful) <= 10
    assert bool(page.warnings) == bool(doubtful)
    assert peak.grown_bytes < LIMIT_BYTES


def is_truncated(run: PageRun) -> bool:
    page = run.outcome.measurement
    return isinstance(page, PageMeasurement) and page.waterfall.truncated


def test_of_ten_thousand_requests_the_first_are_kept_and_the_rest_is_said_to_be_missing(pool: BrowserPool) -> None:
    with serving({"/a.png": IMAGE}, secure=False) as plain, watched() as peak:
        url = plain.page("/", pictures(10_000))
        run = pool.load(page_request(url, timeout_us=4_000_000))
        if not is_truncated(run):
            # A busy machine has not come so far.
            run = pool.load(page_request(url, timeout_us=20_000_000))
    assert kind_of(run) in {FailureKind.PAGE_TIMEOUT, MEASURED}
    page = run.outcome.measurement
    assert isinstance(page, PageMeasurement)
    assert page.waterfall.truncated
    assert len(page.waterfall.requests) == MAX_ROWS
    assert page.waterfall.requests[0].status == 200
    assert peak.grown_bytes < LIMIT_BYTES


def flood() -> Iterator[bytes]:
    for _ in range(FLOOD_BYTES // MIB):
        yield bytes(MIB)


def test_a_download_of_200_mb_is_not_waited_for(pool: BrowserPool, site: Site) -> None:
    site.answers["/file"] = Answer(body=flood, kind="application/zip")
    with watched() as peak:
        begun_s = time.monotonic()
        outcome = failed(pool.load(page_request(site.url("/file"))))
    assert outcome.failure.kind is FailureKind.PAGE_IS_DOWNLOAD
    assert time.monotonic() - begun_s < OVERHEAD_S
    assert peak.grown_bytes < LIMIT_BYTES


def test_a_page_that_reads_200_mb_keeps_within_its_memory(pool: BrowserPool, site: Site) -> None:
    site.answers["/flood"] = Answer(body=flood, kind="application/octet-stream")
    read = "const r = (await fetch('/flood')).body.getReader(); while (!(await r.read()).done);"
    url = site.page("/", f"<script type=module>{read}</script>")
    with watched() as peak:
        run = pool.load(page_request(url, timeout_us=6_000_000))
    assert kind_of(run) in {MEASURED, FailureKind.PAGE_TIMEOUT}
    assert peak.grown_bytes < LIMIT_BYTES
    measured(pool.load(page_request(site.page("/fine", "<p>fine</p>"))))


def test_of_addresses_without_end_a_page_hands_on_the_beginning_alone(
    pool: BrowserPool, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred of 2 MB, asked for in one answer, took the agent 800 MB."""
    told: list[Any] = []
    hosts = stock._hosts

    def look(links: object) -> tuple[str, ...] | None:
        told.append(links)
        return hosts(links)

    monkeypatch.setattr(stock, "_hosts", look)
    href = "'https://a.test/' + 'x'.repeat(2e4)"
    made = f"Object.assign(document.createElement('link'), {{ rel: 'preconnect', href: {href} }})"
    measured(pool.load(page_request(site.page("/", f"<p>fine</p><script>document.head.append({made})</script>"))))
    [[link]] = told
    assert link == f"https://a.test/{'x' * 20_000}"[:4096]
