"""How much a server that begins as most do can send at once: ten segments, and twice as many with each round trip
(RFC 6928, RFC 5681)."""

from math import ceil, log2

from workers.diagnosis.flights import USUAL_MSS_BYTES
from workers.diagnosis.gaps import USUAL_WINDOW, Ruler

FIRST_FLIGHT_BYTES = USUAL_WINDOW * USUAL_MSS_BYTES


def further_flights(count_bytes: float) -> int:
    """Round trips after the first flight until so many bytes have come."""
    return max(0, ceil(log2(count_bytes / FIRST_FLIGHT_BYTES + 1)) - 1)


def rounds(size_bytes: int, mss: int, window: int = USUAL_WINDOW) -> int:
    """How many flights so many bytes take in slow start: the window doubles with each."""
    segments, count = ceil(size_bytes / mss), 0
    while segments > 0:
        segments -= window * 2**count
        count += 1
    return count


def needed_us(size_bytes: int, ruler: Ruler, window: int, packet_us: int) -> int:
    """How long so many bytes take from the first to the last in slow start, over a link that a packet takes so long."""
    segments, at_us = ceil(size_bytes / ruler.mss), 0
    while segments > window:
        segments -= window
        at_us += max(ruler.rtt_us, window * packet_us)
        window *= 2
    return at_us + (segments - 1) * packet_us
