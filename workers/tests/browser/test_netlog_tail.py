"""The network log of one run ends where the run does, whatever has become of the page."""

import threading

from workers.browser.seen import PageRun
from workers.tests.browser import processes
from workers.tests.browser.conftest import Load
from workers.tests.browser.sites import Answer, Site
from workers.tests.waiting import undisturbed, wait_for

BUSY = "<p>busy<script>addEventListener('load', () => setTimeout(() => { for (;;); }))</script>"


def is_whole(run: PageRun) -> bool:
    """Whether it came to its end, and our mark, which tells of the end, is not in it."""
    assert run.netlog is not None
    return run.netlog.complete and not any(b"http://127.0.0.1:1/" in line for line in run.netlog.lines)


@undisturbed
def test_the_log_of_a_page_is_whole_and_without_our_mark(load: Load, site: Site) -> None:
    run = load(site.page("/", "<img src=/a.png>"))
    assert is_whole(run)
    assert run.netlog is not None
    assert any(b"/a.png" in line for line in run.netlog.lines)


@undisturbed
def test_a_page_that_never_answers_again_does_not_hold_the_log_back(load: Load, site: Site) -> None:
    assert is_whole(load(site.page("/", BUSY), timeout_us=1_500_000))


@undisturbed
def test_a_page_whose_process_has_gone_does_not_hold_the_log_back(load: Load, site: Site) -> None:
    held = threading.Event()
    site.hits.clear()
    site.answers["/slow.png"] = Answer(wait_for=held)
    before = set(processes.renderers())

    def kill() -> None:
        wait_for(lambda: site.seen("/slow.png"), "the page to load")
        processes.kill(set(processes.renderers()) - before)

    killer = threading.Thread(target=kill)
    killer.start()
    run = load(site.page("/", "<img src=/slow.png>"))
    killer.join()
    held.set()
    assert is_whole(run)
