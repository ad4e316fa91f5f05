"""Verdicts on releases: what was asked, how far it is, what it came to, and the runs that it rests on."""

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.analysis.gate_types import Verdict as Found
from backend.encryption import EncryptedJSONField
from backend.fleet.models import Region
from backend.sites.followed import MAX_TIMING_CHARS
from backend.sites.models import Deploy, Monitor, Site

MAX_TEXT_CHARS = 1_000


class Status(models.TextChoices):
    """`timeout` ended for want of time, whatever its verdict."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    TIMEOUT = "timeout", "Out of time"
    CANCELLED = "cancelled", "Cancelled"


OPEN = (Status.QUEUED, Status.RUNNING)


class Verdict(models.TextChoices):
    """What a gate, or a rule of it, came to. `error`: it could not be measured."""

    PASS = Found.PASS.value, "Pass"
    FAIL = Found.FAIL.value, "Fail"
    INCONCLUSIVE = Found.INCONCLUSIVE.value, "Inconclusive"
    ERROR = Found.ERROR.value, "Error"


class Phase(models.TextChoices):
    """`before`: only measures, for a later gate to compare with."""

    BEFORE = "before", "Before the release"
    AFTER = "after", "After the release"


class BaselineMode(models.TextChoices):
    """`history`: scheduled runs before the deploy. `gate`: the runs of an earlier gate. `url`: runs of another address,
    in turns with those of the release."""

    HISTORY = "history", "History"
    GATE = "gate", "An earlier gate"
    URL = "url", "Another address"


class Side(models.TextChoices):
    """What a run measured: the release, or what it is compared with."""

    BEFORE = "before", "Baseline"
    AFTER = "after", "Release"


class OnInconclusive(models.TextChoices):
    """What a pipeline is told when it cannot be decided."""

    INCONCLUSIVE = "inconclusive", "Say so"
    PASS = "pass", "Let it pass"
    FAIL = "fail", "Let it fail"


class Level(models.TextChoices):
    """`warn` is told and changes no verdict."""

    FAIL = "fail", "Fails"
    WARN = "warn", "Warns"


class GateManager(models.Manager["Gate"]):
    """Leaves the callback's address out until it is called: it may hold a secret, and no list must fail over it."""

    def get_queryset(self) -> "models.QuerySet[Gate]":
        return super().get_queryset().defer("callback")


class Gate(models.Model):
    """One question about one release. All of its state is here, so that any process can take it a step further.

    Runs are made in rounds, one a region at a time; `look` is the judgement that they are made for, `due_at` when it is
    looked at next. `given_up` are regions that do not measure. `summary`, `reason` and `warnings` are sentences.
    `rule_count` is how many rules were asked: those of a monitor that is deleted go with it.
    `addresses` are the two URLs of each monitor, {its number: [before, after]}, where addresses are compared; such a
    release is often not in force anywhere yet, and then no deploy but only its name is kept (`release`).
    `callback` holds the address to call, if it `calls_back`; `callback_due_at` is null when there is nothing to call.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="gates")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="gates")
    deploy = models.ForeignKey(Deploy, on_delete=models.SET_NULL, null=True, related_name="gates")
    phase = models.CharField(max_length=8, choices=Phase, default=Phase.AFTER)
    regions = ArrayField(models.CharField(max_length=20))
    runs_per_region = models.PositiveSmallIntegerField()
    max_per_region = models.PositiveSmallIntegerField()
    discard_first = models.PositiveSmallIntegerField()
    baseline_mode = models.CharField(max_length=8, choices=BaselineMode, default=BaselineMode.HISTORY)
    baseline_gate = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="later_gates")
    addresses = models.JSONField(default=dict)
    release = models.CharField(max_length=100, blank=True)
    baseline_since = models.DateTimeField(null=True)
    baseline_until = models.DateTimeField(null=True)
    rule_count = models.PositiveSmallIntegerField(default=0, db_default=0)
    min_samples = models.PositiveIntegerField()
    confidence = models.FloatField()
    on_inconclusive = models.CharField(max_length=12, choices=OnInconclusive, default=OnInconclusive.INCONCLUSIVE)
    deadline = models.DateTimeField()
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    verdict = models.CharField(max_length=12, choices=Verdict, blank=True)
    look = models.PositiveSmallIntegerField(default=1)
    given_up = models.JSONField(default=dict)
    reason = models.CharField(max_length=MAX_TEXT_CHARS, blank=True)
    summary = models.CharField(max_length=MAX_TEXT_CHARS, blank=True)
    warnings = models.JSONField(default=list)
    due_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    token_name = models.CharField(max_length=100, blank=True)
    callback = EncryptedJSONField(default=dict, blank=True)
    calls_back = models.BooleanField(default=False)
    callback_due_at = models.DateTimeField(null=True)
    callback_tries = models.PositiveSmallIntegerField(default=0)
    callback_answer = models.CharField(max_length=200, blank=True)

    objects = GateManager()

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status__in=["queued", "running"]), name="gate_due"),
            models.Index(fields=["callback_due_at"], condition=Q(callback_due_at__isnull=False), name="gate_callback"),
            models.Index(fields=["organisation", "-created_at"], name="gate_by_organisation"),
            models.Index(fields=["site", "-created_at"], name="gate_by_site"),
        ]

    def __str__(self) -> str:
        return f"gate {self.public_id}: {self.verdict or self.status}"

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def sides(self) -> tuple["Side", ...]:
        """What it measures."""
        return (Side.BEFORE, Side.AFTER) if self.baseline_mode == BaselineMode.URL else (Side.AFTER,)

    def url_of(self, monitor: Monitor, side: str) -> str:
        """The address that a side of a monitor is measured at."""
        return self.address_of(monitor.pk, side) or monitor.url

    def address_of(self, monitor_pk: int, side: str) -> str | None:
        """The same, None where that is the monitor's own."""
        both = self.addresses.get(str(monitor_pk))
        return None if both is None else str(both[side != Side.BEFORE])


class GateRule(models.Model):
    """One rule for one monitor, and what it has come to so far. `found` is `documents.found_document`.

    Limits are in the metric's unit at the doors: milliseconds, bytes or a number.
    """

    gate = models.ForeignKey(Gate, on_delete=models.CASCADE, related_name="rules")
    position = models.PositiveSmallIntegerField()
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="+")
    metric = models.CharField(max_length=MAX_TIMING_CHARS)
    max_change_pct = models.FloatField(null=True)
    min_change = models.FloatField(default=0.0)
    max_value = models.FloatField(null=True)
    level = models.CharField(max_length=4, choices=Level, default=Level.FAIL)
    verdict = models.CharField(max_length=12, choices=Verdict, blank=True)
    reason = models.CharField(max_length=MAX_TEXT_CHARS, blank=True)
    found = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["gate", "position"], name="gate_rule_once")]

    def __str__(self) -> str:
        return f"{self.metric} of {self.monitor_id}: {self.verdict or 'not judged'}"


class RunState(models.TextChoices):
    """`nothing`: missed, or failed by our own fault, which says nothing of the site."""

    PENDING = "pending", "Pending"
    MEASURED = "measured", "Measured"
    FAILED = "failed", "Failed"
    NOTHING = "nothing", "Says nothing"


# Have ended, and say something of the site.
COUNTING = (RunState.MEASURED, RunState.FAILED)


class GateRun(models.Model):
    """A run that a gate asked for. What it measured is copied here, since the run itself goes after a while.

    `ended_run_id` is that of the attempt that ended; `discarded` runs only warm caches. `values` are stored columns.
    """

    gate = models.ForeignKey(Gate, on_delete=models.CASCADE, related_name="runs")
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="+")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    run_id = models.UUIDField()
    place = models.PositiveSmallIntegerField()
    side = models.CharField(max_length=6, choices=Side, default=Side.AFTER)
    discarded = models.BooleanField(default=False)
    state = models.CharField(max_length=8, choices=RunState, default=RunState.PENDING)
    ended_run_id = models.UUIDField(null=True)
    reason = models.CharField(max_length=MAX_TEXT_CHARS, blank=True)
    values = models.JSONField(default=dict)
    requested_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["gate", "run_id"], name="gate_run_once")]

    def __str__(self) -> str:
        return f"{self.run_id} of gate {self.gate_id}: {self.state}"
