"""A measurement with what its evidence says about it."""

from dataclasses import replace

from workers.diagnosis.page.diagnose import diagnose_page
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.messages import Failed, Measured, PageMeasurement, ProbeMeasurement


def diagnosed(measurement: ProbeMeasurement) -> ProbeMeasurement:
    """The same with its diagnosis, made anew when there was one; without evidence there is none."""
    if measurement.evidence is None:
        return measurement
    return replace(measurement, diagnosis=diagnose(measurement.evidence, measurement.hops))


def diagnosed_page(outcome: Measured | Failed) -> Measured | Failed:
    """The same with its page's diagnosis; a load that failed says too little of the page."""
    page = outcome.measurement
    if isinstance(outcome, Failed) or not isinstance(page, PageMeasurement):
        return outcome
    return replace(outcome, measurement=replace(page, diagnosis=diagnose_page(page)))
