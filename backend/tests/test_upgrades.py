"""A newer version migrates beside older processes, and one that is taken back leaves its database to them."""

from collections.abc import Iterator

from django.db.migrations import Migration
from django.db.migrations import operations as changes
from django.db.migrations.loader import MigrationLoader
from django.db.models import NOT_PROVIDED, ManyToManyField

_TAKES_AWAY = (changes.RemoveField, changes.RenameField, changes.RenameModel, changes.DeleteModel)
# From before anybody ran it.
_EARLIER = {("gates", "0002_two_addresses")}


def test_no_migration_takes_away_what_an_older_process_reads_or_wants_what_it_does_not_write() -> None:
    migrations = MigrationLoader(None).disk_migrations
    ours = {at: one for at, one in migrations.items() if one.__module__.startswith("backend.") and at not in _EARLIER}
    assert len(ours) > 60
    assert {at: found for at, one in ours.items() if (found := list(_breaking(one)))} == {}


def _breaking(migration: Migration) -> Iterator[str]:
    for change in migration.operations:
        if isinstance(change, _TAKES_AWAY) or (isinstance(change, changes.AddField) and _is_missed(change)):
            yield change.describe()


def _is_missed(change: changes.AddField) -> bool:
    """Whether rows of a process that does not know the column are refused."""
    field = change.field
    return not (field.null or isinstance(field, ManyToManyField)) and field.db_default is NOT_PROVIDED
