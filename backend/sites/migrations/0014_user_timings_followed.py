import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0013_names_in_the_order_of_people"),
    ]

    operations = [
        migrations.AddField(
            model_name="monitor",
            name="user_timings",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), blank=True, db_default=[], default=list, size=None
            ),
        ),
    ]
