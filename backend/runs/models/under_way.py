"""What is due, and what is under way."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from backend.fleet.models import Region
from backend.runs.models.words import Trigger
from backend.sites.models import Monitor
from workers.measurement.evidence import Depth
from workers.measurement.messages import ProgressStage


class Schedule(models.Model):
    """When a monitor is due next in a region. `next_at` is a slot by `slots`; the scheduler moves it on.

    Every run changes its row here and three times its pending one, so both have only the indexes that this needs.
    """

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="schedules", db_index=False)
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=8)
    interval_s = models.PositiveIntegerField()
    offset_us = models.BigIntegerField()
    next_at = models.DateTimeField()
    enabled = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["monitor", "region"], name="schedule_once")]
        indexes = [models.Index(fields=["next_at"], condition=Q(enabled=True), name="schedule_due")]

    def __str__(self) -> str:
        return f"{self.monitor_id} in {self.region_id} every {self.interval_s} s"


class PendingRun(models.Model):
    """A run that has not ended. Unpublished it is the outbox, published it is the lease; ended it is deleted.

    The message is not kept: it follows from this row and its monitor, so request headers stay encrypted at rest.
    `publish_after` keeps the outbox from publishing what the process that made the row is just publishing itself.
    `first_run_id` is set on a second attempt: whoever waits for the first is told of this one. `url` is measured in
    place of the monitor's own, where a gate compares two addresses; with `mapping` (HOST=ADDRESS[:PORT]) a page is
    loaded with that host at another address. Where `without` is set it is loaded in a single first view, without these
    hosts, of which there may be none. `phases` (`backend.runs.early`) is what a probe that looks deeper knows already,
    for the person who waits: it goes with this row. `config_version` is the monitor's when the row was made, then that
    of the message that was published last.
    """

    run_id = models.UUIDField(primary_key=True)
    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="pending_runs", db_index=False)
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+", db_index=False)
    scheduled_for = models.DateTimeField()
    attempt = models.PositiveSmallIntegerField(default=1)
    kind = models.CharField(max_length=8)
    trigger = models.CharField(max_length=8, choices=Trigger.choices)
    urgent = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    publish_after = models.DateTimeField()
    published_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    agent = models.CharField(max_length=100, default="")
    stage = models.CharField(max_length=12, default=ProgressStage.QUEUED.value)
    requests = models.PositiveIntegerField(null=True)
    phases = models.JSONField(null=True)
    has_screenshot = models.BooleanField(default=False)
    has_film = models.BooleanField(default=False, db_default=False)
    first_run_id = models.UUIDField(null=True)
    url = models.TextField(null=True)
    mapping = models.TextField(null=True)
    without = ArrayField(models.TextField(), null=True)
    config_version = models.IntegerField(null=True)
    depth = models.CharField(max_length=8, default=Depth.LIGHT.value, db_default=Depth.LIGHT.value)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["monitor", "region", "scheduled_for"], name="pending_run_slot_once"),
        ]
        indexes = [
            models.Index(fields=["publish_after"], condition=Q(published_at=None), name="pending_run_outbox"),
            models.Index(fields=["region", "kind"], condition=Q(urgent=True), name="pending_run_urgent"),
            models.Index(fields=["first_run_id"], condition=Q(first_run_id__isnull=False), name="pending_run_second"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} of {self.monitor_id} at {self.scheduled_for:%Y-%m-%d %H:%M:%S}, attempt {self.attempt}"
