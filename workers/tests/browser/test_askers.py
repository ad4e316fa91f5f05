"""Who asked, in a real Chromium: workers of every kind, also those that begin before anybody can listen to them."""

from collections.abc import Iterator

import pytest

from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom
from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import Answer, Site, serving
from workers.tests.ports import closed_port
from workers.tests.waiting import undisturbed

_STRICT = (("Referrer-Policy", "no-referrer"),)


def script(source: str, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    return Answer(body=source.encode(), kind="text/javascript", headers=headers)


def asks(name: str) -> str:
    """What a worker does at once: all that it may."""
    place = "const at = new URL(self.location.href.replace(/^(blob|data):/, ''))"
    return f"{place}; fetch(at.origin + '/{name}'); new WebSocket(at.origin.replace('http', 'ws') + '/talk-{name}');"


def rows(page: PageMeasurement, name: str) -> list[Request]:
    """What was asked for as that, and the WebSocket besides."""
    found = [one for one in page.waterfall.requests if one.url.endswith((f"/{name}", f"/talk-{name}"))]
    assert {one.resource_type for one in found} == {ResourceType.FETCH, ResourceType.WEBSOCKET}, name
    return found


@pytest.fixture(params=[True, False], ids=["https", "http"])
def either(request: pytest.FixtureRequest) -> Iterator[Site]:
    with serving(secure=request.param) as site:
        yield site


def test_what_a_worker_asks_for_is_its_own_whatever_its_script_is_and_whoever_hears_of_it(
    load: Load, either: Site
) -> None:
    """Of the first requests of a worker that was made on the spot DevTools tells nobody who comes later."""
    either.answers |= {
        "/plain.js": script(asks("plain")),
        "/strict.js": script(asks("strict"), _STRICT),
        "/shared.js": script(asks("shared")),
        "/strictly-shared.js": script(asks("strictly-shared"), _STRICT),
    }
    made = "URL.createObjectURL(new Blob([`{}`]))"
    body = (
        "<script>new Worker('/plain.js'); new Worker('/strict.js');"
        "new SharedWorker('/shared.js'); new SharedWorker('/strictly-shared.js');"
        f"new Worker({made.format(asks('made'))}); new SharedWorker({made.format(asks('made-and-shared'))});"
        "fetch('/of-the-page'); new WebSocket(location.origin.replace('http', 'ws') + '/talk-of-the-page');</script>"
    )
    page = measured(load(either.page("/", body)))
    for name in ("plain", "strict", "shared", "strictly-shared", "made", "made-and-shared"):
        for row in rows(page, name):
            assert RowFlag.WORKER in row.flags, row.url
            assert RowFlag.SERVICE_WORKER not in row.flags, row.url
    for row in rows(page, "of-the-page"):
        assert RowFlag.WORKER not in row.flags, row.url


def test_what_a_service_worker_asks_for_is_not_a_workers(load: Load, site: Site) -> None:
    site.answers["/sw.js"] = script(asks("served"))
    wait = "await navigator.serviceWorker.ready; await fetch('/of-the-page')"
    page = measured(
        load(site.page("/", f"<script type=module>navigator.serviceWorker.register('/sw.js'); {wait}</script>"))
    )
    for row in rows(page, "served"):
        assert RowFlag.SERVICE_WORKER in row.flags, row.url
        assert RowFlag.WORKER not in row.flags, row.url


def test_a_page_that_goes_on_asking_after_it_was_looked_at_has_no_worker_that_asked(load: Load, either: Site) -> None:
    """What it asks for then DevTools tells nobody either."""
    either.answers |= {"/quiet.js": script("1"), "/poll": Answer(body=b"1", kind="text/plain")}
    page = measured(
        load(either.page("/", "<script>new Worker('/quiet.js'); setInterval(() => fetch('/poll'), 20)</script>"))
    )
    polls = [row for row in page.waterfall.requests if row.url.endswith("/poll")]
    assert len(polls) > 10
    assert not [row.number for row in polls if RowFlag.WORKER in row.flags]
    assert {row.initiator_url for row in polls} == {either.url("/")}


def test_a_socket_of_the_page_that_nobody_answers_is_the_pages_also_beside_a_worker(load: Load, either: Site) -> None:
    """DevTools tells that it was made, and nothing else."""
    either.answers["/quiet.js"] = script("1")
    place = f"{either.url('').replace('http', 'ws').partition('//')[0]}//127.0.0.1:{closed_port()}/talk"
    page = measured(load(either.page("/", f"<script>new Worker('/quiet.js'); new WebSocket('{place}')</script>")))
    (row,) = [row for row in page.waterfall.requests if row.resource_type is ResourceType.WEBSOCKET]
    assert row.url == place
    assert row.failure == "ERR_CONNECTION_REFUSED"
    assert RowFlag.WORKER not in row.flags
    assert row.initiator_url == either.url("/")


@pytest.mark.parametrize("kind", ["Worker", "SharedWorker"])
@undisturbed
def test_a_workers_script_that_a_service_worker_gives_is_no_request_to_the_network(
    load: Load, site: Site, kind: str
) -> None:
    """DevTools tells neither who answered it nor with what. A busy browser may ask past the service worker."""
    source = (
        "self.oninstall = () => self.skipWaiting(); self.onactivate = event => event.waitUntil(clients.claim());"
        "self.onfetch = event => event.respondWith(fetch(event.request))"
    )
    site.answers |= {"/sw.js": script(source), "/made.js": script("1")}
    claimed = (
        "await new Promise(done => navigator.serviceWorker.oncontrollerchange = done);"
        "const { active } = await navigator.serviceWorker.ready;"
        "while (active.state !== 'activated') await new Promise(done => active.onstatechange = done)"
    )
    body = (
        f"<script type=module>navigator.serviceWorker.register('/sw.js'); {claimed}; new {kind}('/made.js');"
        "await new Promise(done => setTimeout(done, 300)); await fetch('/after')</script>"
    )
    site.hits.clear()
    rows = measured(load(site.page("/", body))).waterfall.requests
    found = [row for row in rows if row.url.endswith("/made.js")]
    assert len(site.seen("/made.js")) == 1
    assert sorted(row.served_from for row in found) == [ServedFrom.NETWORK, ServedFrom.SERVICE_WORKER], found
    (given,) = [row for row in found if row.served_from is ServedFrom.SERVICE_WORKER]
    assert (given.transferred_bytes, given.timing.wait) == (0, None)
