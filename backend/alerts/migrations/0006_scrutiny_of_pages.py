from django.db import migrations

# Pages bring findings with every run, so that rules about findings look at them too.
_WATCH = """
INSERT INTO alerts_scrutiny (monitor_id, due_at, memory)
SELECT m.id, now(), '{}' FROM alerts_watch w JOIN sites_monitor m ON m.id = w.monitor_id WHERE m.kind = 'page'
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0005_findings"),
    ]

    operations = [
        migrations.RunSQL(
            _WATCH, "DELETE FROM alerts_scrutiny s USING sites_monitor m WHERE m.id = s.monitor_id AND m.kind = 'page'"
        ),
    ]
