from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0020_shared_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="certificate_not_before",
            field=models.DateTimeField(null=True),
        ),
    ]
