from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0017_outages_said_by_findings"),
    ]

    operations = [
        # Longer texts in a column of texts: no row is written anew, nor an index.
        migrations.AlterField(
            model_name="member",
            name="metric",
            field=models.CharField(blank=True, max_length=108),
        ),
    ]
