from django.db import migrations, models

_NEW = ("start_render_us", "speed_index_us", "visually_complete_us", "tbt_us")


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0009_findings"),
    ]

    operations = [
        migrations.AddField(
            model_name="pendingrun", name="has_film", field=models.BooleanField(db_default=False, default=False)
        ),
        migrations.AddField(
            model_name="run", name="has_film", field=models.BooleanField(db_default=False, default=False)
        ),
        *(migrations.AddField(model_name="run", name=name, field=models.BigIntegerField(null=True)) for name in _NEW),
    ]
