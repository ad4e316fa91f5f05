"""What hosts cost a page: what was asked, how far it is, and the loads that the verdict rests on."""

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from backend.accounts.models import Organisation, User
from backend.fleet.models import Region
from backend.sites.models import Monitor, Site
from workers.diagnosis.without.samples import Side as OfLoad
from workers.measurement.target import MAX_URL_CHARS

MAX_TEXT_CHARS = 1_000


class ExperimentStatus(models.TextChoices):
    """`done` has a verdict; `failed` could not be measured, as its reason says."""

    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Experiment(models.Model):
    """One question: what do these hosts cost this page? All of its state is here, so that any process can take it a
    step further.

    `pairs` are wanted. `config_version` and `url` are the monitor's when it began. `reason` says why it ended early;
    `verdict` and `sentence` are what it came to, as it was told then.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="experiments")
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="experiments")
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="+")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    config_version = models.PositiveIntegerField()
    url = models.CharField(max_length=MAX_URL_CHARS)
    hosts = ArrayField(models.TextField())
    pairs = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=10, choices=ExperimentStatus, default=ExperimentStatus.RUNNING)
    verdict = models.CharField(max_length=20, blank=True)
    sentence = models.TextField(blank=True)
    reason = models.CharField(max_length=MAX_TEXT_CHARS, blank=True)
    deadline = models.DateTimeField()
    due_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    token_name = models.CharField(max_length=100, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status="running"), name="experiment_due"),
            models.Index(fields=["organisation", "-created_at"], name="experiment_by_organisation"),
            models.Index(fields=["site", "-created_at"], name="experiment_by_site"),
        ]

    def __str__(self) -> str:
        return f"experiment {self.public_id}: {self.verdict or self.status}"

    @property
    def is_open(self) -> bool:
        return self.status == ExperimentStatus.RUNNING


class Side(models.TextChoices):
    WITH = OfLoad.WITH.value, "With"
    WITHOUT = OfLoad.WITHOUT.value, "Without"


class LoadState(models.TextChoices):
    """`loaded` says something of the page, be it that it failed. `nothing`: missed, or failed by our own fault. `ends`:
    what it tells ends the experiment."""

    PENDING = "pending", "Pending"
    LOADED = "loaded", "Loaded"
    NOTHING = "nothing", "Says nothing"
    ENDS = "ends", "Ends the experiment"


class ExperimentRun(models.Model):
    """A load that an experiment asked for. What the verdict needs of it is copied here (`loads`), since the run itself
    goes after a while.

    `pair` counts from 1; those of 0 go before and only fill caches. `ended_run_id` is that of the attempt that ended.
    """

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="runs")
    pair = models.PositiveSmallIntegerField()
    side = models.CharField(max_length=7, choices=Side)
    run_id = models.UUIDField()
    state = models.CharField(max_length=8, choices=LoadState, default=LoadState.PENDING)
    ended_run_id = models.UUIDField(null=True)
    reason = models.CharField(max_length=MAX_TEXT_CHARS, blank=True)
    load = models.JSONField(null=True)
    requested_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["experiment", "pair", "side"], name="experiment_run_once"),
        ]
        indexes = [models.Index(fields=["run_id"], name="experiment_run_by_run")]

    def __str__(self) -> str:
        return f"{self.run_id} of experiment {self.experiment_id}: {self.state}"
