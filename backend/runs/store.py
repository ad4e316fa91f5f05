"""Ended runs into the tables of ended runs, with COPY: half the cost of INSERT for one run, a tenth for many."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from django.db import DataError, connection
from django.db.models import Model

from backend.runs.documents import pack
from backend.runs.models import Connection, Run, RunDocument
from backend.runs.reading import ResultRead, measurement_of
from backend.runs.rows import (
    CONNECTION_COLUMNS,
    RUN_COLUMNS,
    Arrival,
    Row,
    Slot,
    connection_values,
    connections_of,
    run_values,
)

DOCUMENT_COLUMNS = "run_id, scheduled_for, document"


class Content(NamedTuple):
    """What a result brings to the tables. Without a measurement there is no `line` to keep."""

    run: Row
    connections: list[Row]
    line: bytes | None


class Ended(NamedTuple):
    """A run, and what came of it."""

    slot: Slot
    arrival: Arrival
    content: Content


def content_of(result: ResultRead, line: bytes) -> Content:
    """The rows of a result, before it is known which run it belongs to. Raises ValueError for what is no address."""
    measurement = measurement_of(result)
    if measurement is None:
        return Content(run_values(result), [], None)
    return Content(run_values(result), [connection_values(one) for one in connections_of(measurement)], line)


def store(runs: Sequence[Ended]) -> None:
    """Inserts all their rows. Raises DataError for what a column cannot hold, IntegrityError for what is stored."""
    if not runs:
        return
    connections: list[Row] = []
    documents: list[Row] = []

    def rows() -> Iterator[Row]:
        for slot, arrival, content in runs:
            yield (*slot, *arrival, *content.run)
        # Here, while PostgreSQL is still busy with the rows before.
        for slot, _, content in runs:
            connections.extend((*slot[:4], *values) for values in content.connections)
            if content.line is not None:
                documents.append((slot.run_id, slot.scheduled_for, pack(content.line)))

    copy_rows(Run, RUN_COLUMNS, rows())
    copy_rows(Connection, CONNECTION_COLUMNS, connections)
    copy_rows(RunDocument, DOCUMENT_COLUMNS, documents)


def copy_rows(model: type[Model], columns: str, rows: Iterable[Row]) -> None:
    """COPY of rows into the columns of a model's table, in the binary form: a third cheaper than text on both sides."""
    statement = f"COPY {model._meta.db_table} ({columns}) FROM STDIN (FORMAT BINARY)"
    # COPY talks to the driver past Django's cursor, so its errors are made Django's own here.
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        copy.set_types(_types(model, columns))
        try:
            for row in rows:
                copy.write_row(row)
        except OverflowError as error:
            raise DataError(f"a number is out of range: {error}") from error


@cache
def _types(model: type[Model], columns: str) -> list[str]:
    """PostgreSQL's names of the columns' types, without lengths."""
    types = {field.column: field.db_type(connection) or "" for field in model._meta.concrete_fields if field.column}
    return [types[column].partition("(")[0] for column in columns.split(", ")]
