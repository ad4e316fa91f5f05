"""Two waterfalls on one axis, so that a longer bar is a longer time in both."""

from backend.web.waterfall.axis import Axis
from backend.web.waterfall.rows import Chart, own_axis, page_chart, probe_chart
from workers.measurement.compute.pair_hops import as_probe
from workers.measurement.messages import Measurement, ProbeMeasurement


def charts_on_one_axis(*measurements: Measurement) -> tuple[Chart, ...]:
    """A chart for each measurement, all on the axis that holds every one of them."""
    drawn = [as_probe(measurement) for measurement in measurements]
    axes = [own_axis(measured) for measured in drawn]
    if not axes:
        return ()
    shared = Axis(start_us=min(axis.start_us for axis in axes), end_us=max(axis.end_us for axis in axes))
    return tuple(
        probe_chart(measured, shared) if isinstance(measured, ProbeMeasurement) else page_chart(measured, shared)
        for measured in drawn
    )
