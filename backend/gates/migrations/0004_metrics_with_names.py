from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gates", "0003_rule_count"),
    ]

    operations = [
        # Longer texts in a column of texts: no row is written anew, nor an index.
        migrations.AlterField(
            model_name="gaterule",
            name="metric",
            field=models.CharField(max_length=108),
        ),
    ]
