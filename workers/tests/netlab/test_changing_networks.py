"""A network of the agent's own machine that changes while a page loads: Chrome drops the sessions that it has open."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_interface

import pytest

from workers.browser import pool as pools
from workers.browser.seen import PageRun
from workers.measurement.captures_page import PageCapture
from workers.measurement.compute.page.outcome import document_of, judge_page
from workers.measurement.compute.page.page import compute_page
from workers.measurement.failure import Blame, FailureKind
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.shaping.netlink import add_address
from workers.tests.browser.conftest import page_request
from workers.tests.netlab.page_accuracy import RTT_MS
from workers.tests.shapes.browsing import ShapeLab, shape_lab
from workers.tests.shapes.site import Reply, Shape, page, script
from workers.tests.waiting import wait_for

_URL, _SCRIPT, _SCRIPT_MS = "https://two.test/", "https://two.test/a.js", 3_000
_SITE = Shape(
    url=_URL,
    replies={_URL: Reply(body=page("<p>text<script src=a.js></script>")), _SCRIPT: script(after_ms=_SCRIPT_MS)},
    rows="",
    connections="",
)


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
    with changing_network(lab):
        outcome = judged(lab.visit(_SITE))
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.blame) == (FailureKind.BROWSER_FAILED, Blame.MONITOR)
    assert "ERR_NETWORK_CHANGED" in outcome.failure.detail
    assert is_answered(outcome)


def test_the_page_is_loaded_once_more_as_cold_as_before(lab: ShapeLab) -> None:
    assert told_of(lab.run(_SITE)) == []
    with changing_network(lab):
        run = lab.run(_SITE)
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


def told_of(run: PageRun) -> list[str]:
    page = run.outcome.measurement
    assert isinstance(page, PageMeasurement)
    return [text for text in page.warnings if "second try" in text]


@contextmanager
def changing_network(lab: ShapeLab) -> Iterator[None]:
    """The interface gets an address more while a page loads: once it waits for its script."""
    asked = len(lab.asked())
    with ThreadPoolExecutor(1) as aside:
        change = aside.submit(_readdress_when, lab, lambda: _SCRIPT in lab.asked()[asked:])
        yield
        change.result()


def _readdress_when(lab: ShapeLab, ready: Callable[[], bool]) -> None:
    wait_for(ready, "the page to ask for its script")
    lab.lab.client.call(_readdress)


def _readdress() -> None:
    (name,) = (name for _, name in socket.if_nameindex() if name != "lo")
    add_address(name, ip_interface("10.77.1.1/24"))


def judged(capture: PageCapture) -> Measured | Failed:
    return judge_page(page_request(_URL), capture, compute_page(capture), lambda _: True)


def is_answered(outcome: Failed) -> bool:
    assert isinstance(outcome.measurement, PageMeasurement)
    document = document_of(outcome.measurement)
    return document is not None and document.status == 200
