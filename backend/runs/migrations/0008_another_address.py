from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0007_legs_of_pairs"),
    ]

    operations = [
        migrations.AddField(
            model_name="pendingrun",
            name="url",
            field=models.TextField(null=True),
        ),
    ]
