from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_audit_by_age")]

    operations = [
        migrations.AddField(model_name="user", name="proved_at", field=models.DateTimeField(editable=False, null=True)),
    ]
