"""What shall be told: rules, and the times in which nothing is."""

from uuid import uuid4

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.alerts.message import Severity
from backend.alerts.models.channels import Channel
from backend.alerts.parameters import KINDS
from backend.sites.models import Monitor, Site

MAX_RULE_NAME_CHARS = 100
MAX_REASON_CHARS = 200
# So many of an organisation may lie ahead, and as many are listed.
MAX_WINDOWS = 200


class RuleKind(models.TextChoices):
    """What a rule asks of what is measured."""

    AVAILABILITY = "availability", KINDS["availability"].label
    FAILURES = "failures", KINDS["failures"].label
    BUDGET = "budget", KINDS["budget"].label
    CERTIFICATE = "certificate", KINDS["certificate"].label
    NO_DATA = "no_data", KINDS["no_data"].label
    REGRESSION = "regression", KINDS["regression"].label
    FINDING = "finding", KINDS["finding"].label
    CDN = "cdn", KINDS["cdn"].label
    AGENT = "agent", KINDS["agent"].label


class Rule(models.Model):
    """What is looked for, where, and who is told.

    Without a `site` a rule is for all sites of the organisation, also later ones; a `monitor` narrows a site's rule
    down. No `channels` means all of the organisation, also later ones; without `notify` a rule opens incidents and
    tells nobody. `delay_s` is how long a state has to last before it is told. `version` grows when what is looked for
    changes: whatever a rule remembered before means nothing then.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="rules")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="rules", null=True)
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="+", null=True)
    kind = models.CharField(max_length=16, choices=RuleKind)
    name = models.CharField(max_length=MAX_RULE_NAME_CHARS, blank=True)
    params = models.JSONField(default=dict)
    severity = models.CharField(max_length=10, choices=[(severity.value, severity.value) for severity in Severity])
    channels = models.ManyToManyField(Channel, related_name="rules", blank=True)
    notify = models.BooleanField(default=True)
    enabled = models.BooleanField(default=True)
    delay_s = models.PositiveIntegerField(default=0)
    remind_every_s = models.PositiveIntegerField(null=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(monitor=None) | Q(site__isnull=False), name="rule_monitor_has_site"),
        ]
        indexes = [models.Index(fields=["organisation", "site"], name="rule_by_site")]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """Its own name, or that of its kind."""
        return self.name or KINDS[self.kind].label


class Maintenance(models.Model):
    """A time in which nothing is told, of one site or of all. What happens in it is judged and recorded as usual."""

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="maintenance")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="maintenance", null=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=MAX_REASON_CHARS, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="maintenance_has_length")]
        indexes = [models.Index(fields=["organisation", "-ends_at"], name="maintenance_newest")]
        verbose_name_plural = "maintenance"

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} to {self.ends_at:%Y-%m-%d %H:%M}"
