"""Rules, incidents with their members and time lines, maintenance, and what the judge remembers."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_people_and_organisations"),
        ("alerts", "0001_channels_and_notices"),
        ("fleet", "0001_regions_and_agents"),
        ("sites", "0001_sites_and_monitors"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Incident",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("availability", "Availability"),
                            ("speed", "Speed"),
                            ("certificate", "Certificate"),
                            ("no_data", "No data"),
                            ("cdn", "CDN"),
                            ("agent", "Silent region"),
                        ],
                        max_length=16,
                    ),
                ),
                ("key", models.CharField(max_length=120)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("ok", "ok"),
                            ("degraded", "degraded"),
                            ("regressed", "regressed"),
                            ("failing", "failing"),
                            ("no_data", "no data"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "worst_state",
                    models.CharField(
                        choices=[
                            ("ok", "ok"),
                            ("degraded", "degraded"),
                            ("regressed", "regressed"),
                            ("failing", "failing"),
                            ("no_data", "no data"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "severity",
                    models.CharField(
                        choices=[("critical", "critical"), ("warning", "warning"), ("info", "info")], max_length=10
                    ),
                ),
                ("title", models.CharField(max_length=300)),
                ("opened_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("told", models.CharField(blank=True, max_length=10)),
                ("told_at", models.DateTimeField(null=True)),
                ("owed", models.BooleanField(default=False)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("muted_until", models.DateTimeField(null=True)),
                ("muted_until_recovery", models.BooleanField(default=False)),
                ("flapping", models.BooleanField(default=False)),
                (
                    "flips",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.DateTimeField(), blank=True, default=list, size=None
                    ),
                ),
                ("quiet_since", models.DateTimeField(null=True)),
                ("remind_at", models.DateTimeField(null=True)),
                ("resolved_at", models.DateTimeField(null=True)),
                (
                    "resolution",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("recovered", "Recovered"),
                            ("went_away", "Went away"),
                            ("resolved", "Resolved by a person"),
                            ("accepted", "Accepted as the new normal"),
                            ("rule_off", "The rule was changed or switched off"),
                            ("paused", "The monitor was paused"),
                        ],
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "acknowledged_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="incidents",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "region",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="fleet.region"
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="incidents",
                        to="sites.site",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="IncidentEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("opened", "Opened"),
                            ("joined", "Joined"),
                            ("worse", "Worse"),
                            ("better", "Better"),
                            ("confirmed", "Confirmed"),
                            ("reopened", "Began again"),
                            ("flapping", "Flapping"),
                            ("reminded", "Reminded"),
                            ("recovered", "Recovered"),
                            ("resolved", "Resolved"),
                            ("accepted", "Accepted as the new normal"),
                            ("acknowledged", "Acknowledged"),
                            ("unacknowledged", "Acknowledgement withdrawn"),
                            ("muted", "Muted"),
                            ("unmuted", "Unmuted"),
                            ("comment", "Comment"),
                            ("silence_ended", "Told after the silence"),
                        ],
                        max_length=16,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("text", models.CharField(blank=True, max_length=1000)),
                (
                    "silenced",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("muted", "Muted"),
                            ("maintenance", "Maintenance"),
                            ("flapping", "Flapping"),
                            ("stale", "Seen too late"),
                            ("rule", "The rule tells nobody"),
                        ],
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "incident",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="alerts.incident"
                    ),
                ),
                (
                    "notice",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="alerts.notice"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Maintenance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="maintenance",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="maintenance",
                        to="sites.site",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "maintenance",
            },
        ),
        migrations.CreateModel(
            name="Rule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("availability", "Availability"),
                            ("failures", "Failed runs"),
                            ("budget", "Budget"),
                            ("certificate", "Certificate"),
                            ("no_data", "No data"),
                            ("regression", "Regression"),
                            ("cdn", "CDN slower than origin"),
                            ("agent", "Silent region"),
                        ],
                        max_length=16,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=100)),
                ("params", models.JSONField(default=dict)),
                (
                    "severity",
                    models.CharField(
                        choices=[("critical", "critical"), ("warning", "warning"), ("info", "info")], max_length=10
                    ),
                ),
                ("notify", models.BooleanField(default=True)),
                ("enabled", models.BooleanField(default=True)),
                ("delay_s", models.PositiveIntegerField(default=0)),
                ("remind_every_s", models.PositiveIntegerField(null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("channels", models.ManyToManyField(blank=True, related_name="rules", to="alerts.channel")),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "monitor",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="sites.monitor"
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rules", to="accounts.organisation"
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="rules", to="sites.site"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("availability", "Availability"),
                            ("failures", "Failed runs"),
                            ("budget", "Budget"),
                            ("certificate", "Certificate"),
                            ("no_data", "No data"),
                            ("regression", "Regression"),
                            ("cdn", "CDN slower than origin"),
                            ("agent", "Silent region"),
                        ],
                        max_length=16,
                    ),
                ),
                ("metric", models.CharField(blank=True, max_length=20)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("ok", "ok"),
                            ("degraded", "degraded"),
                            ("regressed", "regressed"),
                            ("failing", "failing"),
                            ("no_data", "no data"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "regions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, default=list, size=None
                    ),
                ),
                ("since", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("before_run", models.UUIDField(null=True)),
                ("after_run", models.UUIDField(null=True)),
                ("facts", models.JSONField(default=dict)),
                (
                    "incident",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="members", to="alerts.incident"
                    ),
                ),
                (
                    "monitor",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="sites.monitor"
                    ),
                ),
                (
                    "rule",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="members",
                        to="alerts.rule",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Trend",
            fields=[
                (
                    "monitor",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="sites.monitor",
                    ),
                ),
                ("due_at", models.DateTimeField()),
                ("memory", models.TextField(default="{}")),
            ],
            options={
                "indexes": [models.Index(fields=["due_at"], name="trend_due")],
            },
        ),
        migrations.CreateModel(
            name="Watch",
            fields=[
                (
                    "monitor",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="sites.monitor",
                    ),
                ),
                ("due_at", models.DateTimeField()),
                ("memory", models.TextField(default="{}")),
            ],
            options={
                "verbose_name_plural": "watches",
                "indexes": [models.Index(fields=["due_at"], name="watch_due")],
            },
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(fields=["organisation", "-opened_at"], name="incident_by_organisation"),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(fields=["organisation", "key", "-resolved_at"], name="incident_by_key"),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(fields=["site", "-opened_at"], name="incident_by_site"),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(condition=models.Q(("owed", True)), fields=["id"], name="incident_owed"),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(
                condition=models.Q(("remind_at__isnull", False)), fields=["remind_at"], name="incident_reminders"
            ),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(
                condition=models.Q(("flapping", True)), fields=["quiet_since"], name="incident_flapping"
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.UniqueConstraint(
                condition=models.Q(("resolved_at", None)), fields=("organisation", "key"), name="incident_open_once"
            ),
        ),
        migrations.AddIndex(
            model_name="incidentevent",
            index=models.Index(fields=["incident", "id"], name="incident_event_order"),
        ),
        migrations.AddIndex(
            model_name="maintenance",
            index=models.Index(fields=["organisation", "-ends_at"], name="maintenance_newest"),
        ),
        migrations.AddConstraint(
            model_name="maintenance",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="maintenance_has_length"
            ),
        ),
        migrations.AddIndex(
            model_name="rule",
            index=models.Index(fields=["organisation", "site"], name="rule_by_site"),
        ),
        migrations.AddConstraint(
            model_name="rule",
            constraint=models.CheckConstraint(
                condition=models.Q(("monitor", None), ("site__isnull", False), _connector="OR"),
                name="rule_monitor_has_site",
            ),
        ),
        migrations.AddIndex(
            model_name="member",
            index=models.Index(
                condition=models.Q(("ended_at", None)), fields=["rule", "monitor"], name="member_going_on"
            ),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.UniqueConstraint(
                fields=("incident", "rule", "monitor", "metric"), name="member_once", nulls_distinct=False
            ),
        ),
    ]
