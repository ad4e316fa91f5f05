"""A run as an HTTP Archive, HAR 1.2."""

from pydantic_core import to_json

from backend.runs.models import Run
from workers.measurement.har import About, har_document
from workers.measurement.messages import Measurement
from workers.measurement.redaction import Redaction
from workers.version import VERSION


def har_of(run: Run, url: str, measurement: Measurement | None, redaction: Redaction) -> bytes:
    """What was measured when `url` was asked for; of a run that failed before anything was seen, an archive without
    entries.
    """
    about = About(url=url, started_at=run.started_at or run.scheduled_for, version=VERSION, redaction=redaction)
    return to_json(har_document(measurement, about))
