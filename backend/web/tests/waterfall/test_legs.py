from backend.runs.tests import results
from backend.web.waterfall.legs import leg_charts
from workers.measurement.messages import PairMeasurement


def pair(cdn_us: int, origin_us: int) -> PairMeasurement:
    measurement = results.pair(cdn_us, origin_us).measurement
    assert isinstance(measurement, PairMeasurement)
    return measurement


def test_exchanges_that_were_made_in_turns_all_begin_at_zero() -> None:
    cdn, origin = leg_charts(pair(60_000, 100_000))
    assert [row.start_us for row in (*cdn.rows, *origin.rows)] == [0, 0, 0, 0]
    assert [row.total_us for row in cdn.rows] == [60_000, 30_000]
    assert [row.total_us for row in origin.rows] == [100_000, 50_000]


def test_a_longer_bar_is_a_longer_time_in_both() -> None:
    cdn, origin = leg_charts(pair(60_000, 100_000))
    assert cdn.axis == origin.axis
    ends = [max(bar.x + bar.width for bar in chart.rows[0].bars) for chart in (cdn, origin)]
    assert abs(ends[0] / ends[1] - 0.6) < 0.001


def test_a_pair_that_came_to_nothing_has_no_rows() -> None:
    assert [chart.rows for chart in leg_charts(PairMeasurement())] == [(), ()]
