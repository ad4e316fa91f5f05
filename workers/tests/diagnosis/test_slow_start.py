"""How long bytes take in slow start over a line of some rate, and what rate is seen so."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.diagnosis.probe.slow_start import coming_us, further_flights, line_rate

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
