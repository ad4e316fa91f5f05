"""What is due, what is under way, and what came of it.

`Run`, `Connection`, `Leg`, `Finding` and `RunDocument` are partitioned by week on `scheduled_for` and only ever
inserted into (see `partitions`), so they hold ids instead of foreign keys. Durations are microseconds, sizes bytes,
absent is null. Words such as kinds and reasons are those of `workers.measurement`; they grow there without a migration
here.
"""

from uuid import uuid4

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import CompositePrimaryKey, Q

from backend.accounts.models import Organisation, User
from backend.fleet.models import Region
from backend.sites.models import Monitor, Site
from workers.measurement.evidence import Depth
from workers.measurement.messages import ProgressStage


class Trigger(models.TextChoices):
    """Why it was measured. Only runs of the schedule are judged over time: who asks for more has a reason to look."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    CONFIRM = "confirm"
    GATE = "gate"
    # To find out why something changed, or whether it did; always deep.
    DIAGNOSE = "diagnose"
    # Once, with a host of the page at another address: it measured another server.
    MAPPED = "mapped"


# What these measured may be another server than the monitor's.
ELSEWHERE = (Trigger.GATE, Trigger.MAPPED)


class Outcome(models.TextChoices):
    MEASURED = "measured"
    FAILED = "failed"
    MISSED = "missed"


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
    loaded with that host at another address. `phases` (`backend.runs.early`) is what a probe that looks deeper
    knows already, for the person who waits: it goes with this row. `config_version` is the monitor's when the row was
    made, then that of the message that was published last.
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


class Run(models.Model):
    """A run that has ended: one narrow row, all that a chart reads.

    For a page the phases are those of the final document's request, for a probe those of the last hop. `late` says that
    the result came after its slot had been given up or given to another attempt. A second attempt has `first_run_id`.
    `depth` is how deep a probe looked, by its evidence: null for what has none. A page whose rules were asked is deep.

    `profile_verified` tells of a shaped run whether its network kept the profile's numbers; null for all others. Where
    it did not, the run says that the site answers and nothing of its speed: durations and `depth` are null here, so
    that it enters no chart, baseline, rule or gate, and what was seen is in its document alone.
    """

    pk = CompositePrimaryKey("run_id", "scheduled_for")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    attempt = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=8)
    trigger = models.CharField(max_length=8, choices=Trigger.choices)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    late = models.BooleanField(default=False)
    received_at = models.DateTimeField()
    missed_reason = models.TextField(null=True)
    failure_stage = models.TextField(null=True)
    failure_kind = models.TextField(null=True)
    failure_blame = models.TextField(null=True)
    failure_detail = models.TextField(null=True)
    agent = models.TextField(null=True)
    agent_version = models.TextField(null=True)
    config_version = models.IntegerField(null=True)
    started_at = models.DateTimeField(null=True)
    duration_us = models.BigIntegerField(null=True)
    clock = models.TextField(null=True)
    dns_us = models.BigIntegerField(null=True)
    connect_us = models.BigIntegerField(null=True)
    tls_us = models.BigIntegerField(null=True)
    send_us = models.BigIntegerField(null=True)
    wait_us = models.BigIntegerField(null=True)
    download_us = models.BigIntegerField(null=True)
    ttfb_us = models.BigIntegerField(null=True)
    total_us = models.BigIntegerField(null=True)
    rtt_us = models.BigIntegerField(null=True)
    tls_round_trips = models.SmallIntegerField(null=True)
    status_code = models.SmallIntegerField(null=True)
    protocol = models.TextField(null=True)
    fcp_us = models.BigIntegerField(null=True)
    lcp_us = models.BigIntegerField(null=True)
    cls = models.FloatField(null=True)
    load_us = models.BigIntegerField(null=True)
    fully_loaded_us = models.BigIntegerField(null=True)
    start_render_us = models.BigIntegerField(null=True)
    speed_index_us = models.BigIntegerField(null=True)
    visually_complete_us = models.BigIntegerField(null=True)
    tbt_us = models.BigIntegerField(null=True)
    requests = models.IntegerField(null=True)
    connections = models.IntegerField(null=True)
    bytes = models.BigIntegerField(null=True)
    browser_version = models.TextField(null=True)
    has_screenshot = models.BooleanField(default=False)
    has_film = models.BooleanField(default=False, db_default=False)
    first_run_id = models.UUIDField(null=True)
    depth = models.TextField(null=True)
    profile_verified = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["monitor_id", "region_id", "scheduled_for", "attempt"], name="run_once"),
        ]
        indexes = [
            models.Index(fields=["first_run_id"], condition=Q(first_run_id__isnull=False), name="run_second_attempt"),
            BrinIndex(fields=["scheduled_for"], name="run_by_time"),
            # One in a thousand runs is in it.
            models.Index(
                fields=["monitor_id", "region_id", "scheduled_for"], condition=Q(depth="deep"), name="run_deep"
            ),
            # One in a hundred: all that a list of failures, of gates or of tests by hand is made of.
            models.Index(
                fields=["monitor_id", "scheduled_for"],
                condition=~Q(outcome="measured") | ~Q(trigger="schedule"),
                name="run_unusual",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.outcome}"


class Connection(models.Model):
    """One connection that a run opened."""

    pk = CompositePrimaryKey("run_id", "scheduled_for", "number")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    number = models.IntegerField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    host = models.TextField()
    port = models.IntegerField()
    address = models.GenericIPAddressField(null=True)
    protocol = models.TextField(null=True)
    dns_us = models.BigIntegerField(null=True)
    connect_us = models.BigIntegerField(null=True)
    tls_us = models.BigIntegerField(null=True)
    rtt_us = models.BigIntegerField(null=True)
    tls_round_trips = models.SmallIntegerField(null=True)
    tls_version = models.TextField(null=True)
    cipher = models.TextField(null=True)
    resumed = models.BooleanField(null=True)
    certificate_sha256 = models.TextField(null=True)
    certificate_issuer = models.TextField(null=True)
    certificate_not_after = models.DateTimeField(null=True)
    certificate_error = models.TextField(null=True)
    received_bytes = models.BigIntegerField(null=True)
    requests = models.IntegerField(default=0)
    preconnected = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(
                fields=["host", "region_id", "scheduled_for"],
                include=["monitor_id", "tls_us"],
                name="connection_by_host",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} connection {self.number} to {self.host}"


class Leg(models.Model):
    """One exchange of a pair: leg `a` is the CDN, `b` the origin; first both cold, then both reused.

    Of a run that failed those before its fault are here. `kept` is false where the server closed its connection.
    """

    pk = CompositePrimaryKey("run_id", "scheduled_for", "position")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    position = models.SmallIntegerField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    leg = models.CharField(max_length=1)
    reused = models.BooleanField()
    kept = models.BooleanField()
    connection = models.IntegerField()
    dns_us = models.BigIntegerField(null=True)
    connect_us = models.BigIntegerField(null=True)
    tls_us = models.BigIntegerField(null=True)
    send_us = models.BigIntegerField(null=True)
    wait_us = models.BigIntegerField(null=True)
    download_us = models.BigIntegerField(null=True)
    ttfb_us = models.BigIntegerField(null=True)
    total_us = models.BigIntegerField(null=True)
    status_code = models.SmallIntegerField(null=True)
    protocol = models.TextField(null=True)
    encoding = models.TextField(null=True)
    head_bytes = models.BigIntegerField(null=True)
    body_bytes = models.BigIntegerField(null=True)
    cache = models.TextField()
    cache_evidence = models.TextField(null=True)
    age_s = models.BigIntegerField(null=True)
    etag = models.TextField(null=True)

    def __str__(self) -> str:
        return f"{self.run_id} leg {self.leg}, {'reused' if self.reused else 'cold'}"


class Finding(models.Model):
    """A cause that a run found, in the order in which to mend them, or one that a deep run could not judge.

    Of the latter only `not_judged` is set, the reason. A light run, of which there is one a minute, brings what it
    found and what is more than information.
    """

    pk = CompositePrimaryKey("run_id", "scheduled_for", "position")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    position = models.SmallIntegerField()
    monitor_id = models.BigIntegerField()
    region_id = models.BigIntegerField()
    finding = models.TextField()
    severity = models.TextField(null=True)
    confidence = models.TextField(null=True)
    saving_us = models.BigIntegerField(null=True)
    host = models.TextField(null=True)
    not_judged = models.TextField(null=True)

    class Meta:
        indexes = [models.Index(fields=["monitor_id", "scheduled_for"], name="finding_by_monitor")]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.finding}, {self.severity or self.not_judged}"


class RunDocument(models.Model):
    """The whole measurement of a run, compressed (see `documents`); read only when one run is looked at."""

    pk = CompositePrimaryKey("run_id", "scheduled_for")
    scheduled_for = models.DateTimeField()
    run_id = models.UUIDField()
    document = models.BinaryField()

    def __str__(self) -> str:
        return f"measurement of {self.run_id}"


class Upload(models.Model):
    """A page load that somebody brought in a file of another tool, with or without a site that it is of.

    It is no run: it has no monitor, region or slot, so nothing that counts, compares or judges runs can meet it. The
    columns are what lists show; `document` is what a run's is. `label` is the file's own name for the load.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="uploads", db_index=False)
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="uploads", null=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    started_at = models.DateTimeField()
    url = models.TextField()
    label = models.TextField()
    file_name = models.TextField()
    format = models.TextField()
    tool = models.TextField(null=True)
    tool_version = models.TextField(null=True)
    browser_version = models.TextField(null=True)
    ttfb_us = models.BigIntegerField(null=True)
    fcp_us = models.BigIntegerField(null=True)
    lcp_us = models.BigIntegerField(null=True)
    load_us = models.BigIntegerField(null=True)
    requests = models.IntegerField()
    bytes = models.BigIntegerField(null=True)
    skipped = models.IntegerField()
    remarks = models.JSONField(default=list)
    document = models.BinaryField()

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "created_at"], name="upload_newest"),
            models.Index(fields=["created_at"], name="upload_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.url[:100]} out of {self.file_name[:60]}"


class Rollup(models.Model):
    """What is kept of a stretch of time when its runs are gone: outcomes counted, sketches by metric (see `rollups`).

    `sketches` is {metric: {bucket: count}} of what was measured; `width_s` is an hour or a day, from `at` on in UTC.
    """

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="+")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    width_s = models.PositiveIntegerField()
    at = models.DateTimeField()
    measured = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    missed = models.PositiveIntegerField()
    sketches = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["monitor", "region", "width_s", "at"], name="rollup_once"),
        ]
        indexes = [models.Index(fields=["width_s", "at"], name="rollup_newest")]

    def __str__(self) -> str:
        return f"{self.monitor_id} in {self.region_id}, {self.width_s} s from {self.at:%Y-%m-%d %H:%M}"


class DeadLetter(models.Model):
    """What an agent sent and we could not read, cut to 64 KiB, with the reason: for us to look at, kept a while."""

    MAX_BODY_BYTES = 65_536

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    received_at = models.DateTimeField()
    reason = models.TextField()
    body = models.BinaryField()

    class Meta:
        indexes = [models.Index(fields=["received_at"], name="dead_letter_received")]

    def __str__(self) -> str:
        return f"{self.received_at:%Y-%m-%d %H:%M} {self.reason[:60]}"
