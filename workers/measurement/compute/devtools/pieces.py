"""When the pieces of a document came: a server may write some of it, and think before it goes on. Pure."""

from collections.abc import Sequence
from itertools import pairwise

from workers.measurement.captures_page import PieceSeen
from workers.measurement.compute.devtools.exchange import monotonic_us
from workers.measurement.connection import Connection
from workers.measurement.waterfall import Request

# Of what stands still for longer, and for longer than two round trips, no bytes were on their way.
_STILL_US = 100_000
_STILL_TRIPS = 2


def came_on_us(
    pieces: Sequence[PieceSeen], document: Request | None, connection: Connection | None, zero_us: int
) -> int | None:
    """When the document came on for the last time after it had stood still, or ended; None where it never stood."""
    began_us, end_us = (None, None) if document is None else (document.timing.first_byte_us, document.timing.end_us)
    if began_us is None or end_us is None:
        return None
    told = (monotonic_us(at_s) for at_s, _ in pieces)
    came = [us - zero_us for us in told if us is not None and began_us <= us - zero_us <= end_us]
    opening = None if connection is None else connection.connect or connection.tls
    still_us = max(_STILL_US, _STILL_TRIPS * (0 if opening is None else opening.duration_us))
    steps = list(pairwise((began_us, *came, end_us))) if came else []
    return next((later for earlier, later in reversed(steps) if later - earlier > still_us), None)
