"""A load that Chrome cut short for a network of the agent's machine, and the one that is made in its place."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from workers.browser import pool as pools
from workers.browser.guard import Guard
from workers.browser.pool import BrowserPool
from workers.browser.seen import PageRun, View
from workers.ledger import GRACE_S
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.page_options import PageOptions, PageState
from workers.tests.browser.conftest import browser_settings, page_request
from workers.tests.builders import build_page

WHOLE = Measured(measurement=build_page())
TIMED_OUT = Failed(failure=failure(FailureKind.PAGE_TIMEOUT), measurement=build_page())
TOLD = "a network of its machine came or went during the load (ERR_NETWORK_CHANGED)"


def cut_short() -> Failed:
    page = build_page()
    *others, last = page.waterfall.requests
    waterfall = replace(page.waterfall, requests=(*others, replace(last, failure="ERR_NETWORK_CHANGED")))
    return Failed(failure=failure(FailureKind.BROWSER_FAILED, TOLD), measurement=replace(page, waterfall=waterfall))


class Loads:
    """In the place of browsers: gives these outcomes one after the other, each after so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, outcomes: Sequence[Measured | Failed], lasts_s: float) -> None:
        self.numbers: list[int] = []
        self.slept: list[float] = []
        self._left, self._lasts_s, self._now_s = list(outcomes), lasts_s, 1_000.0
        monkeypatch.setattr(pools, "_load", self._load)
        monkeypatch.setattr(pools, "monotonic", lambda: self._now_s)
        monkeypatch.setattr(pools, "sleep", self.slept.append)

    def _load(self, seat: object, number: int, *_: object) -> list[View]:
        self.numbers.append(number)
        self._now_s += self._lasts_s
        return [View(load=number, state=PageState.COLD, run=PageRun(outcome=self._left.pop(0)))]


def run(
    monkeypatch: pytest.MonkeyPatch, *outcomes: Measured | Failed, lasts_s: float = 5.0, loads: int = 1
) -> tuple[PageRun, Loads]:
    made = Loads(monkeypatch, outcomes, lasts_s)
    with BrowserPool(browser_settings(), guard=Guard(resolve=lambda *_: ("192.0.43.8",))) as pool:
        seen = pool.load(page_request("https://shop.example/", page=PageOptions(loads=loads)))
    return seen, made


def warnings_of(seen: PageRun) -> tuple[str, ...]:
    assert isinstance(seen.outcome.measurement, PageMeasurement)
    return seen.outcome.measurement.warnings


def test_a_load_that_a_network_of_ours_cut_short_is_made_once_more_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, made = run(monkeypatch, cut_short(), WHOLE)
    assert isinstance(seen.outcome, Measured)
    assert [text for text in warnings_of(seen) if "second try" in text] == [
        "This is a second try: the first was cut short when a network of the agent's machine came or went "
        "(ERR_NETWORK_CHANGED)."
    ]
    assert (made.numbers, made.slept) == ([1, 1], [2.0])


def test_a_second_try_that_is_cut_short_too_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, made = run(monkeypatch, cut_short(), cut_short())
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.failure.kind is FailureKind.BROWSER_FAILED
    assert any("second try" in text for text in warnings_of(seen))
    assert made.numbers == [1, 1]


def test_what_failed_otherwise_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Failed(failure=failure(FailureKind.BROWSER_FAILED, "the browser was lost"))
    for outcome in (TIMED_OUT, lost, WHOLE):
        seen, made = run(monkeypatch, outcome)
        assert (type(seen.outcome), made.numbers) == (type(outcome), [1])


def test_a_page_that_took_long_is_not_tried_again_as_its_run_has_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, made = run(monkeypatch, cut_short(), WHOLE, lasts_s=20.1)
    assert (type(seen.outcome), made.numbers) == (Failed, [1])
    assert pools._AGAIN_WITHIN_S + pools._CALM_S < GRACE_S / 2


def test_one_load_of_a_run_is_made_again_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, made = run(monkeypatch, WHOLE, cut_short(), WHOLE, cut_short(), loads=3)
    assert isinstance(seen.outcome, Measured)
    assert made.numbers == [1, 2, 2, 3]
