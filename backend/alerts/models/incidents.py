"""What went wrong, from the moment it was seen until it is over, and all that happened about it."""

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.alerts.message import Severity
from backend.alerts.models.channels import Notice
from backend.alerts.models.rules import Rule, RuleKind
from backend.alerts.states import State
from backend.fleet.models import Region
from backend.sites.followed import MAX_TIMING_CHARS
from backend.sites.models import Monitor, Site

MAX_TITLE_CHARS = 300
MAX_TEXT_CHARS = 1_000
_STATES = [(state.value, state.value.replace("_", " ")) for state in State]


class Cause(models.TextChoices):
    """What an incident is about; a site has one open incident for each, and for each finding."""

    AVAILABILITY = "availability", "Availability"
    SPEED = "speed", "Speed"
    CERTIFICATE = "certificate", "Certificate"
    NO_DATA = "no_data", "No data"
    FINDING = "finding", "Finding"
    CDN = "cdn", "CDN"
    AGENT = "agent", "Silent region"


class Resolution(models.TextChoices):
    """Why an incident is over."""

    RECOVERED = "recovered", "Recovered"
    WENT_AWAY = "went_away", "Went away"
    RESOLVED = "resolved", "Resolved by a person"
    ACCEPTED = "accepted", "Accepted as the new normal"
    RULE_OFF = "rule_off", "The rule was changed or switched off"
    PAUSED = "paused", "The monitor was paused"
    REPLACED = "replaced", "Something else is measured now"
    UNMEASURED = "unmeasured", "No region measures it any more"
    REMOVED = "removed", "The region was removed"


# Ends that may be none.
BY_ITSELF = (Resolution.RECOVERED, Resolution.WENT_AWAY)


class Incident(models.Model):
    """The life of one alert. One is open for each `key`; `state` is the worst of its members.

    `told` is the state that channels heard of last, empty when they heard nothing. `owed` says that something happened
    in silence (muted, maintenance, a dependency) that is still to be told when the silence ends; `ask_again_at` is when
    to ask whether a dependency still explains it. `flips` are the times at which it
    was over and began again; while `flapping` it stays open, and `quiet_since` tells since when it would be over. What
    comes by the clock has `every`, from one time to the next, and `longest`, after which it was known to be over each
    time; its `flips` are all the times at which it began within a day.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="incidents")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="incidents", null=True)
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+", null=True)
    cause = models.CharField(max_length=16, choices=Cause)
    key = models.CharField(max_length=120)
    state = models.CharField(max_length=10, choices=_STATES)
    worst_state = models.CharField(max_length=10, choices=_STATES)
    severity = models.CharField(max_length=10, choices=[(severity.value, severity.value) for severity in Severity])
    title = models.CharField(max_length=MAX_TITLE_CHARS)
    opened_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    told = models.CharField(max_length=10, blank=True)
    told_at = models.DateTimeField(null=True)
    owed = models.BooleanField(default=False)
    ask_again_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    muted_until = models.DateTimeField(null=True)
    muted_until_recovery = models.BooleanField(default=False)
    flapping = models.BooleanField(default=False)
    flips = ArrayField(models.DateTimeField(), default=list, blank=True)
    quiet_since = models.DateTimeField(null=True)
    every = models.DurationField(null=True)
    longest = models.DurationField(null=True)
    remind_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolution = models.CharField(max_length=10, choices=Resolution, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "key"], condition=Q(resolved_at=None), name="incident_open_once"
            )
        ]
        indexes = [
            models.Index(fields=["organisation", "-opened_at"], name="incident_by_organisation"),
            models.Index(fields=["organisation", "key", "-resolved_at"], name="incident_by_key"),
            models.Index(fields=["site", "-opened_at"], name="incident_by_site"),
            models.Index(fields=["id"], condition=Q(owed=True), name="incident_owed"),
            models.Index(fields=["remind_at"], condition=Q(remind_at__isnull=False), name="incident_reminders"),
            models.Index(fields=["quiet_since"], condition=Q(flapping=True), name="incident_flapping"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_open(self) -> bool:
        return self.resolved_at is None


class Member(models.Model):
    """What one rule says of one monitor within an incident. It is over when `ended_at` is set; `state` stays as it was.

    `facts` are what the wording needs, `before_run` the last run without it and `after_run` one that shows it.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="members")
    rule = models.ForeignKey(Rule, on_delete=models.SET_NULL, null=True, related_name="members")
    kind = models.CharField(max_length=16, choices=RuleKind)
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, null=True, related_name="+")
    metric = models.CharField(max_length=MAX_TIMING_CHARS, blank=True)
    state = models.CharField(max_length=10, choices=_STATES)
    regions = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    since = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    before_run = models.UUIDField(null=True)
    after_run = models.UUIDField(null=True)
    facts = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["incident", "rule", "monitor", "metric"],
                condition=Q(rule__isnull=False),
                nulls_distinct=False,
                name="member_once",
            )
        ]
        indexes = [
            models.Index(fields=["rule", "monitor"], condition=Q(ended_at=None), name="member_going_on"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.metric} of {self.monitor_id}: {self.state}"


class EventKind(models.TextChoices):
    """What happened to an incident."""

    OPENED = "opened", "Opened"
    JOINED = "joined", "Joined"
    WORSE = "worse", "Worse"
    BETTER = "better", "Better"
    CONFIRMED = "confirmed", "Confirmed"
    REOPENED = "reopened", "Began again"
    FLAPPING = "flapping", "Flapping"
    REMINDED = "reminded", "Reminded"
    RECOVERED = "recovered", "Recovered"
    RESOLVED = "resolved", "Resolved"
    ACCEPTED = "accepted", "Accepted as the new normal"
    ACKNOWLEDGED = "acknowledged", "Acknowledged"
    UNACKNOWLEDGED = "unacknowledged", "Acknowledgement withdrawn"
    MUTED = "muted", "Muted"
    UNMUTED = "unmuted", "Unmuted"
    COMMENT = "comment", "Comment"
    SILENCE_ENDED = "silence_ended", "Told after the silence"


class Silence(models.TextChoices):
    """Why something was not told."""

    MUTED = "muted", "Muted"
    MAINTENANCE = "maintenance", "Maintenance"
    FLAPPING = "flapping", "Flapping"
    STALE = "stale", "Seen too late"
    RULE = "rule", "The rule tells nobody"
    DEPENDENCY = "dependency", "What it relies on is down, or may be"
    FINDING = "finding", "Its cause was told already"


class IncidentEvent(models.Model):
    """One entry of an incident's time line. `actor` is null for the judge itself; `silenced`: why it was not told."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=16, choices=EventKind)
    at = models.DateTimeField()
    text = models.CharField(max_length=MAX_TEXT_CHARS, blank=True)
    actor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    silenced = models.CharField(max_length=12, choices=Silence, blank=True)
    notice = models.ForeignKey(Notice, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["incident", "id"], name="incident_event_order")]

    def __str__(self) -> str:
        return f"{self.kind} {self.text[:60]}"
