"""What a file that is asked for sooner finds of its connection's window (RFC 5681): what came since made that grow."""

from dataclasses import dataclass

from workers.diagnosis.page_case import PageCase
from workers.diagnosis.page_hosts import ONE_AT_A_TIME, trip_us
from workers.diagnosis.slow_start import FIRST_FLIGHT_BYTES, further_flights
from workers.measurement.waterfall import Request

# A server that sent nothing for longer than it waits for a lost packet begins anew (RFC 5681, 4.1): Linux waits for a
# round trip and 200 ms (TCP_RTO_MIN).
_RESTED_US = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    """What else came over a file's connection: bytes that had come by the time of a hint, bytes that came later and
    were asked for before the file, and when the last of all had come."""

    before_bytes: int = 0
    beside_bytes: int = 0
    last_us: int = 0


def growing_us(case: PageCase, row: Request) -> int:
    """How much longer a file takes to come where a hint in the document's head has it asked for.

    What came before the hint is taken to have made the window grow to that size, and what had come before the file as
    it was asked for by that size: a server that has less to send than its window holds does not make it grow.
    """
    others, trip, own = _others(case, row), trip_us(case.connection_of(row)), row.transferred_bytes or 0
    then = further_flights(own + others.beside_bytes, max(FIRST_FLIGHT_BYTES, others.before_bytes))
    return max(0, trip * then - _came_us(case, row, others))


def _came_us(case: PageCase, row: Request, others: _Others) -> int:
    """What the window's growth took for the file as it came: after a rest a part of that may lie before its first byte,
    as the first flight can hold no whole record."""
    trip, own, timing = trip_us(case.connection_of(row)), row.transferred_bytes or 0, row.timing
    if timing.start_us - others.last_us > trip + _RESTED_US:
        passed_us = (timing.end_us or 0) - timing.start_us - case.waited_us(row) - trip
        return min(trip * further_flights(own), passed_us)
    grown = FIRST_FLIGHT_BYTES + others.before_bytes + others.beside_bytes
    download_us = 0 if timing.download is None else timing.download.duration_us
    return max(trip * further_flights(own, grown), download_us)


def _others(case: PageCase, row: Request) -> _Others:
    """Where a connection carries one at a time, a file that is asked for sooner has one for itself."""
    hint_us = case.hint_us or 0
    found = [
        (one.timing.end_us or 0, one.transferred_bytes or 0)
        for one in case.rows
        if one.connection == row.connection and one is not row and one.timing.start_us <= row.timing.start_us
    ]
    if row.protocol in ONE_AT_A_TIME or not found:
        return _Others(last_us=row.timing.start_us)
    return _Others(
        before_bytes=sum(size for end_us, size in found if end_us <= hint_us),
        beside_bytes=sum(size for end_us, size in found if end_us > hint_us),
        last_us=max(end_us for end_us, _ in found),
    )
