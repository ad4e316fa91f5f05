"""What was measured, out of the stored documents."""

import logging
from collections.abc import Sequence
from uuid import UUID

from backend.runs.documents import DocumentError, unpack
from backend.runs.models import Run
from backend.runs.sql import array, fetch
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
    parameters = {
        "runs": array(run.run_id for run in runs),
        "first": min(run.scheduled_for for run in runs),
        "last": max(run.scheduled_for for run in runs),
    }
    return {run_id: bytes(document) for run_id, document in fetch(_DOCUMENTS, parameters)}


def result_in(run: Run, document: bytes | None) -> RunResult | None:
    """What a document holds; None when it is not there or cannot be read."""
    if document is None:
        return None
    try:
        return unpack(document)
    except (WireError, DocumentError):
        log.exception("the document of run %s cannot be read", run.run_id)
        return None


def measurement_in(run: Run, document: bytes | None) -> Measurement | None:
    """What was seen, also of a run that failed; None when there is no document or it cannot be read."""
    result = result_in(run, document)
    outcome = None if result is None else result.outcome
    return outcome.measurement if isinstance(outcome, Measured | Failed) else None
