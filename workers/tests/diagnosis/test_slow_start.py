"""How long bytes take in slow start over a line of some rate, and what rate is seen so."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.diagnosis.probe.gaps import Ruler
from workers.diagnosis.probe.slow_start import coming_us, further_flights, line_rate, needed_us, rounds

sizes, trips = st.integers(1, 10_000_000), st.integers(0, 500_000)


@given(sizes, trips, st.integers(1, 60_000_000))
def test_the_rate_that_is_seen_explains_how_long_it_took(size_bytes: int, rtt_us: int, took_us: int) -> None:
    rate = line_rate(size_bytes, took_us, rtt_us)
    if rate == math.inf:
        assert took_us <= further_flights(size_bytes) * rtt_us
    else:
        assert coming_us(size_bytes, rate, rtt_us) == pytest.approx(took_us)


@given(sizes, sizes, trips, st.floats(0.001, 100))
def test_more_bytes_never_come_sooner(one: int, other: int, rtt_us: int, rate: float) -> None:
    fewer, more = sorted((one, other))
    assert coming_us(fewer, rate, rtt_us) <= coming_us(more, rate, rtt_us)


@pytest.mark.parametrize(("rate", "ms"), [(1000.0, 200), (0.2, 100 + 45_520 / 200), (0.1, 600)])
def test_each_flight_waits_for_the_one_before_until_it_fills_the_line(rate: float, ms: float) -> None:
    """60 kB: a first flight of 14,480 bytes, a second one of twice that, and what is left."""
    assert coming_us(60_000, rate, 100_000) == pytest.approx(ms * 1000, rel=0.001)


def arrived_us(segments: int, window: int, rtt_us: int, packet_us: int) -> int:
    """Packet by packet: each that is acknowledged, a round trip after it came, lets two out (RFC 5681, 3.1)."""
    came, free_us, room, acknowledged = [0], 0, window - 1, 0
    at_us = -packet_us
    while len(came) < segments:
        if not room:
            at_us, acknowledged, room = came[acknowledged] + rtt_us - packet_us, acknowledged + 1, 2
        free_us = max(at_us, free_us) + packet_us
        came.append(free_us)
        room -= 1
    return came[-1]


@example(segments=10, window=10, rtt_us=50_000, packet_us=120)
@example(segments=30, window=10, rtt_us=50_000, packet_us=12_000)
@given(st.integers(1, 500), st.sampled_from([1, 2, 3, 4, 10, 25]), trips, st.sampled_from([0, 12, 120, 1_200, 12_000]))
def test_how_long_bytes_need_is_when_their_last_packet_comes(
    segments: int, window: int, rtt_us: int, packet_us: int
) -> None:
    ruler = Ruler(rtt_us=rtt_us, mss=1_448)
    needed = needed_us(segments * 1_448, ruler, window, packet_us)
    assert needed == arrived_us(segments, window, rtt_us, packet_us)
    assert needed_us(segments * 1_448 - 1_447, ruler, window, packet_us) == needed


@given(st.integers(1, 3_000_000), st.integers(200, 1_500), st.sampled_from([1, 2, 10, 30]))
def test_windows_double_until_all_is_sent(size_bytes: int, mss: int, window: int) -> None:
    count = rounds(size_bytes, mss, window)
    assert window * (2 ** (count - 1) - 1) * mss < size_bytes <= window * (2**count - 1) * mss


@pytest.mark.parametrize("flights", range(1, 20))
def test_what_just_fills_its_flights_needs_no_further_one(flights: int) -> None:
    size_bytes = 14_480 * (2**flights - 1)
    assert (further_flights(size_bytes), further_flights(size_bytes + 1)) == (flights - 1, flights)
    assert rounds(size_bytes, 1_448) == flights
