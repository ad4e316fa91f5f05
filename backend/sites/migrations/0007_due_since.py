from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0006_findings_after_roles"),
    ]

    operations = [
        migrations.AddField(
            model_name="monitor",
            name="due_since",
            field=models.DateTimeField(null=True),
        ),
    ]
