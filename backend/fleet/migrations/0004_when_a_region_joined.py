"""Of regions that are there already it is not known any more whether an agent ever came: they go on as they are."""

from django.db import migrations, models
from django.db.migrations.state import StateApps
from django.db.models import F


def go_on(apps: StateApps, schema_editor: object) -> None:
    apps.get_model("fleet", "Region").objects.update(joined_at=F("created_at"))


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0003_what_is_wrong_with_browsers"),
    ]

    operations = [
        migrations.AddField(
            model_name="region",
            name="joined_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.RunPython(go_on, migrations.RunPython.noop),
    ]
