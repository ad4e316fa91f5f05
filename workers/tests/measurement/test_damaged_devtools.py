"""DevTools' events that are missing, doubled, out of order or of several browsers: what is told is right or null."""

import copy
import functools
import json
import math
import operator
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workers.measurement.compute.files.devtools_file import NoDevToolsError, read_devtools_file
from workers.measurement.timing import Timing
from workers.measurement.waterfall import Request
from workers.tests.captures import store
from workers.tests.shapes import golden

Events = list[dict[str, Any]]
Key = tuple[str, int]
SHAPES = ("redirect-chain", "redirected-image", "http-to-https", "six-h1", "revalidated", "service-worker", "websocket")
_TRIES = 40
_PHASES = ("dns", "connect", "tls", "send", "wait", "download")
_FACTS = ("method", "status", "protocol", "failure", "redirected_to", "mime_type", "address", "transferred_bytes")


def saved(shape: str) -> Events:
    capture = store.load(shape) if shape == "cold-h2" else golden.load(shape)
    events = [{"method": event.method, "params": dict(event.params)} for event in capture.events]
    return list(with_pieces(events))


def with_pieces(events: Events) -> Iterator[dict[str, Any]]:
    """A capture keeps the pieces of a body as one and anywhere: here it comes when its request ends, as it would."""
    pieces = {one["params"]["requestId"]: one["params"] for one in events if one["method"] == "Network.dataReceived"}
    for event in events:
        if event["method"] == "Network.dataReceived":
            continue
        if event["method"] in ("Network.loadingFinished", "Network.loadingFailed"):
            piece = pieces.get(event["params"]["requestId"])
            if piece is not None:
                timed = {**piece, "timestamp": event["params"]["timestamp"]}
                yield {"method": "Network.dataReceived", "params": timed}
        yield event


def rows_of(events: Events) -> list[tuple[Key, Request, int]]:
    """Rows by their URL and the instant at which they began on DevTools' clock, with the file's zero."""
    try:
        found = read_devtools_file([json.dumps(events).encode()], limit=1000)
    except NoDevToolsError:
        return []
    zero_us = found.zero_us or 0
    return [((row.url, row.timing.start_us + zero_us), row, zero_us) for row in found.waterfall.requests]


def instants(timing: Timing, zero_us: int) -> Iterator[tuple[str, int]]:
    for name in _PHASES:
        if (span := getattr(timing, name)) is not None:
            yield from ((f"{name} begins", span.start_us + zero_us), (f"{name} ends", span.end_us + zero_us))
    if timing.end_us is not None:
        yield "ends", timing.end_us + zero_us


def made_up(whole: Events, part: Events) -> list[str]:
    """What a part says and the whole does not."""
    known = {key: (row, zero_us) for key, row, zero_us in rows_of(whole)}
    found, told = [], rows_of(part)
    found += ["a row twice"] * (len({key for key, *_ in told}) < len(told))
    for key, row, zero_us in told:
        if key not in known:
            found.append(f"{row.url} was never asked for then")
            continue
        truth, true_zero_us = known[key]
        truly = dict(instants(truth.timing, true_zero_us))
        found += [f"{row.url} {name}" for name, at_us in instants(row.timing, zero_us) if truly.get(name) != at_us]
        wrong = (name for name in _FACTS if getattr(row, name) not in (None, getattr(truth, name)))
        found += [f"{row.url} {name}: {getattr(row, name)}, not {getattr(truth, name)}" for name in wrong]
        found += [f"{row.url} pays"] * (row.reused is False and truth.reused is not False)
        found += [f"{row.url} body"] * ((row.body_bytes or 0) > (truth.body_bytes or 0))
        found += [f"{row.url} headers of another"] * bool(foreign(row.response_headers, truth.response_headers))
    return found


def foreign(told: Any, truth: Any) -> set[tuple[str, str]]:
    """Headers that the whole does not tell; where it tells what came over the wire a part may have what was read."""
    names = {header.name.lower() for header in truth}
    return {
        (header.name, header.value)
        for header in told
        if header.name.lower() in names and header not in truth and header.name.lower() != "content-length"
    }


def doubled(events: Events, chance: random.Random) -> Events:
    return [one for event in events for one in [event] * chance.choice((1, 1, 2))]


def twice(events: Events, _: random.Random) -> Events:
    return events + events


def shuffled_nearby(events: Events, chance: random.Random) -> Events:
    order = sorted(range(len(events)), key=lambda at: at + chance.uniform(0, 6))
    return [events[at] for at in order]


def backwards(events: Events, _: random.Random) -> Events:
    return events[::-1]


def thinned(events: Events, chance: random.Random) -> Events:
    return [event for event in events if chance.random() > 0.2]


def cut(events: Events, chance: random.Random) -> Events:
    first, last = sorted(chance.sample(range(len(events) + 1), 2))
    return events[first:last]


def all_at_once(events: Events, chance: random.Random) -> Events:
    return doubled(shuffled_nearby(thinned(cut(events, chance), chance), chance), chance)


DAMAGE: dict[str, Callable[[Events, random.Random], Events]] = {
    one.__name__: one for one in (doubled, twice, shuffled_nearby, backwards, thinned, cut, all_at_once)
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("shape", [*SHAPES, "cold-h2"])
def test_what_a_damaged_log_tells_is_what_the_whole_one_tells_or_null(shape: str, damage: str) -> None:
    events, chance = saved(shape), random.Random(shape + damage)
    wrong = (made_up(events, DAMAGE[damage](events, chance)) for _ in range(_TRIES))
    assert [said for saying in wrong for said in saying] == []


@pytest.mark.parametrize("damage", [doubled, twice])
@pytest.mark.parametrize("shape", [*SHAPES, "cold-h2"])
def test_what_is_told_twice_costs_nothing(shape: str, damage: Callable[[Events, random.Random], Events]) -> None:
    events = saved(shape)
    assert told(rows_of(damage(events, random.Random(shape)))) == told(rows_of(events))


JUNK: tuple[Any, ...] = (math.nan, math.inf, -math.inf, 1e300, 10**400, -(10**30), "12", None, [], {"a": {}})


STANDING_IN = ("requestId", "url", "method", "errorText", "receiveHeadersStart")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where anything stands in an event, but for headers."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in inside:
        if name != "headers":
            yield (*path, name)
            yield from places(inner, (*path, name))


def with_junk(events: Events, chance: random.Random) -> Events:
    """Something else in one place of one event, but for what tells requests apart or has a stand-in."""
    number = chance.randrange(len(events))
    *way, last = chance.choice([place for place in places(events[number]) if place[-1] not in STANDING_IN])
    changed = copy.deepcopy(events[number])
    holder = functools.reduce(operator.getitem, way, changed)
    holder[last] = chance.choice([one for one in JUNK if not isinstance(one, str) or not isinstance(holder[last], str)])
    return [*events[:number], changed, *events[number + 1 :]]


@pytest.mark.parametrize("shape", [*SHAPES, "cold-h2", "websocket-refused", "worker", "frame-of-another-host"])
def test_what_no_clock_or_browser_says_is_null(shape: str) -> None:
    events, chance = saved(shape), random.Random(shape)
    for _ in range(_TRIES * 2):
        damaged = with_junk(events, chance)
        wrong = [said for said in made_up(events, damaged) if not said.endswith("was never asked for then")]
        assert wrong == [], damaged


def of_another_browser(events: Events, session: str, later_s: float) -> Events:
    """The same ids and connections, at another time."""

    def moved(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: moved(one, key) for key, one in value.items()}
        return value + later_s if name in ("timestamp", "requestTime") else value

    return [{**event, "params": moved(event["params"]), "sessionId": session} for event in events]


@pytest.mark.parametrize("other", ["redirect-chain", "six-h1", "cold-h2"])
@pytest.mark.parametrize("shape", SHAPES)
def test_pages_of_several_sessions_keep_to_themselves_although_their_ids_are_the_same(shape: str, other: str) -> None:
    """Interleaved anyhow; the second page is another with the first one's ids."""
    first = of_another_browser(saved(shape), "A", 0)
    ids = list(dict.fromkeys(one["params"]["requestId"] for one in first if "requestId" in one["params"]))
    apart = of_another_browser(saved(other), "B", 1000)
    taken = dict(zip(dict.fromkeys(one["params"].get("requestId") for one in apart), ids, strict=False))
    second = [with_id(one, taken) for one in apart]
    chance = random.Random(shape + other)
    for _ in range(_TRIES // 4):
        mixed = interleaved(first, second, chance)
        apart_rows = rows_of(first) + rows_of(second)
        together = rows_of(mixed)
        assert sorted(told(together)) == sorted(told(apart_rows))


def with_id(event: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    request_id = event["params"].get("requestId")
    return {**event, "params": {**event["params"], "requestId": ids.get(request_id, request_id)}}


def interleaved(first: Events, second: Events, chance: random.Random) -> Events:
    rest = {"A": iter(first), "B": iter(second)}
    order = ["A"] * len(first) + ["B"] * len(second)
    chance.shuffle(order)
    return [next(rest[one]) for one in order]


def told(rows: list[tuple[Key, Request, int]]) -> list[tuple[Any, ...]]:
    return [
        (
            key,
            sorted(instants(row.timing, zero_us)),
            str([getattr(row, name) for name in (*_FACTS, "reused", "body_bytes")]),
            str(row.response_headers),
            str(row.request_headers),
        )
        for key, row, zero_us in rows
    ]
