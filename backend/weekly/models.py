"""Weekly reports: how an organisation's sites were in a week, written once when it is over."""

from uuid import uuid4

from django.db import models
from django.utils import timezone

from backend.accounts.models import Organisation


class WeeklyReport(models.Model):
    """`week` is its Monday, by UTC; `document` is `Report.to_json`, and `line` what a list says of it (`Line`)."""

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="weekly_reports")
    week = models.DateField()
    written_at = models.DateTimeField(default=timezone.now)
    line = models.JSONField()
    document = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "week"], name="weekly_report_once")]
        indexes = [models.Index(fields=["week"], name="weekly_report_by_age")]

    def __str__(self) -> str:
        return f"{self.organisation_id} in the week of {self.week}"
