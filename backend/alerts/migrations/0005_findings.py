from django.db import migrations, models

_CAUSES = [
    ("availability", "Availability"),
    ("speed", "Speed"),
    ("certificate", "Certificate"),
    ("no_data", "No data"),
    ("finding", "Finding"),
    ("cdn", "CDN"),
    ("agent", "Silent region"),
]
_KINDS = [
    ("availability", "Availability"),
    ("failures", "Failed runs"),
    ("budget", "Budget"),
    ("certificate", "Certificate"),
    ("no_data", "No data"),
    ("regression", "Regression"),
    ("finding", "Finding"),
    ("cdn", "CDN slower than origin"),
    ("agent", "Silent region"),
]
# As `0003_vacuum_what_the_judge_remembers` has it for the other memories.
_VACUUM = (
    "ALTER TABLE alerts_scrutiny SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,"
    " autovacuum_vacuum_cost_delay = 0)"
)
_WATCH = """
INSERT INTO alerts_scrutiny (monitor_id, due_at, memory)
SELECT m.id, now(), '{}' FROM alerts_watch w JOIN sites_monitor m ON m.id = w.monitor_id WHERE m.kind = 'probe'
"""
# Sites that are watched already get the rule that new ones begin with, as it is today.
_RULES = """
INSERT INTO alerts_rule (public_id, organisation_id, site_id, name, kind, params, severity, notify, enabled, delay_s,
    version, created_at)
SELECT gen_random_uuid(), s.organisation_id, s.id, '', 'finding',
    '{"min_severity": "critical", "ids": [], "found": 2, "of_last": 2, "regions": 1}', 'critical', true, true, 0, 1,
    now()
FROM sites_site s WHERE EXISTS (
    SELECT FROM alerts_watch w JOIN sites_monitor m ON m.id = w.monitor_id WHERE m.site_id = s.id
)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0004_previews_of_rules"),
        ("sites", "0004_pairs"),
    ]

    operations = [
        migrations.AlterField(
            model_name="incident", name="cause", field=models.CharField(choices=_CAUSES, max_length=16)
        ),
        migrations.AlterField(model_name="member", name="kind", field=models.CharField(choices=_KINDS, max_length=16)),
        migrations.AlterField(model_name="rule", name="kind", field=models.CharField(choices=_KINDS, max_length=16)),
        migrations.CreateModel(
            name="Scrutiny",
            fields=[
                (
                    "monitor",
                    models.OneToOneField(
                        on_delete=models.deletion.CASCADE,
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
                "verbose_name_plural": "scrutinies",
                "indexes": [models.Index(fields=["due_at"], name="scrutiny_due")],
            },
        ),
        migrations.RunSQL(_VACUUM, migrations.RunSQL.noop),
        migrations.RunSQL(_WATCH, migrations.RunSQL.noop),
        migrations.RunSQL(_RULES, migrations.RunSQL.noop),
    ]
