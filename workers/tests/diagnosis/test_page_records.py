"""What fewer bytes save where each text comes in a record or two, which a browser reads when they are whole. Instants
as measured at 80 ms through a line of 1600 kbit/s, whose window lets half of the second flight out at once.
"""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from workers.diagnosis.page.line import sooner_by_fewer_us
from workers.measurement.connection import Pause
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import span
from workers.tests.diagnosis.page_sketch import row

TRIP_US = 80_000
CAME_MS = ((510, 511), (609, 611), (676, 678), (751, 753), (766, 851), (767, 890))
WINDOW = Pause(span=span(509, 541), behind_bytes=1_448)


def texts(came_ms: Sequence[tuple[float, float]] = CAME_MS, protocol: str = "h2") -> list[Request]:
    """Style sheets of 13,684 bytes that were asked for at once, by their first and last bytes."""
    kind, more = ResourceType.STYLESHEET, {"transferred_bytes": 13_684, "protocol": protocol}
    return [row(n, kind, 351, end, first_ms=first, **more) for n, (first, end) in enumerate(came_ms, start=2)]


def gained_us(rows: Sequence[Request], pauses: Sequence[Pause] | None) -> int:
    """Of the last one, if 6,400 bytes of each do not come."""
    paused: dict[int | None, Sequence[Pause]] = {} if pauses is None else {1: pauses}
    return sooner_by_fewer_us(rows[-1], rows, {one.number: 6_400 for one in rows}, TRIP_US, (), paused)


def test_what_no_pause_lies_before_came_since_it_was_due_however_late_its_record_could_be_read() -> None:
    """The line brings 200 bytes in a millisecond: 32,000 take 160 ms. All six gained 208."""
    assert gained_us(texts(), [WINDOW]) == pytest.approx(160_000, rel=0.05)


def test_where_nobody_looked_for_pauses_a_late_record_may_be_its_servers_doing() -> None:
    assert gained_us(texts(), None) < 90_000


@pytest.mark.parametrize(
    ("came_ms", "gained"),
    [(((557, 628), (714, 792)), 155_000), (((546, 614), (703, 787), (786, 927)), 224_000)],
    ids=["two", "three"],
)
def test_the_record_that_a_burst_begins_with_took_the_line_its_part_of_the_time(
    came_ms: Sequence[tuple[float, float]], gained: int
) -> None:
    """Texts of 30 kB, asked for at 348 ms: the first 16 kB came before a byte could be read, and counted as if they had
    come after that, which made the line quick. 93 and 171 ms were told, 172 and 224 gained."""
    kind, more = ResourceType.STYLESHEET, {"transferred_bytes": 30_202}
    rows = [row(n, kind, 348, end, first_ms=first, **more) for n, (first, end) in enumerate(came_ms, start=2)]
    fewer = {one.number: 14_495 for one in rows}
    assert sooner_by_fewer_us(rows[-1], rows, fewer, TRIP_US, (), {1: ()}) == pytest.approx(gained, rel=0.05)


@pytest.mark.parametrize(("first_ms", "gained"), [(433, 128_000), (610, 192_000)])
def test_a_record_takes_the_line_no_longer_than_since_it_was_due(first_ms: int, gained: int) -> None:
    """Its text was asked for at 351 ms, and the next ones came in 137 each."""
    rows = texts([(first_ms, first_ms + 1), (first_ms + 1, first_ms + 137), (first_ms + 138, first_ms + 274)])
    assert gained_us(rows, ()) == pytest.approx(gained, rel=0.05)


def test_what_a_server_makes_one_after_the_other_comes_no_sooner_for_fewer_bytes() -> None:
    """Each at once when it is made."""
    made = [(510 + 70 * number, 511 + 70 * number) for number in range(6)]
    pauses = [Pause(span=span(before, first), behind_bytes=13_684) for (_, before), (first, _) in pairwise(made)]
    assert gained_us(texts(made), pauses) < 1_000
    assert gained_us(texts(made), ()) > 100_000


def test_what_was_read_at_once_came_as_quickly_where_nobody_saw_its_bytes() -> None:
    """As over QUIC, which has no records: then what comes at a tenth of that rate is its server's doing."""
    rows = texts([(510, 511), (511, 700)])
    assert gained_us(rows, None) == 0
    assert gained_us(rows, ()) > 0
