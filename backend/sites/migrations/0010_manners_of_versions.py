from django.db import migrations, models

# Of older versions nobody knows it any more.
_KEEP_TODAYS = """
UPDATE sites_monitorversion kept SET profile = monitor.profile, manner_version = monitor.manner_version
FROM sites_monitor monitor
WHERE monitor.id = kept.monitor_id AND monitor.config_version = kept.config_version
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0009_addresses_of_versions"),
    ]

    operations = [
        migrations.AddField("monitorversion", "profile", models.CharField(max_length=40, null=True)),
        migrations.AddField("monitorversion", "manner_version", models.PositiveIntegerField(null=True)),
        migrations.RunSQL(_KEEP_TODAYS, migrations.RunSQL.noop),
    ]
