from django.db import migrations, models

_TRIGGERS = [("schedule", "Schedule"), ("manual", "Manual"), ("confirm", "Confirm"), ("gate", "Gate")]


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_vacuum_what_changes_most")]

    operations = [
        migrations.AlterField(model_name=name, name="trigger", field=models.CharField(choices=_TRIGGERS, max_length=8))
        for name in ("pendingrun", "run")
    ]
