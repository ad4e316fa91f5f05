"""What a test measured more than once before it was content, told at the end of the run.

A busy machine spoils a measurement now and then. Who reads which ones it spoiled sees what will be refused one day,
before it is.
"""

from collections.abc import Iterator

import pytest

_NAME = "measured again"
_MAX_WORDS = 160
_MAX_LINES = 40
# Of the test that runs in this process, since its last report.
_noted: list[str] = []


def measured_again(why: object) -> None:
    """Notes that the test under way makes another try, and what was wrong with the one before."""
    words = " ".join(str(why).split())
    kind = f"{type(why).__name__}: " if isinstance(why, Exception) else ""
    _noted.append(f"{kind}{words}"[:_MAX_WORDS])


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
