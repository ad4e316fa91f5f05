from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0007_due_since"),
    ]

    operations = [
        migrations.AddField(
            model_name="monitor",
            name="manner_version",
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
    ]
