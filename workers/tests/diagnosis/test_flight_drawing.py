"""The ladder in a terminal."""

from workers.diagnosis.probe.flight_drawing import draw_flights
from workers.measurement.canvas import RED, Canvas, columns_of
from workers.measurement.evidence import Trial, TrialEvidence
from workers.tests.diagnosis.test_flight_diagram import overflowing


def test_the_clients_flights_point_right_and_the_servers_left() -> None:
    lines = draw_flights(overflowing(), Canvas(width=80))

    assert "├ ClientHello · 517 B ─" in lines[3]
    assert lines[3].count("▶") == 1
    assert "◀ ServerHello · 2.9 kB ─" in lines[4]


def test_each_line_fits_the_terminal() -> None:
    for width in (48, 80, 160):
        assert max(columns_of(line) for line in draw_flights(overflowing(), Canvas(width=width))) <= width


def test_the_pause_that_costs_a_round_trip_is_painted() -> None:
    lines = draw_flights(overflowing(), Canvas(width=80, colour=True))

    assert f"\x1b[{RED}m+1.00 RTT" in lines[-1]
    assert not any(f"\x1b[{RED}m" in line for line in lines[:-1])


def test_a_connection_that_was_never_made_draws_nothing() -> None:
    assert draw_flights(TrialEvidence(trial=Trial.FULL, started_us=0), Canvas()) == []
