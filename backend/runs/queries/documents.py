"""What was measured, out of the stored documents."""

import logging
from collections.abc import Sequence
from uuid import UUID

from backend.runs.documents import DocumentError, unpack
from backend.runs.models import Run
from backend.runs.queries.rows import parameters_of
from backend.runs.sql import fetch
from workers.measurement.messages import Failed, Measured, Measurement, RunResult
from workers.measurement.wire import WireError

log = logging.getLogger(__name__)

_DOCUMENTS = """
SELECT run_id, document FROM runs_rundocument
WHERE run_id = ANY(%(runs)s::uuid[]) AND scheduled_for >= %(first)s AND scheduled_for <= %(last)s
"""


def documents_of(runs: Sequence[Run]) -> dict[UUID, bytes]:
    """The documents of a few runs, as they are stored. One statement."""
    if not runs:
        return {}
    return {run_id: bytes(document) for run_id, document in fetch(_DOCUMENTS, parameters_of(runs))}


def measurements_of(runs: Sequence[Run]) -> dict[UUID, Measurement]:
    """What a few runs saw, of those that kept it. One statement."""
    seen = {run_id: measurement_of(result_in(kept, of=f"run {run_id}")) for run_id, kept in documents_of(runs).items()}
    return {run_id: measurement for run_id, measurement in seen.items() if measurement is not None}


def result_in(document: bytes | None, *, of: str) -> RunResult | None:
    """What a document holds; None when it is not there, or cannot be read: then the log says whose it is."""
    if document is None:
        return None
    try:
        return unpack(document)
    except (WireError, DocumentError):
        log.exception("the document of %s cannot be read", of)
        return None


def measurement_of(result: RunResult | None) -> Measurement | None:
    """What was seen, also before a failure."""
    outcome = None if result is None else result.outcome
    return outcome.measurement if isinstance(outcome, Measured | Failed) else None
