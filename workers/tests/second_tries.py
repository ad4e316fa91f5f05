"""What a test measured more than once before it was content, told at the end of the run.

A busy machine spoils a measurement now and then. Who reads which ones it spoiled sees what will be refused one day,
before it is. Another try waits until no other process of the run is loud: what it spoiled twice it would spoil again.
Who may have been unlucky once, and is quickly done, tries at once: to wait takes as long as others are loud.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_NAME = "measured again"
_MAX_WORDS = 160
_MAX_LINES = 40
# Longer than anybody is loud.
_PATIENCE_S = 400.0
_POLL_S = 0.1
# Of the test that runs in this process, since its last report.
_noted: list[str] = []


def measured_again(why: object, *, at_once: bool = False) -> None:
    """Notes that the test under way makes another try, and what was wrong with the one before; waits for quiet."""
    words = " ".join(str(why).split())
    kind = f"{type(why).__name__}: " if isinstance(why, Exception) else ""
    _noted.append(f"{kind}{words}"[:_MAX_WORDS])
    if not at_once:
        wait_for_quiet()


@contextmanager
def loud() -> Iterator[None]:
    """For what keeps the processors busy for long. Several processes may be loud at a time."""
    with _lock_file().open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def wait_for_quiet() -> None:
    """Until nobody of this run is loud, or for as long as is reasonable."""
    deadline = time.monotonic() + _PATIENCE_S
    with _lock_file().open("ab") as file:
        while not _is_quiet(file.fileno()) and time.monotonic() < deadline:
            time.sleep(_POLL_S)


def _is_quiet(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_file() -> Path:
    """`./dev test` gives each run a folder of its own for what is temporary."""
    return Path(tempfile.gettempdir()) / f"firstbyte-loud-{os.getuid()}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> None:
    """A report carries its test's properties from a worker of xdist to the process that tells them."""
    item.user_properties.extend((_NAME, why) for why in _noted)
    _noted.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = (one for several in terminalreporter.stats.values() for one in several)
    lines = sorted(line for one in reports if isinstance(one, pytest.TestReport) for line in _lines(one))
    if lines:
        terminalreporter.section("measured again")
        for line in lines[:_MAX_LINES]:
            terminalreporter.line(line)
        if len(lines) > _MAX_LINES:
            terminalreporter.line(f"and {len(lines) - _MAX_LINES} more")


def _lines(report: pytest.TestReport) -> Iterator[str]:
    """One for the test, with the last reason. The report of a test's end is the one that carries all of them."""
    tries = [str(why) for name, why in report.user_properties if name == _NAME]
    if report.when == "teardown" and tries:
        yield f"{report.nodeid}: {len(tries) + 1} tries; {tries[-1]}"
