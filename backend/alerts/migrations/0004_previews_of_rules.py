import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0003_vacuum_what_the_judge_remembers"),
    ]

    operations = [
        migrations.CreateModel(
            name="RulePreview",
            fields=[
                (
                    "rule",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="preview",
                        serialize=False,
                        to="alerts.rule",
                    ),
                ),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("version", models.PositiveIntegerField(default=0)),
                ("computed_at", models.DateTimeField(null=True)),
                ("since", models.DateTimeField(null=True)),
                ("alerts", models.PositiveIntegerField(null=True)),
                ("runs", models.PositiveIntegerField(default=0)),
                ("moments", models.JSONField(default=list)),
                ("reason", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["due_at"], name="rule_preview_due")],
            },
        ),
    ]
