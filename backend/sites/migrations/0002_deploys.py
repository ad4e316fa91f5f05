import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_people_and_organisations"),
        ("sites", "0001_sites_and_monitors"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Deploy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("external_id", models.CharField(blank=True, max_length=100)),
                ("version", models.CharField(blank=True, max_length=100)),
                ("url", models.CharField(blank=True, max_length=2048)),
                ("note", models.CharField(blank=True, max_length=500)),
                ("at", models.DateTimeField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("token_name", models.CharField(blank=True, max_length=100)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deploys", to="accounts.organisation"
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="deploys", to="sites.site"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["organisation", "-at"], name="deploy_by_organisation")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("site__isnull", False), models.Q(("external_id", ""), _negated=True)),
                        fields=("site", "external_id"),
                        name="deploy_once_a_site",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("site__isnull", True), models.Q(("external_id", ""), _negated=True)),
                        fields=("organisation", "external_id"),
                        name="deploy_once_everywhere",
                    ),
                ],
            },
        ),
    ]
