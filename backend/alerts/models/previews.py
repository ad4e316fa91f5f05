"""What rules would have told, worked out beforehand."""

from django.db import models
from django.utils import timezone

from backend.alerts.models.rules import MAX_REASON_CHARS, Rule


class RulePreview(models.Model):
    """What a rule would have told, worked out now and then: `preview.Preview` of the rule's `version`.

    `computed_at` is null until it was worked out once; `moments` are the latest openings, as ISO instants.
    """

    rule = models.OneToOneField(Rule, on_delete=models.CASCADE, primary_key=True, related_name="preview")
    due_at = models.DateTimeField(default=timezone.now)
    version = models.PositiveIntegerField(default=0)
    computed_at = models.DateTimeField(null=True)
    since = models.DateTimeField(null=True)
    alerts = models.PositiveIntegerField(null=True)
    runs = models.PositiveIntegerField(default=0)
    moments = models.JSONField(default=list)
    reason = models.CharField(max_length=MAX_REASON_CHARS, blank=True)

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="rule_preview_due")]

    def __str__(self) -> str:
        return f"preview of {self.rule_id}: {self.alerts} alerts"
