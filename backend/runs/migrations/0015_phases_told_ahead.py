from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0014_sizes_that_nobody_told"),
    ]

    operations = [
        migrations.AddField(
            model_name="pendingrun",
            name="phases",
            field=models.JSONField(null=True),
        ),
    ]
