from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0011_uploads"),
    ]

    operations = [
        migrations.AddField(model_name="run", name="profile_verified", field=models.BooleanField(null=True)),
    ]
