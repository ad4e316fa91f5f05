"""One partition a week for each table of ended runs: made ahead, dropped whole when retention has passed.

Deleting rows would cost more than inserting them did, and leave holes; dropping a table costs milliseconds.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.migrations import CreateModel

from backend.kept import retention_start

PARTITIONED = ("runs_run", "runs_connection", "runs_rundocument", "runs_leg", "runs_finding")
AHEAD = timedelta(weeks=4)
_WEEK = timedelta(weeks=1)
# Waiting longer for a lock would make every query behind us wait too; the next hour tries again.
LOCK_TIMEOUT = "3s"
_ONE_AT_A_TIME = 7_205_001


class CreatePartitionedModel(CreateModel):
    """CreateModel for a table that is partitioned on `scheduled_for`."""

    def database_forwards(self, app_label: str, schema_editor, from_state, to_state) -> None:  # type: ignore[no-untyped-def]  # Django's own signature is untyped
        schema_editor.sql_create_table += " PARTITION BY RANGE (scheduled_for)"
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        del schema_editor.sql_create_table


def ensure_partitions(now: datetime) -> list[str]:
    """Makes every missing partition from the start of retention to four weeks ahead; the names of those made."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        existing = set(_partitions())
        wanted = [(table, week) for table in _tables() for week in _weeks(retention_start(now), now + AHEAD)]
        missing = [(table, week) for table, week in wanted if _name(table, week) not in existing]
        for table, week in missing:
            _create(table, week)
    return [_name(table, week) for table, week in missing]


def drop_partitions(now: datetime) -> list[str]:
    """Drops what ended before retention began; the names of those dropped."""
    oldest = retention_start(now) - _WEEK
    expired = [name for name in _partitions() if _start(name) <= oldest]
    for name in expired:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
            cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
    return expired


def _create(table: str, week: datetime) -> None:
    """Made apart and then attached: CREATE … PARTITION OF would lock the whole table against every reader."""
    name = _name(table, week)
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE TABLE "{name}" (LIKE "{table}" INCLUDING ALL)')
        bounds = (week.isoformat(), (week + _WEEK).isoformat())
        cursor.execute(f'ALTER TABLE "{table}" ATTACH PARTITION "{name}" FOR VALUES FROM (%s) TO (%s)', bounds)


def _tables() -> list[str]:
    """Those that are there: migrations make partitions before the newest tables are made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relkind = 'p'", [list(PARTITIONED)])
        return [name for (name,) in cursor.fetchall()]


def _partitions() -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " JOIN pg_class p ON p.oid = i.inhparent WHERE p.relname = ANY(%s) AND p.relkind = 'p'",
            [list(PARTITIONED)],
        )
        yield from (name for (name,) in cursor.fetchall())


def _weeks(since: datetime, until: datetime) -> Iterator[datetime]:
    """The Mondays, midnight UTC, of every week that touches the period."""
    day = datetime(since.year, since.month, since.day, tzinfo=UTC)
    week = day - timedelta(days=day.weekday())
    while week <= until:
        yield week
        week += _WEEK


def _name(table: str, week: datetime) -> str:
    return f"{table}_{week:%Y%m%d}"


def _start(name: str) -> datetime:
    return datetime.strptime(name.rpartition("_")[2], "%Y%m%d").replace(tzinfo=UTC)
