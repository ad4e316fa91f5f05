from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0018_metrics_with_names"),
    ]

    operations = [
        migrations.AlterField(
            model_name="incident",
            name="resolution",
            field=models.CharField(
                blank=True,
                choices=[
                    ("recovered", "Recovered"),
                    ("went_away", "Went away"),
                    ("resolved", "Resolved by a person"),
                    ("accepted", "Accepted as the new normal"),
                    ("rule_off", "The rule was changed or switched off"),
                    ("paused", "The monitor was paused"),
                    ("replaced", "Something else is measured now"),
                    ("unmeasured", "No region measures it any more"),
                    ("removed", "The region was removed"),
                ],
                max_length=10,
            ),
        ),
    ]
