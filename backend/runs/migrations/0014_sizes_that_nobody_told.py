from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0013_hosts_at_other_addresses"),
    ]

    operations = [
        migrations.AlterField(
            model_name="upload",
            name="bytes",
            field=models.BigIntegerField(null=True),
        ),
    ]
