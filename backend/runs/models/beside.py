"""What stands beside runs: loads out of other tools' files, links for guests, what is kept when runs are gone,
what nobody could read.
"""

from uuid import uuid4

from django.db import models

from backend.accounts.models import Organisation, User
from backend.fleet.models import Region
from backend.sites.models import Monitor, Site


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


class SharedRun(models.Model):
    """A run that whoever has its link may look at until it expires (see `backend.runs.sharing`)."""

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    run_id = models.UUIDField(unique=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"run {self.run_id}, until {self.expires_at:%Y-%m-%d %H:%M}"


class Rollup(models.Model):
    """What is kept of a stretch of time when its runs are gone: outcomes counted, sketches by metric (see `rollups`).

    `sketches` is {metric: {bucket: count}} of what was measured; `width_s` is an hour or a day, from `at` on in UTC.
    `disturbed` of those measured are not comparable (see `sql`): they are in the sketches where there are no others.
    """

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="+")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    width_s = models.PositiveIntegerField()
    at = models.DateTimeField()
    measured = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    missed = models.PositiveIntegerField()
    disturbed = models.PositiveIntegerField(db_default=0, default=0)
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
