from django.db import migrations

import backend.encryption


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0004_pairs"),
    ]

    operations = [
        migrations.AddField(
            model_name="monitor",
            name="page",
            field=backend.encryption.EncryptedJSONField(blank=True, db_default="", default=dict),
        ),
    ]
