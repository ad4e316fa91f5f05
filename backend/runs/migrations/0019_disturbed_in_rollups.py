from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0018_contended_page_loads"),
    ]

    operations = [
        migrations.AddField(
            model_name="rollup",
            name="disturbed",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
