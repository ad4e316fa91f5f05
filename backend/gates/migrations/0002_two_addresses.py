from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gates", "0001_gates"),
    ]

    operations = [
        migrations.AddField(
            model_name="gate",
            name="addresses",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="gate",
            name="release",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name="gaterun",
            name="side",
            field=models.CharField(
                choices=[("before", "Baseline"), ("after", "Release")], default="after", max_length=6
            ),
        ),
        migrations.AlterField(
            model_name="gate",
            name="baseline_mode",
            field=models.CharField(
                choices=[("history", "History"), ("gate", "An earlier gate"), ("url", "Another address")],
                default="history",
                max_length=8,
            ),
        ),
    ]
