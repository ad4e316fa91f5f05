"""What fewer bytes save where each text comes in a record or two, which a browser reads when they are whole. Instants
as measured at 80 ms through a line of 1600 kbit/s, whose window lets half of the second flight out at once.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest

from workers.diagnosis.page.one_connection import sooner_over_one_us
from workers.measurement.connection import Pause
from workers.measurement.waterfall import Request, ResourceType
from workers.tests.builders import span
from workers.tests.diagnosis.page_bursts import sooner_by_fewer_us
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


# Eight texts of 30 kB over six connections of HTTP/1.1, at 150 ms through a line of 1600 kbit/s: connection, when each
# was asked for, its first byte and its last. And when each connection stood still first.
FROM_NODE = [
    (1, 643, 983, 1_050),
    (2, 643, 1_057, 1_125),
    (3, 957, 1_745, 1_813),
    (4, 959, 1_827, 1_895),
    (5, 963, 1_917, 1_994),
    (6, 968, 2_006, 2_074),
    (1, 1_052, 1_506, 1_573),
    (2, 1_126, 1_663, 1_731),
]
STOOD_STILL = {
    1: (870, 975),
    2: (952, 1_057),
    3: (1_199, 1_737),
    4: (1_274, 1_819),
    5: (1_345, 1_901),
    6: (1_416, 1_961),
}
FROM_HAPROXY = [
    (1, 635, 959, 1_034),
    (2, 635, 944, 1_101),
    (1, 1_035, 1_266, 1_344),
    (2, 1_102, 1_423, 1_501),
    (3, 1_104, 1_781, 1_858),
    (4, 1_105, 1_871, 1_946),
    (5, 1_111, 1_967, 2_043),
    (6, 1_115, 2_065, 2_139),
]
BEFORE_RECORDS = {
    1: (860, 959),
    2: (951, 1_041),
    3: (1_570, 1_773),
    4: (1_639, 1_863),
    5: (1_703, 1_952),
    6: (1_766, 2_049),
}


def over_six(came: Sequence[tuple[int, int, int, int]]) -> list[Request]:
    kind, more = ResourceType.STYLESHEET, {"transferred_bytes": 30_261, "protocol": "http/1.1"}
    return [
        row(n, kind, sent - 1, end, first_ms=first, connection=connection, **more)
        for n, (connection, sent, first, end) in enumerate(came, start=2)
    ]


def pauses_of(stood_still: Mapping[int, tuple[int, int]]) -> dict[int | None, Sequence[Pause]]:
    return {number: (Pause(span=span(*ends), behind_bytes=1_448),) for number, ends in stood_still.items()}


def test_of_an_answer_over_http1_a_part_had_come_when_its_connection_stood_still_ahead_of_its_first_byte() -> None:
    """The line is full from the first flight to the last record. Compressed, they gained 504 ms; none were told, since
    each seemed to come in the 70 ms of its second record."""
    rows, paused = over_six(FROM_NODE), pauses_of(STOOD_STILL)
    last, fewer = rows[5], {one.number: 14_500 for one in rows}
    assert sooner_by_fewer_us(last, rows, fewer, 150_000, (), paused) == pytest.approx(504_000, rel=0.2)
    assert sooner_by_fewer_us(last, rows, fewer, 150_000, (), dict.fromkeys(paused, ())) < 50_000


def test_records_that_came_unread_make_a_line_no_quicker_for_one_connection() -> None:
    """60 kB seemed to come in 157 ms, of which 240 passed before: HTTP/2 was told to gain 55 ms, and gained none. Where
    nothing had come since an answer was due it may be its server that was late."""
    rows = over_six(FROM_HAPROXY)
    sooner = {one.number: one.timing.start_us - 634_000 for one in rows}
    seen = [pauses_of(stood) for stood in (BEFORE_RECORDS, {}, {1: (600, 959)})]
    gained = [sooner_over_one_us(rows, sooner, 150_000, paused)[9] for paused in seen]
    assert gained[0] < 40_000 < 50_000 < min(gained[1:])


def test_a_window_that_stood_still_before_and_not_since_is_as_large_as_the_line() -> None:
    """Eight texts of 30 kB from an nginx, at 80 ms through 5000 kbit/s. Compressed, they gained 192 ms; 80 were told,
    as if the window of the last seven had begun anew."""
    came_ms = ((519, 541), (607, 636), (633, 689), (634, 741), (634, 797), (634, 852), (635, 904), (635, 929))
    kind, more = ResourceType.STYLESHEET, {"transferred_bytes": 30_187}
    rows = [row(n, kind, 354, end, first_ms=first, **more) for n, (first, end) in enumerate(came_ms, start=2)]
    pauses = [Pause(span=span(*ends), behind_bytes=1_448) for ends in ((453, 517), (562, 602))]
    far = [Pause(span=span(453, 533), behind_bytes=1_448)]
    fewer = {one.number: 14_500 for one in rows}
    gained = [sooner_by_fewer_us(rows[-1], rows, fewer, TRIP_US, seen, {1: pauses}) for seen in (pauses, far, ())]
    assert gained[0] == pytest.approx(192_000, rel=0.2)
    assert max(gained[1:]) < 100_000


def test_an_answer_with_a_window_for_itself_comes_no_sooner_than_that_grows() -> None:
    """A style sheet of 52 kB beside a document of 900 over HTTP/1.1, at 80 ms through 16 Mbit/s: a document of half as
    much gains it 68 ms."""
    one_each = {"protocol": "http/1.1"}
    page = row(1, ResourceType.DOCUMENT, 250, 1_041, first_ms=417, transferred_bytes=900_444, **one_each)
    sheet = row(2, ResourceType.STYLESHEET, 619, 988, first_ms=859, transferred_bytes=51_810, connection=2, **one_each)
    paused = pauses_of({1: (349, 414), 2: (754, 857)})
    assert sooner_by_fewer_us(sheet, [page, sheet], {1: 501_418}, TRIP_US, (), paused) <= 80_000
