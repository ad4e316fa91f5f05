from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0017_what_is_unusual"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="contended",
            field=models.BooleanField(null=True),
        ),
    ]
