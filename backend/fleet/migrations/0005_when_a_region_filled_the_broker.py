from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0004_when_a_region_joined"),
    ]

    operations = [
        migrations.AddField(
            model_name="region",
            name="emptied_at",
            field=models.DateTimeField(null=True),
        ),
    ]
