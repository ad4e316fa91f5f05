from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_api_tokens"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="auditentry",
            name="address",
            field=models.GenericIPAddressField(null=True),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["organisation", "actor", "-at"], name="audit_by_actor"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["organisation", "object_type", "-at"], name="audit_by_kind"),
        ),
    ]
