from datetime import UTC, datetime

from django.db import migrations, models

from backend.runs.partitions import CreatePartitionedModel, ensure_partitions

_TRIGGERS = [
    ("schedule", "Schedule"),
    ("manual", "Manual"),
    ("confirm", "Confirm"),
    ("gate", "Gate"),
    ("diagnose", "Diagnose"),
]


def make_partitions(apps: object, schema_editor: object) -> None:
    ensure_partitions(datetime.now(UTC))


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0008_another_address"),
    ]

    operations = [
        migrations.AlterField(
            model_name="pendingrun", name="trigger", field=models.CharField(choices=_TRIGGERS, max_length=8)
        ),
        migrations.AlterField(
            model_name="run", name="trigger", field=models.CharField(choices=_TRIGGERS, max_length=8)
        ),
        migrations.AddField(
            model_name="pendingrun",
            name="depth",
            field=models.CharField(db_default="light", default="light", max_length=8),
        ),
        migrations.AddField(model_name="run", name="depth", field=models.TextField(null=True)),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("depth", "deep")),
                fields=["monitor_id", "region_id", "scheduled_for"],
                name="run_deep",
            ),
        ),
        CreatePartitionedModel(
            name="Finding",
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
                ("finding", models.TextField()),
                ("severity", models.TextField(null=True)),
                ("confidence", models.TextField(null=True)),
                ("saving_us", models.BigIntegerField(null=True)),
                ("host", models.TextField(null=True)),
                ("not_judged", models.TextField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["monitor_id", "scheduled_for"], name="finding_by_monitor")],
            },
        ),
        migrations.RunPython(make_partitions, migrations.RunPython.noop),
    ]
