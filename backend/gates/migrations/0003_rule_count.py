from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gates", "0002_two_addresses"),
    ]

    operations = [
        migrations.AddField(
            model_name="gate",
            name="rule_count",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
