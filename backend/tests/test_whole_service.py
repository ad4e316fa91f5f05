"""From a pasted URL to its waterfall, and through the death of every process: real packets, real Chromium."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import sleep
from typing import ClassVar

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from backend import testing
from backend.testing import wait_until
from backend.tests.whole import EMAIL, Outside, Whole, descendants, whole_service

# The promise is phases within 10 s; a loaded test machine may take longer to show them.
PATIENCE_MS, PATIENCE_S = 300_000, 300
expect.set_options(timeout=PATIENCE_MS)


_PICTURES = "".join(f'<img src="/{number}.svg" width="40" height="40" alt="">' for number in range(6))
_PAGE = f'<!doctype html><title>Little shop</title><link rel="stylesheet" href="/a.css"><h1>Shop</h1>{_PICTURES}'
_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><rect width="4" height="4"/></svg>'


def _content(path: str) -> tuple[bytes, str]:
    if path.endswith(".svg"):
        return _PICTURE.encode(), "image/svg+xml"
    if path.endswith(".css"):
        return b"body{font:16px sans-serif}", "text/css"
    return _PAGE.encode(), "text/html"


class _Shop(BaseHTTPRequestHandler):
    """A page with a style sheet and six pictures; /slow answers after two seconds, so that a run can be interrupted."""

    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self) -> None:
        if self.path.startswith("/slow"):
            sleep(2)
        body, kind = _content(self.path)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """A test's output is for the test."""


class _Origin(_Shop):
    """Where the shop's pages come from: the same shop, and each name under which it was asked."""

    asked: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        self.asked.add(self.headers["Host"])
        super().do_GET()


@contextmanager
def _serving(handler: type[_Shop]) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def shop() -> Iterator[int]:
    """The port of a little shop on loopback."""
    with _serving(_Shop) as port:
        yield port


@pytest.fixture
def origin() -> Iterator[int]:
    """The port of the server behind it."""
    _Origin.asked.clear()
    with _serving(_Origin) as port:
        yield port


@pytest.fixture
def whole(tmp_path: Path, shop: int, origin: int) -> Iterator[Whole]:
    with whole_service(tmp_path, Outside(ports=(shop, origin))) as running:
        yield running


@pytest.fixture
def page() -> Iterator[Page]:
    executable = shutil.which("chromium-headless-shell")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, chromium_sandbox=os.geteuid() != 0)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        yield page
        browser.close()


def _sign_in(page: Page, whole: Whole) -> None:
    page.goto(whole.url)
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(whole.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{whole.url}/sites/**")


def test_a_pasted_url_is_measured_before_it_is_saved_and_shows_its_waterfall(
    whole: Whole, page: Page, shop: int
) -> None:
    _sign_in(page, whole)
    page.goto(f"{whole.url}/sites/add/")
    page.get_by_label("Page address").fill(f"http://localhost:{shop}/")
    page.get_by_role("button", name="Test now").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Testing")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Tested")
    assert whole.rows("SELECT DISTINCT outcome FROM runs_run") == [("measured",)], whole.logs()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Little shop")
    assert whole.rows("SELECT count(*) FROM runs_schedule WHERE enabled") == [(4,)], "two monitors in two regions"
    (run_id,) = whole.rows("SELECT run_id FROM runs_run WHERE kind = 'page' LIMIT 1")[0]
    page.goto(f"{whole.url}/runs/{run_id}/")
    waterfall = page.get_by_role("table").filter(has_text="a.css")
    expect(waterfall).to_contain_text("5.svg")
    expect(page.get_by_role("img", name="Screenshot").or_(page.locator("img[src*=screenshot]")).first).to_be_visible()


def test_a_page_is_loaded_from_its_origin_once_under_its_own_name_and_is_no_news_of_the_site(
    whole: Whole, page: Page, shop: int, origin: int
) -> None:
    run_id = whole.script(_LOAD_ELSEWHERE.format(shop=shop, origin=origin)).splitlines()[-1]
    ended = f"SELECT outcome, trigger FROM runs_run WHERE run_id = '{run_id}'"
    wait_until(lambda: whole.rows(ended), "the load from the origin", timeout_s=PATIENCE_S)
    assert whole.rows(ended) == [("measured", "mapped")], whole.logs()
    assert _Origin.asked == {f"shop.localhost:{shop}"}, "the origin is asked for the shop's own name, by Chrome alone"
    _sign_in(page, whole)
    page.goto(f"{whole.url}/runs/{run_id}/")
    expect(page.get_by_role("table").filter(has_text="a.css")).to_contain_text("5.svg")
    expect(page.get_by_text("once, with a host at another address")).to_be_visible()
    assert run_id not in whole.script(_NEWEST), "what may be another server is no news of the shop"


def test_the_death_of_every_process_loses_no_slot_doubles_none_and_loses_no_result(whole: Whole, shop: int) -> None:
    _register(whole, shop, sites=6)
    since = whole.rows("SELECT now()")[0][0]
    _wait_for_measured(whole, 10)
    _kill_in_mid_run(whole)
    for name in ("scheduler", "web", "agent-here", "sweeper"):
        whole.restart_after_kill(name)
        _wait_for_measured(whole, 8)
    testing.crash_postgres(whole.environment["FIRSTBYTE_DB_HOST"])
    wait_until(whole.answers, "the service after PostgreSQL's death", timeout_s=PATIENCE_S)
    _wait_for_measured(whole, 8)
    until = whole.rows("SELECT now() - interval '15 seconds'")[0][0]
    due = f"SELECT 1 FROM runs_schedule WHERE enabled AND next_at < '{until}'"
    wait_until(lambda: not whole.rows(due), "what was due to be claimed", timeout_s=PATIENCE_S)
    assert _lost_and_doubled(whole, since, until) == ([], []), whole.logs()
    assert {outcome for (outcome,) in whole.rows("SELECT DISTINCT outcome FROM runs_run")} <= {"measured", "missed"}
    unexplained = "SELECT count(*) FROM runs_run WHERE outcome = 'missed' AND missed_reason IS NULL"
    assert whole.rows(unexplained) == [(0,)]


# The page's own schedule rests, so that the load is the only one.
_LOAD_ELSEWHERE = """
from backend.accounts.models import Membership
from backend.runs.actions import load_elsewhere, pause_monitor, register_site
from workers.measurement.page_options import HostMapping
m = Membership.objects.select_related("user", "organisation").first()
url = "http://shop.localhost:{shop}/"
site = register_site(actor=m.user, organisation=m.organisation, name="Shop", url=url)
for monitor in site.monitors.all():
    pause_monitor(actor=m.user, monitor=monitor)
mapping = HostMapping(host="shop.localhost", address="127.0.0.1", port={origin})
print(load_elsewhere(actor=m.user, monitor=site.monitors.get(kind="page"), regions=["here"], mapping=mapping)["here"])
"""
_NEWEST = """
from backend.accounts.models import Organisation
from backend.runs.queries import site_overview
sites = site_overview(Organisation.objects.get())
print([str(last.run.run_id) for site in sites for one in site.monitors for last in one.last if last.run])
"""


def _register(whole: Whole, shop: int, sites: int) -> None:
    """Probe monitors every 30 seconds, as `register_site` makes them, of quick pages and slow ones."""
    lines = [
        "from dataclasses import replace",
        "from backend.accounts.models import Membership",
        "from backend.runs.actions import change_monitor, pause_monitor, register_site",
        "from backend.sites.monitor_settings import defaults",
        "from workers.measurement.messages import Kind",
        "m = Membership.objects.select_related('user', 'organisation').first()",
        f"for n in range({sites}):",
        f'    url = f\'http://localhost:{shop}/{{"slow" if n % 2 else "quick"}}{{n}}\'',
        "    site = register_site(actor=m.user, organisation=m.organisation, name=f'Shop {n}', url=url)",
        "    often = replace(defaults(Kind.PROBE, url), interval_s=30)",
        "    change_monitor(actor=m.user, monitor=site.monitors.get(kind='probe'), settings=often)",
        "    pause_monitor(actor=m.user, monitor=site.monitors.get(kind='page'))",
    ]
    whole.manage("shell", "-c", "\n".join(lines))


def _wait_for_measured(whole: Whole, more: int) -> None:
    query = "SELECT count(*) FROM runs_run WHERE outcome = 'measured'"
    seen = whole.rows(query)[0][0]
    wait_until(lambda: whole.rows(query)[0][0] >= seen + more, f"{more} more measured runs", timeout_s=PATIENCE_S)


def _kill_in_mid_run(whole: Whole) -> None:
    """Kills a measuring process of an agent while it holds a run."""
    held = whole.folder / "spool-there" / "held"

    def is_killed() -> bool:
        for process in held.glob("*"):
            # The folder of a process that has ended goes while we look.
            with suppress(FileNotFoundError):
                pid = int(process.name)
                if os.listdir(process) and pid in descendants(whole.processes["agent-there"].pid):
                    os.kill(pid, 9)
                    return True
        return False

    wait_until(is_killed, "an agent to hold a run", timeout_s=PATIENCE_S)


def _lost_and_doubled(whole: Whole, since: object, until: object) -> tuple[list[object], list[object]]:
    """Slots of the period without a run, ended or pending; and slots with more than one run that is not late."""
    slots = f"""
        SELECT s.monitor_id, s.region_id, slot FROM runs_schedule s, generate_series(
            s.next_at - make_interval(secs => s.interval_s * 40), s.next_at, make_interval(secs => s.interval_s)) slot
        WHERE s.enabled AND slot > '{since}' AND slot < '{until}'"""
    runs = """
        SELECT monitor_id, region_id, scheduled_for FROM runs_run WHERE trigger = 'schedule' AND NOT late
        UNION ALL SELECT monitor_id, region_id, scheduled_for FROM runs_pendingrun WHERE trigger = 'schedule'"""
    lost = whole.rows(f"{slots} EXCEPT ({runs})")
    doubled = whole.rows(f"SELECT * FROM ({runs}) r GROUP BY 1, 2, 3 HAVING count(*) > 1")
    return list(lost), list(doubled)
