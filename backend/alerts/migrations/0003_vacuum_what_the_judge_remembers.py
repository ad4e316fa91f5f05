"""Every look leaves a dead row: watches and trends are vacuumed by their number, not by a share of the table."""

from django.db import migrations

_SET = (
    "ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,"
    " autovacuum_vacuum_cost_delay = 0)"
)
_RESET = (
    "ALTER TABLE {table} RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,"
    " autovacuum_vacuum_cost_delay)"
)
_TABLES = ("alerts_watch", "alerts_trend")


class Migration(migrations.Migration):
    dependencies = [("alerts", "0002_rules_and_incidents")]

    operations = [
        migrations.RunSQL(_SET.format(table=table), reverse_sql=_RESET.format(table=table)) for table in _TABLES
    ]
