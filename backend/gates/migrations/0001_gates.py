import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import backend.encryption


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_people_and_organisations"),
        ("fleet", "0001_regions_and_agents"),
        ("sites", "0002_deploys"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Gate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "phase",
                    models.CharField(
                        choices=[("before", "Before the release"), ("after", "After the release")],
                        default="after",
                        max_length=8,
                    ),
                ),
                (
                    "regions",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None),
                ),
                ("runs_per_region", models.PositiveSmallIntegerField()),
                ("max_per_region", models.PositiveSmallIntegerField()),
                ("discard_first", models.PositiveSmallIntegerField()),
                (
                    "baseline_mode",
                    models.CharField(
                        choices=[("history", "History"), ("gate", "An earlier gate")], default="history", max_length=8
                    ),
                ),
                ("baseline_since", models.DateTimeField(null=True)),
                ("baseline_until", models.DateTimeField(null=True)),
                ("min_samples", models.PositiveIntegerField()),
                ("confidence", models.FloatField()),
                (
                    "on_inconclusive",
                    models.CharField(
                        choices=[("inconclusive", "Say so"), ("pass", "Let it pass"), ("fail", "Let it fail")],
                        default="inconclusive",
                        max_length=12,
                    ),
                ),
                ("deadline", models.DateTimeField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("timeout", "Out of time"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("pass", "Pass"),
                            ("fail", "Fail"),
                            ("inconclusive", "Inconclusive"),
                            ("error", "Error"),
                        ],
                        max_length=12,
                    ),
                ),
                ("look", models.PositiveSmallIntegerField(default=1)),
                ("given_up", models.JSONField(default=dict)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("summary", models.CharField(blank=True, max_length=1000)),
                ("warnings", models.JSONField(default=list)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("token_name", models.CharField(blank=True, max_length=100)),
                ("callback", backend.encryption.EncryptedJSONField(blank=True, default=dict)),
                ("calls_back", models.BooleanField(default=False)),
                ("callback_due_at", models.DateTimeField(null=True)),
                ("callback_tries", models.PositiveSmallIntegerField(default=0)),
                ("callback_answer", models.CharField(blank=True, max_length=200)),
                (
                    "baseline_gate",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="later_gates",
                        to="gates.gate",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deploy",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="gates", to="sites.deploy"
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="gates", to="accounts.organisation"
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="gates", to="sites.site"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GateRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("metric", models.CharField(max_length=20)),
                ("max_change_pct", models.FloatField(null=True)),
                ("min_change", models.FloatField(default=0.0)),
                ("max_value", models.FloatField(null=True)),
                (
                    "level",
                    models.CharField(choices=[("fail", "Fails"), ("warn", "Warns")], default="fail", max_length=4),
                ),
                (
                    "verdict",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("pass", "Pass"),
                            ("fail", "Fail"),
                            ("inconclusive", "Inconclusive"),
                            ("error", "Error"),
                        ],
                        max_length=12,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("found", models.JSONField(null=True)),
                (
                    "gate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rules", to="gates.gate"
                    ),
                ),
                (
                    "monitor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="sites.monitor"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GateRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("run_id", models.UUIDField()),
                ("place", models.PositiveSmallIntegerField()),
                ("discarded", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("measured", "Measured"),
                            ("failed", "Failed"),
                            ("nothing", "Says nothing"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("ended_run_id", models.UUIDField(null=True)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("values", models.JSONField(default=dict)),
                ("requested_at", models.DateTimeField()),
                (
                    "gate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="gates.gate"
                    ),
                ),
                (
                    "monitor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="sites.monitor"
                    ),
                ),
                (
                    "region",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="fleet.region"),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="gate",
            index=models.Index(
                condition=models.Q(("status__in", ["queued", "running"])), fields=["due_at"], name="gate_due"
            ),
        ),
        migrations.AddIndex(
            model_name="gate",
            index=models.Index(
                condition=models.Q(("callback_due_at__isnull", False)), fields=["callback_due_at"], name="gate_callback"
            ),
        ),
        migrations.AddIndex(
            model_name="gate",
            index=models.Index(fields=["organisation", "-created_at"], name="gate_by_organisation"),
        ),
        migrations.AddIndex(
            model_name="gate",
            index=models.Index(fields=["site", "-created_at"], name="gate_by_site"),
        ),
        migrations.AddConstraint(
            model_name="gaterule",
            constraint=models.UniqueConstraint(fields=("gate", "position"), name="gate_rule_once"),
        ),
        migrations.AddConstraint(
            model_name="gaterun",
            constraint=models.UniqueConstraint(fields=("gate", "run_id"), name="gate_run_once"),
        ),
    ]
