"""A page beside other work of its machine, whose times are not its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from workers.measurement.contention import contention_told, is_contended
from workers.measurement.messages import PageMeasurement
from workers.tests.browser.conftest import Load
from workers.tests.browser.sites import Site

# So many loops that it takes some tenths of a second of a processor's own time, however long that is on the clock.
WORK = "<p>Text</p><script>let n = 0; for (let i = 0; i < 3e8; i++) n += i % 7; document.title = n;</script>"


@contextmanager
def other_work() -> Iterator[None]:
    """A program for each processor that never rests. Linux shares processors between sessions: each has its own."""
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            work = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
            stack.callback(work.wait)
            stack.callback(work.kill)
        yield


def test_a_page_that_has_to_share_its_processors_is_told_from_a_slow_one(load: Load, site: Site) -> None:
    url = site.page("/", WORK)
    with other_work():
        page = load(url).outcome.measurement
    assert isinstance(page, PageMeasurement)
    assert is_contended(page.vitals)
    assert "busy with other work" in (contention_told(page.vitals) or "")
    assert (page.vitals.contention_us or 0) < (page.vitals.load_us or 0)
