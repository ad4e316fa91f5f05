from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sites", "0005_options_of_pages"),
    ]

    operations = [
        migrations.AddField(
            model_name="site", name="rejudge_before", field=models.DateTimeField(editable=False, null=True)
        ),
        migrations.AddIndex(
            model_name="site",
            index=models.Index(
                condition=models.Q(("rejudge_before__isnull", False)),
                fields=["rejudge_before"],
                name="site_to_rejudge",
            ),
        ),
    ]
