"""A measurement with what its evidence says about it."""

from dataclasses import replace

from workers.diagnosis.diagnose import diagnose
from workers.measurement.messages import ProbeMeasurement


def diagnosed(measurement: ProbeMeasurement) -> ProbeMeasurement:
    """The same with its diagnosis, made anew when there was one; without evidence there is none."""
    if measurement.evidence is None:
        return measurement
    return replace(measurement, diagnosis=diagnose(measurement.evidence, measurement.hops))
