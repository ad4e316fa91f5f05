from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0003_hosts_and_their_roles"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="monitor",
            name="monitor_once_a_kind",
        ),
        migrations.AddField(
            model_name="monitor",
            name="pair",
            field=models.JSONField(null=True),
        ),
        migrations.AlterField(
            model_name="monitor",
            name="kind",
            field=models.CharField(
                choices=[("probe", "Probe"), ("page", "Page load"), ("pair", "CDN against origin")], max_length=10
            ),
        ),
        migrations.AddConstraint(
            model_name="monitor",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind", "pair"), _negated=True), fields=("site", "kind"), name="monitor_once_a_kind"
            ),
        ),
        migrations.AddConstraint(
            model_name="monitor",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "pair"), ("pair__isnull", False)),
                    models.Q(models.Q(("kind", "pair"), _negated=True), ("pair__isnull", True)),
                    _connector="OR",
                ),
                name="monitor_pair",
            ),
        ),
    ]
