"""A fresh database can store runs at once; from then on the sweeper makes partitions ahead."""

from datetime import UTC, datetime

from django.db import migrations

from backend.runs.partitions import ensure_partitions


def make_partitions(apps: object, schema_editor: object) -> None:
    ensure_partitions(datetime.now(UTC))


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_schedule_and_runs")]

    operations = [migrations.RunPython(make_partitions, migrations.RunPython.noop)]
