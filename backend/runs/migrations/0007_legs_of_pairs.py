from datetime import UTC, datetime

from django.db import migrations, models

from backend.runs.partitions import CreatePartitionedModel, ensure_partitions


def make_partitions(apps: object, schema_editor: object) -> None:
    ensure_partitions(datetime.now(UTC))


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0006_more_reasons_to_measure"),
    ]

    operations = [
        CreatePartitionedModel(
            name="Leg",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "scheduled_for",
                        "position",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("scheduled_for", models.DateTimeField()),
                ("run_id", models.UUIDField()),
                ("position", models.SmallIntegerField()),
                ("monitor_id", models.BigIntegerField()),
                ("region_id", models.BigIntegerField()),
                ("leg", models.CharField(max_length=1)),
                ("reused", models.BooleanField()),
                ("kept", models.BooleanField()),
                ("connection", models.IntegerField()),
                ("dns_us", models.BigIntegerField(null=True)),
                ("connect_us", models.BigIntegerField(null=True)),
                ("tls_us", models.BigIntegerField(null=True)),
                ("send_us", models.BigIntegerField(null=True)),
                ("wait_us", models.BigIntegerField(null=True)),
                ("download_us", models.BigIntegerField(null=True)),
                ("ttfb_us", models.BigIntegerField(null=True)),
                ("total_us", models.BigIntegerField(null=True)),
                ("status_code", models.SmallIntegerField(null=True)),
                ("protocol", models.TextField(null=True)),
                ("encoding", models.TextField(null=True)),
                ("head_bytes", models.BigIntegerField(null=True)),
                ("body_bytes", models.BigIntegerField(null=True)),
                ("cache", models.TextField()),
                ("cache_evidence", models.TextField(null=True)),
                ("age_s", models.BigIntegerField(null=True)),
                ("etag", models.TextField(null=True)),
            ],
        ),
        migrations.RunPython(make_partitions, migrations.RunPython.noop),
    ]
