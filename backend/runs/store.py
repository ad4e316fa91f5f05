"""Ended runs into the tables of ended runs, with COPY: half the cost of INSERT for one run, a tenth for many."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from django.db import DataError, connection
from django.db.models import Model
from psycopg.types.json import Jsonb

from backend.runs.documents import pack, understood
from backend.runs.models import Connection, Finding, Leg, Run, RunDocument
from backend.runs.owners import Word, page_findings, words_of
from backend.runs.reading import AnyRead, PairRead, ResultRead, measurement_of
from backend.runs.rows import (
    CONNECTION_COLUMNS,
    FINDING_COLUMNS,
    FOLLOWED_COLUMN,
    LEG_COLUMNS,
    RUN_COLUMNS,
    Arrival,
    Row,
    Slot,
    connection_values,
    connections_of,
    finding_values,
    leg_values,
    profile_kept,
    run_values,
    timings_of,
)
from backend.sites.queries import followed_by
from workers.measurement.messages import Kind
from workers.measurement.wire import WireError

log = logging.getLogger(__name__)

DOCUMENT_COLUMNS = "run_id, scheduled_for, document"


class Content(NamedTuple):
    """What a result brings to the tables. Without a measurement there is no `line` to keep. Of the `timings` of a page
    those are kept that its monitor follows."""

    run: Row
    connections: list[Row]
    line: bytes | None
    legs: Sequence[Row] = ()
    findings: Sequence[Row] = ()
    timings: Mapping[str, int] | None = None


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
    timed = profile_kept(measurement) is not False
    connections = [connection_values(one, timed=timed) for one in connections_of(measurement)]
    findings, timings = finding_values(measurement), timings_of(measurement)
    return Content(run_values(result), connections, line, _legs(measurement), findings, timings)


def store(runs: Sequence[Ended]) -> None:
    """Inserts all their rows. Raises DataError for what a column cannot hold, IntegrityError for what is stored.

    PostgreSQL works on rows after the last was sent. Documents are compressed in that time, in two shares, as long as
    runs and connections take.
    """
    if not runs:
        return
    runs = _with_owners_word(runs)
    share = 2 * len(runs) // 3
    documents: list[Row] = []
    followed = followed_by({slot.monitor_pk for slot, _, content in runs if content.timings is not None})
    run_rows = (
        (*slot, *arrival, *content.run, _followed(content, followed.get(slot.monitor_pk, ())))
        for slot, arrival, content in runs
    )
    columns = f"{RUN_COLUMNS}, {FOLLOWED_COLUMN}"
    copy_rows(Run, columns, run_rows, meanwhile=lambda: documents.extend(_documents(runs[:share])))
    connections = ((*slot[:4], *values) for slot, _, content in runs for values in content.connections)
    copy_rows(Connection, CONNECTION_COLUMNS, connections, meanwhile=lambda: documents.extend(_documents(runs[share:])))
    copy_rows(RunDocument, DOCUMENT_COLUMNS, documents)
    # Most batches have none, and a COPY of nothing costs as much as one of ten rows.
    legs = [(*slot[:4], *values) for slot, _, content in runs for values in content.legs]
    if legs:
        copy_rows(Leg, LEG_COLUMNS, legs)
    findings = [(*slot[:4], *values) for slot, _, content in runs for values in content.findings]
    if findings:
        copy_rows(Finding, FINDING_COLUMNS, findings)


def _followed(content: Content, followed: Sequence[str]) -> Jsonb | None:
    """What the page told of these, null where it did not; None where nothing is followed, or nobody knows."""
    told = content.timings
    return None if told is None or not followed else Jsonb({timing: told.get(timing) for timing in followed})


def _with_owners_word(runs: Sequence[Ended]) -> Sequence[Ended]:
    """Pages of sites whose owner said whose hosts are whose are judged by that. One statement where there are pages."""
    pages = {slot.monitor_pk for slot, _, content in runs if slot.kind == Kind.PAGE and content.line is not None}
    said = words_of(pages) if pages else {}
    return [_judged(ended, said[ended.slot.monitor_pk]) if ended.slot.monitor_pk in said else ended for ended in runs]


def _judged(ended: Ended, said: Word) -> Ended:
    """With the agent's own findings where its result cannot be read whole."""
    if ended.content.line is None:
        return ended
    try:
        found = page_findings(understood(ended.content.line), said)
    except WireError:
        log.exception("the findings of run %s are its agent's", ended.slot.run_id)
        return ended
    return ended if found is None else ended._replace(content=ended.content._replace(findings=found))


def _legs(measurement: AnyRead) -> list[Row]:
    """The exchanges of a pair whose profile was kept; of any other run none."""
    if not isinstance(measurement, PairRead) or profile_kept(measurement) is False:
        return []
    not_kept = measurement.not_kept
    return [leg_values(leg, not_kept) for leg in measurement.exchanges]


def _documents(runs: Iterable[Ended]) -> Iterator[Row]:
    for slot, _, content in runs:
        if content.line is not None:
            yield (slot.run_id, slot.scheduled_for, pack(content.line))


def copy_rows(
    model: type[Model], columns: str, rows: Iterable[Row], *, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """COPY of rows into the columns of a model's table, in the binary form: a third cheaper than text on both sides.

    `meanwhile` is called when all rows are sent and not yet stored.
    """
    statement = f"COPY {model._meta.db_table} ({columns}) FROM STDIN (FORMAT BINARY)"
    # COPY talks to the driver past Django's cursor, so its errors are made Django's own here.
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        copy.set_types(_types(model, columns))
        try:
            for row in rows:
                copy.write_row(row)
        except OverflowError as error:
            raise DataError(f"a number is out of range: {error}") from error
        meanwhile()


@cache
def _types(model: type[Model], columns: str) -> list[str]:
    """PostgreSQL's names of the columns' types, without lengths."""
    types = {field.column: field.db_type(connection) or "" for field in model._meta.concrete_fields if field.column}
    return [types[column].partition("(")[0] for column in columns.split(", ")]
