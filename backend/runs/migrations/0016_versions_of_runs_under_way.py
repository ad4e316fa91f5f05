from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0015_phases_told_ahead"),
    ]

    operations = [
        migrations.AddField(
            model_name="pendingrun",
            name="config_version",
            field=models.IntegerField(null=True),
        ),
    ]
