from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_WHERE = "NOT (outcome = 'measured') OR NOT (trigger = 'schedule')"


def make_index(apps: object, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """On each partition without keeping anybody from writing, then on the whole table, which has no rows of its own.

    Harmless to repeat: what a broken attempt left behind, an index that is not valid included, is made anew.
    """
    with schema_editor.connection.cursor() as cursor:
        # While it is not valid it asks nothing of partitions that are attached meanwhile.
        columns = f"(monitor_id, scheduled_for) WHERE {_WHERE}"
        cursor.execute(f"CREATE INDEX IF NOT EXISTS run_unusual ON ONLY runs_run {columns}")
        cursor.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " WHERE i.inhparent = 'runs_run'::regclass AND NOT EXISTS (SELECT FROM pg_index x"
            " JOIN pg_inherits own ON own.inhrelid = x.indexrelid"
            " WHERE x.indrelid = c.oid AND own.inhparent = 'run_unusual'::regclass) ORDER BY c.relname"
        )
        for (partition,) in cursor.fetchall():
            name = f"{partition}_unusual"
            cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"')
            cursor.execute(f'CREATE INDEX CONCURRENTLY "{name}" ON "{partition}" {columns}')
            cursor.execute(f'ALTER INDEX run_unusual ATTACH PARTITION "{name}"')


def drop_index(apps: object, schema_editor: BaseDatabaseSchemaEditor) -> None:
    schema_editor.execute("DROP INDEX IF EXISTS run_unusual")


class Migration(migrations.Migration):
    # An index that keeps nobody waiting is not made in a transaction.
    atomic = False

    dependencies = [
        ("runs", "0016_versions_of_runs_under_way"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddIndex(
                    model_name="run",
                    index=models.Index(
                        condition=models.Q(
                            models.Q(("outcome", "measured"), _negated=True),
                            models.Q(("trigger", "schedule"), _negated=True),
                            _connector="OR",
                        ),
                        fields=["monitor_id", "scheduled_for"],
                        name="run_unusual",
                    ),
                ),
            ],
            database_operations=[
                migrations.RunPython(make_index, drop_index, atomic=False),
            ],
        ),
    ]
