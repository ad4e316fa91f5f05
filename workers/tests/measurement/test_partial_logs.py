"""A part of a network log gives a part of what the whole gives: what is missing is null and never another number."""

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workers.measurement.compute.files.log_file import LogFile, NoNetlogError, read_log_file
from workers.measurement.compute.files.log_rows import rows_of
from workers.measurement.compute.netlog.events import WANTED
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request
from workers.tests.captures import logs

Key = tuple[int, str, int]
# Another event may tell the same a tick or two of the log's clock later.
_TICKS_US, _MUCH_US = 2_000, 10**12
_PHASES = ("dns", "connect", "tls", "send", "wait", "download")
# Cuts of one log, spread over all of it.
_CUTS = 40


@functools.cache
def whole(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(logs.text_of(name))
    return found


def read(constants: dict[str, Any], events: list[dict[str, Any]]) -> LogFile:
    return read_log_file([json.dumps({"constants": constants, "events": events}).encode()])


def rows(log: LogFile, zero_ms: int) -> dict[Key, Request]:
    found = rows_of(log.log, limit=10_000, zero_ms=zero_ms)
    marks = [(hop.source, hop.url, hop.transactions) for hop in found.hops]
    return dict(zip(marks, found.waterfall.requests, strict=True))


def told(timing: Timing) -> Iterator[tuple[str, int]]:
    for name in _PHASES:
        if (span := getattr(timing, name)) is not None:
            yield from ((f"{name} begins", span.start_us), (f"{name} ends", span.end_us))
    if timing.end_us is not None:
        yield "ends", timing.end_us


def more_than(whole: dict[Key, Request], part: dict[Key, Request]) -> list[str]:
    """What a part says and the whole does not."""
    found = []
    for key, row in part.items():
        known = whole.get(key)
        if known is None:
            # What the whole log sent once more.
            assert any(source == key[0] and url == key[1] for source, url, _ in whole)
            continue
        instants = dict(told(known.timing))
        wrong = (name for name, at_us in told(row.timing) if abs(at_us - instants.get(name, -_MUCH_US)) > _TICKS_US)
        found += [f"{row.url} {name}" for name in wrong]
        found += [f"{row.url} pays"] * (row.reused is False and known.reused is not False)
        found += [f"{row.url} reuses"] * (row.reused is True and known.reused is not True)
        found += [f"{row.url} {row.protocol}"] * (row.protocol not in (None, known.protocol))
        found += [f"{row.url} {row.status}"] * (row.status not in (None, known.status))
    return found


@pytest.mark.parametrize("name", logs.NAMES)
def test_a_log_that_begins_in_the_middle_of_requests_says_nothing_that_the_whole_does_not(name: str) -> None:
    assert made_up(name, lambda events, cut: events[cut:]) == []


@pytest.mark.parametrize("name", logs.NAMES)
def test_a_log_that_breaks_off_knows_no_end_of_what_was_open(name: str) -> None:
    assert made_up(name, lambda events, cut: events[:cut]) == []


def made_up(name: str, part_of: Callable[[list[Any], int], list[Any]]) -> list[tuple[int, str]]:
    """What parts of a log say that the whole does not, each with the place of the cut."""
    events, constants = whole(name)["events"], whole(name)["constants"]
    full = read(constants, events)
    zero_ms = full.log.zero_ms or 0
    known = rows(full, zero_ms)
    return [
        (cut, said)
        for cut in range(1, len(events), len(events) // _CUTS + 1)
        for said in more_than(known, rows(read(constants, part_of(events, cut)), zero_ms))
    ]


@pytest.mark.parametrize("event", sorted(WANTED))
@pytest.mark.parametrize("name", ["h3", "many", "h1-new-pool", "whole-new-pool"])
def test_an_event_of_another_name_costs_what_it_told_and_makes_nothing_up(name: str, event: str) -> None:
    constants = whole(name)["constants"]
    types = {known: number for known, number in constants["logEventTypes"].items() if known != event}
    full = read(constants, whole(name)["events"])
    zero_ms = full.log.zero_ms or 0
    try:
        part = read({**constants, "logEventTypes": types}, whole(name)["events"])
    except NoNetlogError:
        return
    assert more_than(rows(full, zero_ms), rows(part, zero_ms)) == []


LOST = [("HTTP_TRANSACTION_SEND_REQUEST", 1), ("SSL_CONNECT", 1), ("HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION", 0)]


@pytest.mark.parametrize(("event", "phase"), LOST)
@pytest.mark.parametrize("name", logs.NAMES)
def test_an_event_that_is_lost_makes_nobody_pay_for_another(name: str, event: str, phase: int) -> None:
    constants, events = whole(name)["constants"], whole(name)["events"]
    full = read(constants, events)
    zero_ms = full.log.zero_ms or 0
    kind = constants["logEventTypes"].get(event)
    known = rows(full, zero_ms)
    for at, one in enumerate(events):
        if (one["type"], one["phase"]) == (kind, phase):
            part = read(constants, events[:at] + events[at + 1 :])
            assert more_than(known, rows(part, zero_ms)) == [], at


def test_numbers_of_events_and_phases_are_those_of_the_file() -> None:
    constants, events = whole("many")["constants"], whole("many")["events"]
    others = {
        **constants,
        "logEventTypes": {name: 90_000 - number for name, number in constants["logEventTypes"].items()},
        "logEventPhase": {name: number + 7 for name, number in constants["logEventPhase"].items()},
    }
    renumbered = [{**one, "type": 90_000 - one["type"], "phase": one["phase"] + 7} for one in events]
    unknown = {**events[0], "type": 4, "params": {"deep": [{"x": None}]}}
    assert rows(read(others, [unknown, *renumbered, unknown]), 0) == rows(read(constants, events), 0)


def test_a_request_that_the_log_met_under_way_has_the_phases_that_it_saw() -> None:
    """Chrome tells at the beginning of a log which requests there are, and of each whence it came no more."""
    constants, events = whole("h3")["constants"], whole("h3")["events"]
    full = read(constants, events)
    zero_ms = full.log.zero_ms or 0
    types = constants["logEventTypes"]
    start = next(index for index, one in enumerate(events) if one["type"] == types["URL_REQUEST_START_JOB"])
    source, url = events[start]["source"], events[start]["params"]["url"]
    alive = {"type": types["REQUEST_ALIVE"], "phase": 1, "source": source, "time": events[start]["time"]}
    part = rows(read(constants, [{**alive, "params": {"url": url, "method": "GET"}}, *events[start + 1 :]]), zero_ms)
    met, known = (found[source["id"], url, 1].timing for found in (part, rows(full, zero_ms)))
    assert (met.send, met.wait, met.download, met.end_us) == (known.send, known.wait, known.download, known.end_us)


def test_a_head_that_is_damaged_is_called_so() -> None:
    with pytest.raises(NoNetlogError, match="head"):
        read_log_file([logs.text_of("h3")[:5_000]])
