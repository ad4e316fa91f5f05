from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0022_loads_without_hosts"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="timings",
            field=models.JSONField(null=True),
        ),
    ]
