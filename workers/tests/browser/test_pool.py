"""The life of browsers: warm, cold inside, closed when idle, replaced when old, and gone without a trace."""

import errno
import gc
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from workers.browser import session
from workers.browser.chromium import find_chromium, inspect_chromium
from workers.browser.faults import BrowserError
from workers.browser.guard import Guard
from workers.browser.pool import BrowserPool
from workers.browser.seat import Seat
from workers.browser.seen import PageRun
from workers.browser.workspace import Workspace, sweep
from workers.measurement.addresses import parse_networks
from workers.measurement.failure import Blame, FailureKind
from workers.measurement.messages import ProgressStage
from workers.measurement.page_options import PageOptions, Visit, WaitFor
from workers.tests.browser import processes
from workers.tests.browser.conftest import Load, browser_settings, failed, measured, page_request
from workers.tests.browser.sites import Site
from workers.tests.inside import INSIDE_URLS
from workers.tests.waiting import wait_for


def workspaces() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"firstbyte-browser-{os.getpid()}-*"))


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary directory of everything started here. Short, because Chromium puts a socket into it."""
    with tempfile.TemporaryDirectory(prefix="fb-", dir="/tmp") as directory:
        monkeypatch.setenv("TMPDIR", directory)
        monkeypatch.setattr(tempfile, "tempdir", directory)
        yield Path(directory)


def test_each_of_ten_runs_is_cold(load: Load, site: Site) -> None:
    url = site.page("/", "<img src=/a.png>")
    for _ in range(10):
        page = measured(load(url))
        # Where the first takes long Chrome opens a second one, and takes whichever is there first.
        connection = next(one for one in page.waterfall.connections if one.requests)
        assert connection.connect is not None
        assert connection.tls is not None
        assert connection.resumed is False
        assert page.waterfall.requests[0].timing.connect == connection.connect
    assert len(site.seen("/a.png")) == 10


def test_cookies_and_storage_of_one_run_are_not_seen_by_the_next(load: Load, site: Site) -> None:
    script = "<script>document.title = localStorage.seen || 'new'; localStorage.seen = 'old'</script>"
    url = site.page("/", script, headers=(("Set-Cookie", "seen=1; Max-Age=600"),))
    assert [measured(load(url)).title for _ in range(2)] == ["new", "new"]
    assert all("cookie" not in headers for headers in site.seen("/"))


def test_a_browser_is_kept_warm_and_replaced_after_its_runs(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<p>page</p>")
    with BrowserPool(browser_settings(ca_file, recycle_after=2)) as pool:
        before = set(processes.browsers())

        def running() -> set[int]:
            return set(processes.browsers()) - before

        measured(pool.load(page_request(url)))
        first = running()
        assert len(first) == 1
        measured(pool.load(page_request(url)))
        wait_for(lambda: not running(), "the browser to end after its last run")
        measured(pool.load(page_request(url)))
        assert len(running()) == 1
        assert running() != first


def test_a_browser_whose_log_has_grown_large_is_replaced(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<p>page</p>")
    with BrowserPool(browser_settings(ca_file, recycle_netlog_bytes=1000)) as pool:
        before = workspaces()
        measured(pool.load(page_request(url)))
        wait_for(lambda: workspaces() <= before, "the browser to end")


def test_an_idle_pool_ends_its_browser_and_driver_and_starts_again_when_asked(
    ca_file: Path, site: Site, temporary: Path
) -> None:
    url = site.page("/", "<p>page</p>")
    before = set(processes.descendants())
    with BrowserPool(browser_settings(ca_file, idle_s=0.2)) as pool:
        measured(pool.load(page_request(url)))
        wait_for(lambda: set(processes.descendants()) <= before, "browser and driver to end")
        wait_for(lambda: not any(temporary.iterdir()), "their directories to go")
        measured(pool.load(page_request(url)))
    wait_for(lambda: set(processes.descendants()) <= before, "browser and driver to end")
    assert list(temporary.iterdir()) == []


def test_a_killed_browser_leaves_no_process_and_no_file(ca_file: Path, site: Site, temporary: Path) -> None:
    told = "const told = new XMLHttpRequest(); told.open('GET', '/hangs', false); told.send();"
    url = site.page("/", f"<script>{told} for (;;) {{}}</script>")
    before = set(processes.descendants())
    with BrowserPool(browser_settings(ca_file)) as pool:
        # A busy machine has not come so far at once, and a page that does not hang yet costs no browser.
        for timeout_us in (500_000, 3_000_000, 20_000_000):
            failed(pool.load(page_request(url, timeout_us=timeout_us)))
            if site.seen("/hangs"):
                break
        wait_for(lambda: set(processes.descendants()) <= before, "browser and driver to end")
        wait_for(lambda: not any(temporary.iterdir()), "their directories to go")


def test_a_driver_that_dies_before_it_has_tidied_leaves_no_file(ca_file: Path, site: Site, temporary: Path) -> None:
    url = site.page("/", "<p>page</p>")
    before = set(processes.descendants())
    with BrowserPool(browser_settings(ca_file)) as pool:
        measured(pool.load(page_request(url)))
        processes.kill(set(processes.descendants()) - before)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("when", [ProgressStage.CONNECTING, ProgressStage.LOADING])
def test_a_driver_that_dies_is_told_of_by_the_run_and_by_no_exception_that_nobody_took(
    ca_file: Path, site: Site, caplog: pytest.LogCaptureFixture, when: ProgressStage
) -> None:
    url = site.page("/", "<img src=/hangs>")
    before = set(processes.descendants())

    def kill(stage: ProgressStage, _known: object) -> None:
        if stage is when:
            processes.kill(set(processes.descendants()) - before)

    with BrowserPool(browser_settings(ca_file)) as pool:
        began_s = time.monotonic()
        assert (
            failed(pool.load(page_request(url, timeout_us=120_000_000), kill)).failure.kind
            is FailureKind.BROWSER_FAILED
        )
        # Nobody waits for a page that can say nothing any more.
        assert time.monotonic() - began_s < 100
    # A future says that nobody took its exception when it is thrown away.
    gc.collect()
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


def test_a_browser_and_driver_that_die_in_the_middle_of_steps_are_no_fault_of_a_step(ca_file: Path, site: Site) -> None:
    url = site.page("/", "<p>page</p>")
    before = set(processes.descendants())
    steps = (Visit(url=url), WaitFor(selector="#never"))

    def kill() -> None:
        wait_for(lambda: bool(site.seen("/")), "the first step")
        processes.kill(set(processes.descendants()) - before)

    with BrowserPool(browser_settings(ca_file)) as pool, ThreadPoolExecutor(1) as aside:
        killing = aside.submit(kill)
        outcome = failed(pool.load(page_request(url, page=PageOptions(steps=steps))))
        killing.result()
    assert outcome.failure.kind is FailureKind.BROWSER_FAILED
    assert outcome.failure.blame is Blame.MONITOR


def test_two_browsers_load_two_pages_at_once(ca_file: Path, site: Site) -> None:
    meeting = threading.Barrier(2, timeout=120)
    url = site.page("/", "<p>page</p>")
    outcomes = []

    with BrowserPool(browser_settings(ca_file, size=2)) as pool:

        def run() -> None:
            meeting.wait()
            outcomes.append(pool.load(page_request(url)).outcome.outcome)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == ["measured", "measured"]


def test_a_chromium_that_is_not_there_is_the_monitors_fault_with_what_to_do(tmp_path: Path, site: Site) -> None:
    with BrowserPool(browser_settings(chromium=tmp_path / "chromium")) as pool:
        outcome = failed(pool.load(page_request(site.url("/"))))
    assert outcome.failure.kind is FailureKind.BROWSER_FAILED
    assert outcome.failure.blame is Blame.MONITOR
    assert "install chromium-headless-shell or set FIRSTBYTE_CHROMIUM" in outcome.failure.detail


def test_a_driver_that_comes_up_when_nobody_waits_any_more_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = browser_settings()
    inspect_chromium(settings.chromium)
    may_begin, driver = tmp_path / "begin", tmp_path / "node"
    node, _ = compute_driver_executable()
    driver.write_text(f'#!/bin/sh\nuntil [ -e {may_begin} ]; do sleep 0.05; done\nexec {node} "$@"\n')
    driver.chmod(0o755)
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(driver))
    monkeypatch.setattr(session, "_START_S", 0.5)
    before = set(processes.descendants())
    with BrowserPool(settings) as pool:
        outcome = failed(pool.load(page_request("http://127.0.0.1:1024/")))
        assert "driver does not start" in outcome.failure.detail
        may_begin.touch()
        wait_for(lambda: set(processes.descendants()) <= before, "the driver to end")


def test_a_program_that_is_no_browser_is_told_as_such(tmp_path: Path) -> None:
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    with pytest.raises(BrowserError, match="chromium does not start: it ends at once with 3;"):
        inspect_chromium(fake)
    fake.write_text("no program")
    with pytest.raises(BrowserError, match="chromium does not start: Exec format error"):
        inspect_chromium(fake)
    with pytest.raises(BrowserError, match="no Chromium at"):
        inspect_chromium(tmp_path)


def test_debians_headless_shell_is_found_and_never_the_shell_script() -> None:
    assert find_chromium() in {
        Path("/usr/lib/chromium/chromium-headless-shell"),
        Path("/usr/lib/chromium/chromium"),
    }


def test_a_ca_file_without_certificates_is_told_before_any_page_is_loaded(tmp_path: Path, site: Site) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    before = workspaces()
    with BrowserPool(browser_settings(empty)) as pool:
        outcome = failed(pool.load(page_request(site.url("/"))))
    assert outcome.failure.kind is FailureKind.BROWSER_FAILED
    assert "holds no certificate" in outcome.failure.detail
    assert workspaces() <= before


def test_directories_of_processes_that_are_gone_are_swept_and_those_of_the_living_kept() -> None:
    ours = Workspace(None)
    dead = Path(tempfile.mkdtemp(prefix=f"firstbyte-browser-{2**22 + os.getpid()}-"))
    sweep()
    assert ours.path.exists()
    assert not dead.exists()
    ours.remove()
    assert not ours.path.exists()


def test_without_a_sandbox_only_private_targets_are_loaded() -> None:
    addresses = {"shop.example": ("93.184.216.34",), "intranet.example": ("10.1.2.3",), "untold.example": None}
    guard = Guard(
        allowed=parse_networks("10.0.0.0/8"), only_private=True, resolve=lambda host, _: addresses.get(host, ())
    )
    refusal = guard.refusal("https://shop.example/")
    assert refusal is not None
    assert refusal.kind is FailureKind.BROWSER_FAILED
    assert "FIRSTBYTE_ALLOW_UNSANDBOXED" in refusal.detail
    assert guard.refusal("https://intranet.example/") is None
    unknown, untold = guard.refusal("https://nowhere.example/"), guard.refusal("https://untold.example/")
    assert unknown is not None
    assert unknown.kind is FailureKind.DNS_NOT_FOUND
    assert untold is not None
    assert untold.kind is FailureKind.DNS_SERVER_FAILURE


@pytest.mark.parametrize(("took_s", "kind"), [(0.1, FailureKind.DNS_SERVER_FAILURE), (10.0, FailureKind.DNS_TIMEOUT)])
def test_without_a_sandbox_too_name_servers_that_are_silent_did_not_answer(took_s: float, kind: FailureKind) -> None:
    now_s = 0.0

    def ask(_host: str, _port: int) -> None:
        nonlocal now_s
        now_s += took_s

    refusal = Guard(only_private=True, resolve=ask, clock=lambda: now_s).refusal("https://intranet.example/")
    assert refusal is not None
    assert refusal.kind is kind


def test_a_machine_that_lacks_what_asking_for_a_name_takes_is_no_name_without_an_address(
    monkeypatch: pytest.MonkeyPatch, ca_file: Path
) -> None:
    def ask(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "getaddrinfo", ask)
    with BrowserPool(browser_settings(ca_file), guard=Guard(only_private=True)) as pool:
        reason = failed(pool.load(page_request("https://intranet.example/"))).failure
    assert (reason.kind, reason.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)
    assert "Too many open files" in reason.detail


def test_a_name_that_was_not_told_once_is_asked_for_again() -> None:
    answers = iter([None, (), ("10.1.2.3",)])
    guard = Guard(allowed=parse_networks("10.0.0.0/8"), only_private=True, resolve=lambda *_: next(answers))
    refusals = [guard.refusal("https://intranet.example/") for _ in range(4)]
    assert [refusal and refusal.kind for refusal in refusals] == [
        FailureKind.DNS_SERVER_FAILURE,
        FailureKind.DNS_NOT_FOUND,
        None,
        None,
    ]


def test_a_name_is_asked_for_once_in_ten_minutes_so_that_the_pages_own_lookup_stays_cold() -> None:
    asked: list[str] = []
    now = [0.0]

    def resolve(host: str, _port: int) -> tuple[str, ...]:
        asked.append(host)
        return ("93.184.216.34",)

    guard = Guard(resolve=resolve, clock=lambda: now[0])
    for instant in (0.0, 599.0, 601.0):
        now[0] = instant
        assert guard.refusal("https://shop.example/") is None
    assert asked == ["shop.example", "shop.example"]


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    guard = Guard(resolve=lambda *_: ("93.184.216.34", "::ffff:169.254.169.254"))
    refusal = guard.refusal("https://rebind.example/")
    assert refusal is not None
    assert refusal.kind is FailureKind.BLOCKED_DESTINATION
    assert "169.254" not in refusal.detail


@pytest.mark.parametrize("url", [*INSIDE_URLS, "http://localhost./", "http://app.localhost/"])
def test_every_spelling_of_an_inside_address_is_refused_to_the_browser(url: str) -> None:
    refusal = Guard().refusal(url)
    assert refusal is not None
    assert refusal.kind in {FailureKind.BLOCKED_DESTINATION, FailureKind.INVALID_URL}


def test_a_load_that_has_not_come_to_its_browser_when_the_pool_is_closed_starts_none(ca_file: Path) -> None:
    before = set(processes.descendants())
    pool = BrowserPool(browser_settings(ca_file))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        request = page_request(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout_us=5_000_000)
        outcome = pool.load(request, lambda stage, _: pool.close() if stage is ProgressStage.STARTING else None)
    assert failed(outcome).failure.kind is FailureKind.BROWSER_FAILED
    assert set(processes.descendants()) <= before


def test_a_browser_that_does_not_end_keeps_none_beside_it_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Seat] = []

    def close(seat: Seat) -> None:
        closed.append(seat)
        raise TimeoutError

    monkeypatch.setattr(Seat, "close", close)
    pool = BrowserPool(browser_settings(size=3))
    with pytest.raises(TimeoutError):
        pool.close()
    assert len(set(closed)) == 3


@pytest.mark.parametrize("stage", [ProgressStage.STARTING, ProgressStage.CONNECTING])
def test_who_closes_it_in_the_middle_of_a_load_waits_for_nothing_and_leaves_nothing(
    stage: ProgressStage, ca_file: Path, temporary: Path
) -> None:
    # Looked at before, so that the first process is the driver's.
    inspect_chromium(browser_settings(ca_file).chromium)
    before = set(processes.descendants())
    reached = threading.Event()
    outcomes: list[PageRun] = []
    pool = BrowserPool(browser_settings(ca_file))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        request = page_request(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout_us=120_000_000)

        def tell(told: ProgressStage, _known: object) -> None:
            if told is stage:
                reached.set()

        loading = threading.Thread(target=lambda: outcomes.append(pool.load(request, tell)))
        loading.start()
        assert reached.wait(60)
        if stage is ProgressStage.STARTING:
            wait_for(lambda: set(processes.descendants()) - before, "the driver to be started")
        pool.close()
        loading.join(60)
    assert failed(outcomes[0]).failure.kind is FailureKind.BROWSER_FAILED
    wait_for(lambda: not set(processes.descendants()) - before, "all of its processes to end")
    assert list(temporary.iterdir()) == []
