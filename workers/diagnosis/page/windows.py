"""What a file that is asked for sooner, or of another host, finds of its connection's window (RFC 5681): what came over
that before has made it grow, and what comes beside the file takes its part."""

from dataclasses import dataclass

from workers.diagnosis.page import line
from workers.diagnosis.page.case import PageCase
from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES, further_flights
from workers.measurement.connection import Connection
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# A server that sent nothing for longer than it waits for a lost packet begins anew (RFC 5681, 4.1): Linux waits for a
# round trip and 200 ms (TCP_RTO_MIN).
_RESTED_US = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    """What else came over a connection: bytes that had come when a file would be asked for and of the largest answer
    among them, those that came later and were asked for before an instant, and when the last of all had come, if there
    were any."""

    before_bytes: int
    largest_bytes: int
    beside_bytes: int
    last_us: int | None

    def further_flights(self, own_bytes: int) -> int:
        """Of so many bytes and those beside them. An answer has made the window grow by its size, though to no more
        than twice that (Linux, tcp_is_cwnd_limited; seen: none after 5 kB, 10 to 19 segments after 12, 20 after 14)."""
        grown = min(FIRST_FLIGHT_BYTES + self.largest_bytes, 2 * self.largest_bytes)
        return further_flights(own_bytes + self.beside_bytes, max(FIRST_FLIGHT_BYTES, grown))


def growing_us(case: PageCase, row: Request) -> int:
    """How much longer a file takes to come where a hint in the document's head has it asked for. Where a connection
    carries one at a time, it has one for itself."""
    if row.protocol in ONE_AT_A_TIME:
        return 0
    trip, own = case.trip_us(row), row.transferred_bytes or 0
    hint_us, asked_us = case.hint_us or 0, row.timing.start_us
    # What a 103 (Early Hints) had asked for before no hint in the head asks for.
    others = _others(case, row, row.connection, Span(start_us=min(hint_us, asked_us), end_us=asked_us))
    if others.last_us is None:
        return 0
    rested = row.timing.start_us - others.last_us > trip + _RESTED_US
    came_us = _came_anew_us(case, row) if rested else _came_us(case, row, others)
    return max(0, trip * others.further_flights(own) - came_us)


def _came_us(case: PageCase, row: Request, others: _Others) -> int:
    """What the window's growth took for the file as it came."""
    trip, own = case.trip_us(row), row.transferred_bytes or 0
    # It may have grown by all that came.
    grown = FIRST_FLIGHT_BYTES + others.before_bytes + others.beside_bytes
    download_us = 0 if row.timing.download is None else row.timing.download.duration_us
    return max(trip * further_flights(own, grown), download_us)


def _came_anew_us(case: PageCase, row: Request) -> int:
    """The same where it began small. A part may lie before the first byte: a first flight can hold no whole record."""
    trip, timing = case.trip_us(row), row.timing
    passed_us = (timing.end_us or 0) - timing.start_us - case.waited_us(row) - trip
    return max(0, min(trip * further_flights(row.transferred_bytes or 0), passed_us))


def moved_us(case: PageCase, row: Request, onto: Connection) -> int:
    """How much sooner a file comes that waited for its connection to open, if it is asked for over an open one of
    another host instead, when it was: nothing where that carries one at a time, or nobody knows how far it leads."""
    first_us = row.timing.first_byte_us
    if first_us is None or onto.protocol in ONE_AT_A_TIME or not case.trip_over_us(onto):
        return 0
    others = _others(case, row, onto.number, Span(start_us=row.timing.start_us, end_us=first_us))
    then_us = case.trip_over_us(onto) * (1 + others.further_flights(row.transferred_bytes or 0))
    now_us = case.trip_us(row) + _came_anew_us(case, row)
    sooner_us = max(0, case.waited_us(row) - max(0, then_us - now_us))
    return line.sooner_us(row, case.page.waterfall.requests, sooner_us)


def _others(case: PageCase, row: Request, connection: int | None, asked: Span) -> _Others:
    """What else came over a connection, before the beginning of a span or later, of what was asked for by its end."""
    found = [
        (one.timing.end_us or 0, one.transferred_bytes or 0)
        for one in case.rows
        if _comes_over(case, one, row, connection) and one is not row and one.timing.start_us <= asked.end_us
    ]
    before = [size for end_us, size in found if end_us <= asked.start_us]
    return _Others(
        before_bytes=sum(before),
        largest_bytes=max(before, default=0),
        beside_bytes=sum(size for end_us, size in found if end_us > asked.start_us),
        last_us=max((end_us for end_us, _ in found), default=None),
    )


def _comes_over(case: PageCase, one: Request, row: Request, connection: int | None) -> bool:
    """Whether a row came over a connection; where that has no name, over that of another row."""
    return case.are_together(one, row) if connection is None else one.connection == connection
