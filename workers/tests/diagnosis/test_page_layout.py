"""How what came lies on the line."""

from workers.diagnosis.page.layout import Layout
from workers.measurement.connection import Pause
from workers.measurement.waterfall import ResourceType
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
