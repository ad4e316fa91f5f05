"""How long nothing came over a connection while answers were on their way: what a line takes for bytes it takes while
they flow, and a pause of whatever cause is none of their doing."""

from collections.abc import Sequence

from workers.diagnosis.page_hosts import trip_us
from workers.measurement.connection import Connection
from workers.measurement.timing import Span

# A shorter pause, as a share of a round trip, may be what other connections brought over the same line meanwhile.
_LEAST_TRIP = 1 / 3


def pauses_of(connection: Connection | None) -> tuple[Span, ...]:
    """Those that a full window or a loss makes. Empty where nobody looked."""
    pauses = () if connection is None else connection.pauses or ()
    return tuple(pause for pause in pauses if pause.duration_us >= _LEAST_TRIP * trip_us(connection))


def flowing_us(span: Span, pauses: Sequence[Span]) -> int:
    """How much of a span was in none of the pauses, which lie behind one another."""
    overlaps = (min(span.end_us, pause.end_us) - max(span.start_us, pause.start_us) for pause in pauses)
    return span.duration_us - sum(max(0, overlap_us) for overlap_us in overlaps)
