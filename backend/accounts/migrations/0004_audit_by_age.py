from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_audit_address")]

    operations = [
        migrations.AddIndex(model_name="auditentry", index=models.Index(fields=["at"], name="audit_by_age")),
    ]
