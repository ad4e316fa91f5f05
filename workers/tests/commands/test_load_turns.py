"""In which order a page is loaded with and without hosts, which loads are made again, and when there are enough."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from workers.commands import UsageError
from workers.commands.load_turns import load_in_turns
from workers.diagnosis.without.samples import LeftOut, LoadPair, Side
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Kind, Measured, PageMeasurement, RunRequest
from workers.measurement.page_options import PageOptions
from workers.measurement.waterfall import ResourceType
from workers.tests.builders import build_request
from workers.tests.diagnosis.page_sketch import MAIN, row, sketch

HOST = "tags.example"
REQUEST = build_request(kind=Kind.PAGE, url=f"https://{MAIN}/", page=PageOptions(without=(HOST,), locale="de-CH"))
FAILS = Failed(failure=failure(FailureKind.PAGE_TIMEOUT))
Answer = Callable[[Side, int], Measured | Failed]


def page(host: str = HOST) -> PageMeasurement:
    return sketch(row(2, ResourceType.SCRIPT, 310, 400, host=host), fcp_ms=500, vitals={"load_us": 600_000})


def busy(host: str = HOST) -> Measured:
    seen = page(host)
    return Measured(measurement=replace(seen, vitals=replace(seen.vitals, contention_us=300_000)))


def good(_side: Side, _number: int) -> Measured | Failed:
    return Measured(measurement=page())


class Pages:
    """Answers each load, by its side and its number of that side from 0, which goes before the pairs."""

    def __init__(self, answer: Answer = good) -> None:
        self._answer = answer
        self.sides: list[Side] = []
        self.requests: list[RunRequest] = []

    def __call__(self, request: RunRequest) -> Measured | Failed:
        side = Side.WITHOUT if request.page.without else Side.WITH
        self.requests.append(request)
        self.sides.append(side)
        return self._answer(side, self.sides.count(side) - 1)


def made(pages: Pages, wanted: int) -> list[LoadPair]:
    return load_in_turns(pages, REQUEST, wanted)


def test_one_load_of_each_goes_before_and_then_pairs_whose_order_is_drawn_by_the_run() -> None:
    pages = Pages()
    pairs = made(pages, 10)
    assert pages.sides[:2] == [Side.WITH, Side.WITHOUT]
    assert len(pages.sides) == 22
    firsts = pages.sides[2::2]
    assert [pair.first for pair in pairs] == firsts
    assert sorted(firsts) == [Side.WITH] * 5 + [Side.WITHOUT] * 5
    assert all(one is not other for one, other in zip(firsts, pages.sides[3::2], strict=True))
    again, other = Pages(), Pages()
    made(again, 10)
    load_in_turns(other, replace(REQUEST, run_id=UUID(int=3)), 10)
    assert again.sides == pages.sides
    assert other.sides != pages.sides


def test_both_loads_are_alike_but_for_the_hosts() -> None:
    pages = Pages()
    made(pages, 1)
    without = [request for request in pages.requests if request.page.without]
    assert {request.page for request in without} == {REQUEST.page}
    assert {request.page for request in pages.requests} - {REQUEST.page} == {replace(REQUEST.page, without=())}
    # What goes by a run's id is drawn anew.
    assert len({request.run_id for request in pages.requests[2:]}) == 2


def test_pairs_that_are_left_out_are_made_up_for_by_half_as_many_again() -> None:
    few = made(Pages(lambda side, number: busy() if number in (1, 3) else good(side, number)), 4)
    assert [pair.with_hosts.left_out for pair in few] == [LeftOut.DISTURBED, None, LeftOut.DISTURBED, None, None, None]
    never = made(Pages(lambda _, number: busy()), 4)
    assert len(never) == 6


def test_three_failures_in_a_row_are_enough_and_single_ones_are_not() -> None:
    broken = made(Pages(lambda side, number: FAILS if side is Side.WITHOUT else good(side, number)), 10)
    assert [pair.without.left_out for pair in broken] == [LeftOut.FAILED] * 3
    single = made(Pages(lambda side, number: FAILS if number in (1, 2, 4, 5) else good(side, number)), 10)
    assert len(single) == 14


@pytest.mark.parametrize("outcome", [FAILS, Measured(measurement=page(MAIN)), busy(MAIN)])
def test_a_page_that_fails_at_once_or_asks_nothing_of_the_hosts_is_loaded_no_more(outcome: Measured | Failed) -> None:
    pages = Pages(lambda *_: outcome)
    (pair,) = made(pages, 10)
    assert len(pages.sides) == 1
    assert pair.without.sample is None
    assert (pair.with_hosts.failure is None) is isinstance(outcome, Measured)
    assert (pair.with_hosts.sample is not None) is isinstance(outcome, Measured)


def test_a_page_that_is_led_to_one_of_the_hosts_is_refused() -> None:
    document = row(1, ResourceType.DOCUMENT, 0, 300, host=HOST, path="")
    led = Measured(measurement=sketch(fcp_ms=500, document=document))
    with pytest.raises(UsageError, match=rf"leads to {HOST}: without it there is no page"):
        made(Pages(lambda *_: led), 10)


def test_progress_is_told_pair_by_pair(capsys: pytest.CaptureFixture[str]) -> None:
    painted = replace(page(), vitals=replace(page().vitals, lcp_us=1_240_000))
    made(Pages(lambda side, number: busy() if number == 1 and side is Side.WITH else Measured(measurement=painted)), 2)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines()[1:] == [
        "pair 0 of 2: disturbed with, LCP 1,240 ms without",
        "pair 1 of 2: LCP 1,240 ms with, LCP 1,240 ms without",
        "pair 2 of 2: LCP 1,240 ms with, LCP 1,240 ms without",
    ]
