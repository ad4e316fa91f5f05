"""How much a server that begins as most do can send at once: ten segments, and twice as many with each round trip
(RFC 6928, RFC 5681)."""

from math import ceil, log2

from workers.diagnosis.flights import USUAL_MSS_BYTES

FIRST_FLIGHT_BYTES = 10 * USUAL_MSS_BYTES


def further_flights(count_bytes: float) -> int:
    """Round trips after the first flight until so many bytes have come."""
    return max(0, ceil(log2(count_bytes / FIRST_FLIGHT_BYTES + 1)) - 1)
