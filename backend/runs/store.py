"""Ended runs into the tables of ended runs, with COPY: half the cost of INSERT for one run, a tenth for many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from backend.runs.documents import pack
from backend.runs.reading import ResultRead, measurement_of
from backend.runs.rows import CONNECTION_COLUMNS, RUN_COLUMNS, Arrival, Slot, connection_rows, run_row

DOCUMENT_COLUMNS = "run_id, scheduled_for, document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run, what came of it, and the line that told so."""

    slot: Slot
    result: ResultRead
    line: bytes
    arrival: Arrival


def store(runs: Sequence[Ended]) -> None:
    """Inserts all their rows. Raises DataError for what a column cannot hold, IntegrityError for what is stored."""
    if not runs:
        return
    seen = [(run, measurement) for run in runs if (measurement := measurement_of(run.result)) is not None]
    copy_rows("runs_run", RUN_COLUMNS, (run_row(run.slot, run.result, run.arrival) for run in runs))
    rows = (row for run, measurement in seen for row in connection_rows(run.slot, measurement))
    copy_rows("runs_connection", CONNECTION_COLUMNS, rows)
    documents = ((run.slot.run_id, run.slot.scheduled_for, pack(run.line)) for run, _ in seen)
    copy_rows("runs_rundocument", DOCUMENT_COLUMNS, documents)


def copy_rows(table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """COPY of rows into the columns of a table of ours."""
    statement = f"COPY {table} ({columns}) FROM STDIN"
    # COPY talks to the driver past Django's cursor, so its errors are made Django's own here.
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
