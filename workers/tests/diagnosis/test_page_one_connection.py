"""What HTTP/2 saves on a line that is full: what came of a record before it could be read took the line its time."""

from collections.abc import Mapping, Sequence

from workers.diagnosis.page.one_connection import sooner_over_one_us
from workers.measurement.connection import Pause
from workers.measurement.waterfall import ResourceType
from workers.tests.builders import pause
from workers.tests.diagnosis.page_sketch import row

# Eight style sheets of 30 kB over six connections of HTTP/1.1 at 150 ms, as measured through a line of 1600 kbit/s: by
# connection, when each was sent, its first byte and its last.
CAME_MS = (
    (1, 639, 971, 1038),
    (2, 639, 956, 1105),
    (1, 1041, 1276, 1349),
    (2, 1107, 1434, 1506),
    (3, 1111, 1793, 1860),
    (4, 1111, 1882, 1950),
    (5, 1115, 1980, 2055),
    (6, 1120, 2077, 2145),
)
STOOD: dict[int | None, list[Pause]] = {1: [pause(863, 962)], 2: [pause(955, 1044)]}


def last_sooner_us(stood: Mapping[int | None, Sequence[Pause]]) -> int:
    """How much sooner the last comes if all are asked for as the first is."""
    kind, more = ResourceType.STYLESHEET, {"transferred_bytes": 30_273, "protocol": "http/1.1"}
    rows = [
        row(number, kind, sent, end, first_ms=first, connection=connection, **more)
        for number, (connection, sent, first, end) in enumerate(CAME_MS, start=2)
    ]
    waited = {number: 1_000 * (sent - CAME_MS[0][1]) for number, (_, sent, _, _) in enumerate(CAME_MS, start=2)}
    return sooner_over_one_us(rows, waited, 150_000, stood)[len(rows) + 1]


def test_what_came_of_a_record_before_it_could_be_read_took_the_line_its_time() -> None:
    """62 ms were told, none gained."""
    assert last_sooner_us(STOOD) < 20_000


def test_where_nothing_came_before_a_first_byte_it_may_be_its_server_that_was_late() -> None:
    assert last_sooner_us({}) > 40_000
    assert last_sooner_us({1: [pause(600, 971)]}) > 40_000
