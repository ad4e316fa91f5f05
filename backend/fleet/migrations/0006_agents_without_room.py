from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0005_when_a_region_filled_the_broker"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="spool_fault",
            field=models.CharField(max_length=300, null=True),
        ),
    ]
