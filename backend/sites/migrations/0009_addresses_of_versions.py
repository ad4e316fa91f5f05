import django.db.models.deletion
from django.db import migrations, models

# Of older versions nobody knows the address any more.
_KEEP_TODAYS = """
INSERT INTO sites_monitorversion (monitor_id, config_version, url, pair)
SELECT id, config_version, url, pair FROM sites_monitor
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0008_manner_of_asking"),
    ]

    operations = [
        migrations.CreateModel(
            name="MonitorVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("config_version", models.PositiveIntegerField()),
                ("url", models.CharField(max_length=2048)),
                ("pair", models.JSONField(null=True)),
                (
                    "monitor",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="sites.monitor",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("monitor", "config_version"), name="monitor_version_once")
                ],
            },
        ),
        migrations.RunSQL(_KEEP_TODAYS, migrations.RunSQL.noop),
    ]
