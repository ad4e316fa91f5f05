from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0007_another_address"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="member",
            name="member_once",
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.UniqueConstraint(
                condition=models.Q(("rule__isnull", False)),
                fields=("incident", "rule", "monitor", "metric"),
                name="member_once",
                nulls_distinct=False,
            ),
        ),
    ]
