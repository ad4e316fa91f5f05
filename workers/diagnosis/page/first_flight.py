"""Files of which a first flight brought no whole record: most of them had come, and none of it could be read before the
next flight (RFC 8446, 5.1). Of fewer bytes all comes with the first.
"""

from collections.abc import Mapping, Sequence

from workers.diagnosis.page.case import PageCase
from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.instants import CLOCKS_US
from workers.diagnosis.probe.flights import USUAL_MSS_BYTES
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES, further_flights
from workers.measurement.connection import Pause
from workers.measurement.waterfall import Request

# A compressor hands on what it has piece by piece, and packets that are not full take places of a flight too: measured
# with nginx 1.26, whose first flight brought 11.6 kB of a text as it is or 8.7, and 8.7 of one that is compressed.
PIECES_BYTES, _LEAST_BYTES = 2 * USUAL_MSS_BYTES, 6 * USUAL_MSS_BYTES
# A window that is full stands still for about a round trip; shorter pauses are a busy server's.
_FULL_TRIP = 0.5


def sooner_in_fewer_flights_us(case: PageCase, row: Request, fewer: Mapping[int, int], apart_bytes: int = 0) -> int:
    """By how much sooner its last byte comes where so many fewer come of each, by number: by round trips that are not
    needed then, of those that passed since its connection first stood still. `apart_bytes` of a flight are then lost to
    packets that are not full."""
    pauses = _pauses_until(case, row, row.timing.first_byte_us)
    if not pauses:
        return 0
    came, left = _over_window(case, row, pauses, fewer)
    trip, passed_us = case.trip_us(row), (row.timing.end_us or 0) - pauses[0].span.start_us
    flights = further_flights(left, _held_bytes(came, pauses, trip, apart_bytes))
    return max(0, min(passed_us, trip * further_flights(came)) - trip * flights)


def begins_sooner_us(case: PageCase, fewer: Mapping[int, int]) -> int:
    """By how much sooner the browser begins to read the document then, and to ask for what that names. Its head may
    have come as a record of its own, with the first flight."""
    document, read_us = case.document, case.hint_us
    pauses = [] if document is None else _pauses_until(case, document, read_us)
    if document is None or read_us is None or not pauses:
        return 0
    came, left = _over_window(case, document, pauses, fewer)
    if came <= FIRST_FLIGHT_BYTES or left > _held_bytes(came, pauses, case.trip_us(document), PIECES_BYTES):
        return 0
    return min(read_us - pauses[0].span.start_us, case.trip_us(document) * len(pauses))


def _held_bytes(came_bytes: int, pauses: Sequence[Pause], trip_us: int, apart_bytes: int) -> int:
    """How much of an answer a first flight holds: what came ahead of the pauses, as tickets and settings leave less
    room than most servers have (RFC 6928). A packet at least."""
    full = (one for one in pauses if one.span.duration_us >= _FULL_TRIP * trip_us)
    ahead_bytes = came_bytes - sum(one.behind_bytes for one in full)
    apart_bytes = max(0, min(apart_bytes, ahead_bytes - _LEAST_BYTES))
    return max(USUAL_MSS_BYTES, min(FIRST_FLIGHT_BYTES, ahead_bytes - apart_bytes))


def _pauses_until(case: PageCase, row: Request, until_us: int | None) -> Sequence[Pause]:
    """When its connection stood still from when it was sent on, and before an instant."""
    wait = row.timing.wait
    if wait is None or until_us is None:
        return []
    pauses = case.pauses_of(row)
    return [one for one in pauses if wait.start_us < one.span.start_us and one.span.end_us <= until_us + CLOCKS_US]


def _over_window(case: PageCase, row: Request, pauses: Sequence[Pause], fewer: Mapping[int, int]) -> tuple[int, int]:
    """The bytes of a row and of all that shared its window meanwhile, as they came and with so many fewer."""
    since_us, until_us = pauses[0].span.start_us, pauses[-1].span.end_us
    beside = [
        one
        for one in case.together_with(row)
        if one is row
        or (
            one.protocol not in ONE_AT_A_TIME and one.timing.start_us < until_us and (one.timing.end_us or 0) > since_us
        )
    ]
    came = sum(one.transferred_bytes or 0 for one in beside)
    return came, came - sum(fewer.get(one.number, 0) for one in beside)
