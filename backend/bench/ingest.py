"""What it costs to store results, beside bare COPY of the same rows into the same tables, by turns in one run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from time import perf_counter
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from backend.bench.figures import Figure
from backend.runs.documents import pack
from backend.runs.ingest import ingest
from backend.runs.models import Connection, PendingRun, Run, RunDocument, Trigger
from backend.runs.reading import read_result
from backend.runs.rows import CONNECTION_COLUMNS, RUN_COLUMNS, Arrival, Row, Slot
from backend.runs.sql import execute
from backend.runs.store import DOCUMENT_COLUMNS, content_of, copy_rows
from backend.runs.tests.factories import Fleet, make_fleet, make_monitors
from backend.runs.tests.results import page, probe, result_of
from backend.sites.models import Monitor
from workers.diagnosis.probe.diagnose import diagnose
from workers.diagnosis.sending import as_sent
from workers.measurement.identity import run_id
from workers.measurement.messages import Measured, Outcome, ProbeMeasurement
from workers.measurement.wire import encode
from workers.memory import settle_heap
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, light

BATCHES, BATCH, ROUNDS = 5, 200, 9
# A site has a probe every minute and a page every 15 minutes.
PROBES_PER_PAGE = 15
# Over a dozen hosts: the site's own, a CDN's, and those of third parties.
REQUESTS_OF_A_PAGE, CONNECTIONS_OF_A_PAGE = 60, 12
# Reading, checking and judging may cost as much again as the writing alone.
TARGET = 0.5

Rows = tuple[list[Row], list[Row], list[Row]]
TABLES: tuple[type[Model], ...] = (Run, Connection, RunDocument)
COLUMNS = (RUN_COLUMNS, CONNECTION_COLUMNS, DOCUMENT_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Results as they come over the wire, and their rows, each in batches."""

    lines: list[list[bytes]]
    rows: list[Rows]

    @property
    def count(self) -> int:
        return sum(len(table) for batch in self.rows for table in batch)


def measure() -> Iterator[Figure]:
    fleet = make_fleet("bench-i")
    monitors = [*make_monitors(fleet, BATCHES * BATCH), *make_monitors(fleet, BATCHES * BATCH, kind="page")]
    rates: dict[str, list[float]] = {"ingest": [], "text": [], "binary": []}
    for turn in range(ROUNDS):
        for form, taken in rates.items():
            load = _load(fleet, monitors, timezone.now() - timedelta(minutes=turn))
            # As autovacuum does; the bench makes and deletes more at once than a service does in a minute.
            execute("VACUUM ANALYZE runs_pendingrun")
            # As the web process does; here also for what the bench itself keeps.
            settle_heap()
            taken.append(load.count / (_ingest_s(fleet, load) if form == "ingest" else _copy_s(load, form)))
            PendingRun.objects.all().delete()
    ours, bare, binary = (rates[form] for form in ("ingest", "text", "binary"))
    yield Figure(name="bare COPY", value=median(bare), unit="rows/s")
    yield Figure(name="ingest", value=median(ours), unit="rows/s")
    yield Figure(name="ingest beside bare COPY", value=_ratio(ours, bare), unit="", target=TARGET)
    yield Figure(name="ingest beside bare binary COPY", value=_ratio(ours, binary), unit="")
    fleet.delete()


def _ratio(mine: list[float], its: list[float]) -> float:
    return median(one / other for one, other in zip(mine, its, strict=True))


def _ingest_s(fleet: Fleet, load: Load) -> float:
    began = perf_counter()
    for lines in load.lines:
        ingest(fleet.region, lines, now=timezone.now())
    return perf_counter() - began


def _copy_s(load: Load, form: str) -> float:
    began = perf_counter()
    for tables in load.rows:
        with transaction.atomic():
            for model, columns, rows in zip(TABLES, COLUMNS, tables, strict=True):
                _copy(model, columns, rows, form)
    return perf_counter() - began


def _copy(model: type[Model], columns: str, rows: list[Row], form: str) -> None:
    if form == "binary":
        copy_rows(model, columns, rows)
        return
    with connection.cursor() as cursor, cursor.copy(f"COPY {model._meta.db_table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _load(fleet: Fleet, monitors: Sequence[Monitor], at: datetime) -> Load:
    """New runs, pending, with what came of them."""
    half = len(monitors) // 2
    chosen = [monitors[n + half] if n % (PROBES_PER_PAGE + 1) == 0 else monitors[n] for n in range(half)]
    pending = [_pending(fleet, monitor, at) for monitor in chosen]
    PendingRun.objects.bulk_create(pending)
    seen = _light_probe()
    lines = [
        encode(
            result_of(run, page(REQUESTS_OF_A_PAGE, connections=CONNECTIONS_OF_A_PAGE) if run.kind == "page" else seen)
        )
        for run in pending
    ]
    cuts = [slice(n, n + BATCH) for n in range(0, len(pending), BATCH)]
    return Load(lines=[lines[cut] for cut in cuts], rows=[_rows(pending[cut], lines[cut]) for cut in cuts])


def _light_probe() -> Outcome:
    """With its evidence and what was found in it, as nearly all probes are."""
    seen = probe().measurement
    assert isinstance(seen, ProbeMeasurement)
    evidence = light(Path(), Server())
    judged = replace(seen, evidence=evidence, diagnosis=diagnose(evidence, seen.hops))
    return as_sent(Measured(measurement=judged))


def _pending(fleet: Fleet, monitor: Monitor, at: datetime) -> PendingRun:
    return PendingRun(
        run_id=run_id(monitor_id=monitor.public_id, region=fleet.region.code, scheduled_for=at, attempt=1),
        monitor=monitor,
        region=fleet.region,
        scheduled_for=at,
        kind=monitor.kind,
        trigger=Trigger.SCHEDULE,
        created_at=at,
        expires_at=at + timedelta(hours=1),
        publish_after=at,
        published_at=at,
    )


def _rows(pending: Sequence[PendingRun], lines: Sequence[bytes]) -> Rows:
    """What `ingest` would store, under other ids."""
    runs: list[Row] = []
    connections: list[Row] = []
    documents: list[Row] = []
    for run, line in zip(pending, lines, strict=True):
        slot = Slot(uuid4(), run.scheduled_for, run.monitor_id, run.region_id, 1, run.kind, run.trigger)
        content = content_of(read_result(line), line)
        runs.append((*slot, *Arrival(received_at=run.scheduled_for), *content.run))
        connections += ((*slot[:4], *values) for values in content.connections)
        documents.append((slot.run_id, slot.scheduled_for, pack(line)))
    return runs, connections, documents
