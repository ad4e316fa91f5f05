"""What a page may take of its machine's memory, on real processes."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workers.browser import memory
from workers.browser.memory import MemoryBound, oom_kills
from workers.browser.pool import BrowserPool
from workers.browser.process_tree import ProcessTree
from workers.measurement.failure import Blame, FailureKind
from workers.measurement.page_options import PageOptions, Visit, WaitFor
from workers.tests.browser import processes
from workers.tests.browser.conftest import HELD, browser_settings, failed, measured, page_request
from workers.tests.browser.sites import IMAGE, Site
from workers.tests.waiting import wait_for

MIB = 1024 * 1024
_TAKES = "import sys; taken = b'x' * 60_000_000; print(flush=True); sys.stdin.read()"
# What it starts is named as Chromium's processes for pages are, and it itself is not.
_STARTS = f"""import subprocess, sys
page = subprocess.run([sys.executable, "-c", {_TAKES!r}, "--type=" + "renderer"])
sys.exit(-page.returncode)"""
# It has not loaded before it has taken all of it, however busy the machine is.
_HOG = f"<p>hog{HELD}<script>const all = []; setInterval(() => all.push(new Uint8Array(2e7).fill(1)), 5)</script>"


async def taking(limit_bytes: int) -> tuple[bool, int]:
    """Whether a page's process that takes 60 MB is said to take too much, and by which signal it ended."""
    with subprocess.Popen([sys.executable, "-c", _STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as browser:
        async with MemoryBound(ProcessTree(browser.pid), limit_bytes) as bound:
            assert browser.stdin is not None
            assert browser.stdout is not None
            await asyncio.to_thread(browser.stdout.readline)
            # Longer than a list of processes holds.
            await asyncio.sleep(1)
        browser.stdin.close()
        return bound.outgrown, browser.wait()


def test_a_process_of_a_page_is_ended_where_it_takes_more_than_it_may_and_else_left_alone() -> None:
    assert asyncio.run(taking(40 * MIB)) == (True, signal.SIGKILL)
    assert asyncio.run(taking(150 * MIB)) == (False, 0)


def test_a_machine_that_killed_for_want_of_memory_meanwhile_has_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ran_out(*kills: int | None) -> bool:
        told = iter(kills)
        monkeypatch.setattr(memory, "oom_kills", lambda: next(told))
        async with MemoryBound(None, MIB) as bound:
            pass
        return bound.ran_out

    assert oom_kills() is not None
    assert asyncio.run(ran_out(3, 4))
    assert not asyncio.run(ran_out(3, 3))
    assert not asyncio.run(ran_out(None))


def test_a_page_that_takes_all_memory_is_ended_and_told_so_and_the_next_run_works(
    ca_file: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    hog, fine = site.page("/hog", _HOG), site.page("/fine", "<p>fine</p>")
    site.answers["/held.png"] = replace(IMAGE, wait_for=site.released)
    with BrowserPool(browser_settings(ca_file, max_memory_bytes=300 * MIB)) as pool:
        crash = failed(pool.load(page_request(hog))).failure
        assert (crash.kind, crash.blame) == (FailureKind.PAGE_CRASHED, Blame.TARGET)
        assert "more than 300 MB of memory" in crash.detail
        steps = (Visit(url=hog), WaitFor(selector="#never"))
        reason = failed(pool.load(page_request(fine, page=PageOptions(steps=steps)))).failure
        assert reason.kind is FailureKind.STEP_FAILED
        assert "a page took more than 300 MB of memory" in reason.detail
        # As Chromium does whose page is killed while a picture of it is taken.
        monkeypatch.setattr(memory, "_kill_pages", lambda tree: os.kill(tree.root, signal.SIGKILL))
        assert failed(pool.load(page_request(hog))).failure == crash
        measured(pool.load(page_request(fine)))
        wait_for(lambda: len(processes.browsers()) <= 1, "the browser that was ended to be gone")
