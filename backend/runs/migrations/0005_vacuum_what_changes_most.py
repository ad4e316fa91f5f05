"""Every run leaves dead rows in these two tables: they are vacuumed by their number, not by a share of the table."""

from django.db import migrations

_SET = (
    "ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,"
    " autovacuum_vacuum_cost_delay = 0)"
)
_RESET = (
    "ALTER TABLE {table} RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,"
    " autovacuum_vacuum_cost_delay)"
)
_TABLES = ("runs_schedule", "runs_pendingrun")


class Migration(migrations.Migration):
    dependencies = [("runs", "0004_fewer_indexes_where_rows_change")]

    operations = [
        migrations.RunSQL(_SET.format(table=table), reverse_sql=_RESET.format(table=table)) for table in _TABLES
    ]
