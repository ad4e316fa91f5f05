import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("fleet", "0001_regions_and_agents"),
        ("sites", "0004_pairs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Pairing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=100)),
                ("origin", models.CharField(max_length=2048)),
                ("compared_from", models.DateTimeField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("judge_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "monitor",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pairing", to="sites.monitor"
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pairings", to="sites.site"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StoredVerdict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("cdn_faster", "cdn faster"),
                            ("origin_faster", "origin faster"),
                            ("no_difference", "no difference"),
                            ("inconclusive", "inconclusive"),
                        ],
                        max_length=16,
                    ),
                ),
                ("since", models.DateTimeField()),
                ("slower_since", models.DateTimeField(null=True)),
                ("judged_at", models.DateTimeField()),
                ("pairs", models.PositiveIntegerField()),
                ("estimate_us", models.BigIntegerField(null=True)),
                ("low_us", models.BigIntegerField(null=True)),
                ("high_us", models.BigIntegerField(null=True)),
                ("sentence", models.TextField()),
                ("reason", models.TextField(blank=True)),
                (
                    "pairing",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="verdicts", to="compare.pairing"
                    ),
                ),
                (
                    "region",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="fleet.region"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="HostLook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("due_at", models.DateTimeField()),
                (
                    "site",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="host_look", to="sites.site"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["due_at"], name="host_look_due")],
            },
        ),
        migrations.AddIndex(
            model_name="pairing",
            index=models.Index(fields=["judge_at"], name="pairing_due"),
        ),
        migrations.AddConstraint(
            model_name="pairing",
            constraint=models.UniqueConstraint(fields=("site", "name"), name="pairing_name_once"),
        ),
        migrations.AddConstraint(
            model_name="storedverdict",
            constraint=models.UniqueConstraint(
                fields=("pairing", "region"), name="verdict_once_a_region", nulls_distinct=False
            ),
        ),
    ]
