"""A network of the agent's own machine that changes while a page loads: Chrome drops the sessions that it has open."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_interface
from threading import Timer

import pytest

from workers.browser import pool as pools
from workers.browser.seen import PageRun
from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page import compute_page
from workers.measurement.compute.page_outcome import document_of, judge_page
from workers.measurement.failure import Blame, FailureKind
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.shaping.netlink import add_address
from workers.tests.browser.conftest import page_request
from workers.tests.netlab.page_accuracy import RTT_MS
from workers.tests.second_tries import measured_again
from workers.tests.shapes.browsing import ShapeLab, shape_lab
from workers.tests.shapes.site import Reply, Shape, page, script

_URL, _SCRIPT_MS, _CHANGE_S = "https://two.test/", 3_000, 1.5
_SITE = Shape(
    url=_URL,
    replies={_URL: Reply(body=page("<p>text<script src=a.js></script>")), f"{_URL}a.js": script(after_ms=_SCRIPT_MS)},
    rows="",
    connections="",
)
# The document has to be there by then.
_MOST_LOADS = 5


@pytest.fixture
def lab() -> Iterator[ShapeLab]:
    with shape_lab(RTT_MS) as lab, lab.serving(_SITE):
        yield lab


def test_what_chrome_dropped_with_a_network_of_ours_is_no_measurement_of_the_page(
    lab: ShapeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is looked at is the first try.
    monkeypatch.setattr(pools, "_AGAIN_WITHIN_S", 0.0)
    assert isinstance(judged(lab.visit(_SITE)), Measured)
    for number in range(1, _MOST_LOADS + 1):
        with meanwhile(lab, number):
            outcome = judged(lab.visit(_SITE))
        assert isinstance(outcome, Failed)
        assert (outcome.failure.kind, outcome.failure.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)
        assert "ERR_NETWORK_CHANGED" in outcome.failure.detail
        if is_answered(outcome):
            return
        measured_again("the document had not come yet")
    pytest.fail("the document never came in time")


def test_the_page_is_loaded_once_more_as_cold_as_before(lab: ShapeLab) -> None:
    assert told_of(lab.run(_SITE)) == []
    run = disturbed(lab)
    [told] = told_of(run)
    assert "ERR_NETWORK_CHANGED" in told
    page = run.outcome.measurement
    assert isinstance(run.outcome, Measured)
    assert isinstance(page, PageMeasurement)
    document = document_of(page)
    assert document is not None
    assert (document.status, document.timing.start_us) == (200, 0)
    assert None not in (document.timing.dns, document.timing.connect, document.timing.tls)
    assert [row.failure for row in page.waterfall.requests] == [None, None]
    assert page.vitals.load_us is not None
    assert page.vitals.load_us < 2 * _SCRIPT_MS * 1000


def disturbed(lab: ShapeLab) -> PageRun:
    """A run in which the page had begun when the network changed: on a busy machine it may not have by then."""
    for number in range(1, _MOST_LOADS + 1):
        with meanwhile(lab, number):
            run = lab.run(_SITE)
        if told_of(run):
            return run
        measured_again("the page had not begun yet")
    pytest.fail("the page never began in time")


def told_of(run: PageRun) -> list[str]:
    page = run.outcome.measurement
    assert isinstance(page, PageMeasurement)
    return [text for text in page.warnings if "second try" in text]


@contextmanager
def meanwhile(lab: ShapeLab, number: int) -> Iterator[None]:
    """The interface gets an address more while a page loads."""
    change = Timer(_CHANGE_S, lambda: lab.lab.client.call(lambda: _readdress(number)))
    change.start()
    try:
        yield
    finally:
        change.join()


def _readdress(number: int) -> None:
    (name,) = (name for _, name in socket.if_nameindex() if name != "lo")
    add_address(name, ip_interface(f"10.77.1.{number}/24"))


def judged(capture: PageCapture) -> Measured | Failed:
    return judge_page(page_request(_URL), capture, compute_page(capture), lambda _: True)


def is_answered(outcome: Failed) -> bool:
    assert isinstance(outcome.measurement, PageMeasurement)
    document = document_of(outcome.measurement)
    return document is not None and document.status == 200
