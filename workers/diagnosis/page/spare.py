"""What a connection had to spare: a file that is asked for sooner comes in the way of all that comes meanwhile. By
coming before what the paint waits for anyway it gains nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workers.diagnosis.page.case import PageCase
from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.loads import RECORD_BYTES, Load, begun, load_of
from workers.diagnosis.page.spans import covered_us, overlaps, within
from workers.diagnosis.probe.flights import USUAL_MSS_BYTES
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES, further_flights
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request, ResourceType

# What came at this share of the file's own rate, or faster, left it no room.
_FULL = 0.75
# So many times what slow start takes is the line's doing.
_LONG = 1.5
# Two connections over one line of 20 Mbit/s were seen to bring 2.3 and 2.4 bytes in a microsecond between their pauses.
_ALIKE = 0.8
_NAMING = frozenset({ResourceType.DOCUMENT, ResourceType.STYLESHEET})


def spare_us(case: PageCase, row: Request, asked: Request, sooner_us: int) -> int:
    """How much of the time by which a file begins to come sooner, at most, brings a paint sooner that waits for it and
    for what else it waited for: `asked` is what was asked for first where it led to the file."""
    own = load_of(row)
    if own is None:
        return sooner_us
    rate = _line_rate(case, row, own)
    span = _ahead(_on_its_way(case, row, own, rate), sooner_us)
    needed = [one for one in case.rows if _is_needed(case, one, row, asked)]
    loads = [load for one in needed if (load := _on_line(case, one, row, rate))]
    return max(0, sooner_us - _covered_us(loads, span, rate, case.trip_us(row)))


def _line_rate(case: PageCase, row: Request, own: Load) -> float:
    """Bytes in a microsecond of the line that a row came over; where nothing that came over its connection tells, as if
    it had come all the while since it was due."""
    return case.carried_rate(row) or own.size_bytes / (own.span.duration_us + _late_us(case, row))


def _on_its_way(case: PageCase, row: Request, own: Load, rate: float) -> Load:
    """With what the line took for the record that came before its first byte could be read."""
    took_us = min(_late_us(case, row), round(min(own.size_bytes, RECORD_BYTES) / rate))
    return begun(own, own.span.start_us - took_us)


def _late_us(case: PageCase, row: Request) -> int:
    """How much longer than a round trip its first byte took."""
    return 0 if row.timing.wait is None else max(0, row.timing.wait.duration_us - case.trip_us(row))


def line_spare_us(case: PageCase, sooner: Mapping[int, int]) -> dict[int, int]:
    """How much of the time by which files come sooner, by number, the line had to spare beside those that filled it
    meanwhile and come as they did: the document mostly, which servers send first."""
    loads = {row.number: load for row in case.rows if (load := _begun(case, row))}
    large = [load for load in loads.values() if load.size_bytes > 2 * FIRST_FLIGHT_BYTES]
    rate = max((load.size_bytes / load.span.duration_us for load in large), default=0.0)
    full = [
        loads[row.number]
        for row in case.rows
        if row.number in loads and row.number not in sooner and _fills_line(case, row, loads[row.number])
    ]
    return {number: us - _busy_us(full, _ahead(loads.get(number), us), rate) for number, us in sooner.items()}


def _ahead(load: Load | None, sooner_us: int) -> Span:
    """The time by which it would begin sooner; none where nobody knows how it came."""
    begun_us = 0 if load is None else load.span.start_us
    return Span(start_us=begun_us if load is None else begun_us - sooner_us, end_us=begun_us)


def _is_needed(case: PageCase, one: Request, row: Request, asked: Request) -> bool:
    """Whether the paint needs another file too: all that the first one does, and what names the file. A script that
    names it is not needed by a page that does so itself."""
    names = one.url == asked.initiator_url and one.resource_type in _NAMING
    return one.number != row.number and (names or case.paint.waits_for(one))


def _beside(case: PageCase, one: Request, row: Request) -> Load | None:
    """What comes over the file's own connection, and what filled the line over another: it took far longer than its
    window needed to grow."""
    load = _begun(case, one)
    return load if load is None or _shares_window(case, one, row) or _fills_line(case, one, load) else None


def _shares_window(case: PageCase, one: Request, row: Request) -> bool:
    return case.are_together(one, row) and one.protocol not in ONE_AT_A_TIME


def _shares_line(case: PageCase, one: Request, row: Request) -> bool:
    """Whether two connections, to different servers maybe, brought as many bytes between their pauses: as many as the
    visitor's own line carries."""
    slower, faster = sorted((case.carried_rate(one), case.carried_rate(row)))
    return slower >= _ALIKE * faster > 0


def _on_line(case: PageCase, one: Request, row: Request, rate: float) -> Load | None:
    """The same through a line of so many bytes in a microsecond, which all that is larger than a packet needs, also
    what comes from elsewhere over the same line: with the record that came before its first byte could be read, and a
    round trip for its window."""
    load, wait, trip = load_of(one), one.timing.wait, case.trip_us(one)
    if load is None or wait is None or not _shares_window(case, one, row):
        return load if load is not None and _shares_line(case, one, row) else _beside(case, one, row)
    if load.size_bytes <= USUAL_MSS_BYTES:
        return None
    record_us = round(min(load.size_bytes, RECORD_BYTES) / rate)
    before_us = max(0, min(wait.duration_us - trip, trip + record_us))
    return replace(load, span=Span(start_us=load.span.start_us - before_us, end_us=load.span.end_us))


def _fills_line(case: PageCase, row: Request, load: Load) -> bool:
    if row.number == case.page.document and case.page.came_on_us is not None:
        # It stood still, as its server had no more of it.
        return False
    trip, flights = case.trip_us(row), further_flights(load.size_bytes)
    return load.span.duration_us > _LONG * trip * flights > 0 or (flights > 1 and _flows(case, row, load, trip))


def _flows(case: PageCase, row: Request, load: Load, trip: int) -> bool:
    """Whether a row came as a line carries it, and not flight by flight as a window grows: then nothing comes for most
    of each round trip."""
    connection = case.connection_of(row)
    if connection is None or connection.pauses is None or row.protocol in ONE_AT_A_TIME:
        return False
    pauses = (pause.span for pause in case.pauses_of(row) if overlaps(pause.span, load.span))
    return covered_us(within(pause, load.span) for pause in pauses) < trip


def _busy_us(loads: Sequence[Load], span: Span, rate: float) -> int:
    """The same, but for a first flight, which is in nothing's way."""
    size_bytes = sum(load.bytes_in(span) for load in loads if overlaps(load.span, span))
    return 0 if size_bytes <= FIRST_FLIGHT_BYTES else _covered_us(loads, span, rate)


def _covered_us(loads: Sequence[Load], span: Span, rate: float, idle_us: int = 0) -> int:
    """How long of a span these kept a connection of a rate busy: from the first to the last byte of those that came
    about as fast, but for so long, for their bytes alone of others, as of what a server makes slowly."""
    inside = [load for load in loads if overlaps(load.span, span)]
    size_bytes = sum(load.bytes_in(span) for load in inside)
    whole_us = covered_us(within(load.span, span) for load in inside)
    return whole_us if size_bytes >= _FULL * rate * (whole_us - idle_us) else round(size_bytes / rate)


def _begun(case: PageCase, row: Request) -> Load | None:
    """What came of a row, with what came before its first byte could be read: a record that no first flight holds."""
    load, wait, trip = load_of(row), row.timing.wait, case.trip_us(row)
    if load is None or wait is None or load.size_bytes <= FIRST_FLIGHT_BYTES:
        return load
    before_us = max(0, min(wait.duration_us - trip, trip))
    return replace(load, span=Span(start_us=load.span.start_us - before_us, end_us=load.span.end_us))
