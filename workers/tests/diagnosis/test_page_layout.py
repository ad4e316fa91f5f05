"""How what came lies on the line."""

import pytest

from workers.diagnosis.page.layout import Layout
from workers.measurement.connection import Pause
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import pause
from workers.tests.diagnosis.page_sketch import row

_TRIPS_US = {1: 40_000, 2: 150_000}


def test_each_came_since_it_was_due_over_its_own_connection() -> None:
    """One stood still behind its first round trip; over the other that pause lay within it."""
    near, far = (
        row(number, ResourceType.IMAGE, 0, 300, first_ms=200, protocol="http/1.1", connection=number)
        for number in (1, 2)
    )
    paused: dict[int | None, tuple[Pause, ...]] = {number: (pause(100, 180, 1_448),) for number in (1, 2)}
    layout = Layout(rows=(near, far), trip_us=lambda one: _TRIPS_US[one.connection or 0], paused=paused)
    bursts = [burst for one in (near, far) if (burst := layout.burst_of(one))]
    assert [burst.seen[number].span.start_us for number, burst in enumerate(bursts, 1)] == [100_000, 200_000]
    assert [burst.trip_us for burst in bursts] == [40_000, 150_000]
    assert [[one.number for one in burst.rows] for burst in bursts] == [[1], [2]]


def _over_one(*rows: Request) -> Layout:
    return Layout(rows=rows, trip_us=lambda _: 40_000, paused={1: ()})


def _of(number: int, first_ms: float, size_bytes: int, start_ms: float = 0) -> Request:
    """It comes for 200 ms."""
    sizes = {"first_ms": first_ms, "transferred_bytes": size_bytes}
    return row(number, ResourceType.IMAGE, start_ms, first_ms + 200, **sizes)


@pytest.mark.parametrize(("first_ms", "since_ms"), [(50, 41), (150, 110.8)])
def test_a_first_record_took_the_line_as_long_as_its_bytes_and_no_longer_than_it_was_due(
    first_ms: float, since_ms: float
) -> None:
    found = _of(2, first_ms, 100_000)
    burst = _over_one(found).burst_of(found)
    assert burst is not None
    assert burst.whole.start_us == pytest.approx(since_ms * 1000, abs=20)


def test_a_connection_carries_what_its_quickest_large_answers_came_at_behind_their_first_record() -> None:
    rows = [_of(2, 100, 36_384), _of(3, 500, 56_384, 400), _of(4, 900, 26_300, 800)]
    assert _over_one(*rows).carried_rate(()) == pytest.approx(40_000 / 200_000)
    assert _over_one(rows[2]).carried_rate(()) == 0
