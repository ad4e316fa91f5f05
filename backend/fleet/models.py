"""Where measurements run: regions, and the agents that joined them."""

from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from backend.accounts.models import Organisation
from workers.measurement.routes import REGION_PATTERN


class Region(models.Model):
    """A place. `organisation` is null for a region that all share. Of its two secrets only digests are kept.

    `joined_at` is when an agent told of itself for the first time; while it is null, nothing is scheduled there.
    `broker_password_hash` lets the broker's account be made again after the broker lost it, without a new secret.
    `emptied_at` is when the region last filled the broker, under the secrets that it has (see `runs.hoards`).
    """

    code = models.CharField(
        max_length=20,
        unique=True,
        validators=[
            RegexValidator(REGION_PATTERN, "Use 2 to 20 lower-case letters, digits and inner hyphens, such as eu-west.")
        ],
    )
    name = models.CharField(max_length=60)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="regions", null=True, blank=True
    )
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    token_prefix = models.CharField(max_length=20, editable=False)
    broker_user = models.CharField(max_length=40, editable=False)
    broker_password_hash = models.CharField(max_length=64, editable=False)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)
    joined_at = models.DateTimeField(null=True)
    emptied_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Agent(models.Model):
    """One worker process group, as its last heartbeat told. `clock_skew_us` is positive when its clock is ahead."""

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="agents")
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    browser_version = models.CharField(max_length=80, null=True)
    sandbox = models.BooleanField(null=True)
    browser_fault = models.CharField(max_length=300, null=True)
    spool_fault = models.CharField(max_length=300, null=True)
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField()
    clock_skew_us = models.BigIntegerField()
    holding = models.PositiveIntegerField(default=0)
    spooled = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["region", "name"], name="agent_unique")]
        indexes = [models.Index(fields=["region", "-last_seen_at"], name="agent_by_region")]

    def __str__(self) -> str:
        return f"{self.name} in {self.region}"


class Listening(models.Model):
    """Since when agents can be heard without a break: one row that every web process renews (see `listening`)."""

    since = models.DateTimeField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"listening since {self.since:%Y-%m-%d %H:%M:%S}"
