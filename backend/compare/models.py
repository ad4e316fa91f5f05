"""Which CDN and origin are compared, and what was found."""

from uuid import uuid4

from django.db import models
from django.utils import timezone

from backend.accounts.models import User
from backend.fleet.models import Region
from backend.sites.models import Monitor, Site
from workers.diagnosis.pair.samples import Verdict
from workers.measurement.pair import PairTarget
from workers.measurement.target import MAX_URL_CHARS

MAX_NAME_CHARS = 100
VERDICTS = [
    (verdict.value, verdict.value.replace("_", " "))
    for verdict in (Verdict.CDN_FASTER, Verdict.ORIGIN_FASTER, Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE)
]


class HostLook(models.Model):
    """When the hosts of a site are looked at next; without a row, at once."""

    site = models.OneToOneField(Site, on_delete=models.CASCADE, related_name="host_look")
    due_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="host_look_due")]

    def __str__(self) -> str:
        return f"{self.site_id} at {self.due_at:%Y-%m-%d %H:%M}"


class Pairing(models.Model):
    """One asset from the CDN and from the origin, measured by a pair monitor of its own.

    `origin` is what was typed: an address, a host, a URL prefix or a whole URL (see `origins`). What was measured
    before `compared_from` was another comparison. `judge_at` is when its verdicts are due again.
    """

    public_id = models.UUIDField(default=uuid4, unique=True, editable=False)
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="pairings")
    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, related_name="pairing")
    name = models.CharField(max_length=MAX_NAME_CHARS)
    origin = models.CharField(max_length=MAX_URL_CHARS)
    compared_from = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True)
    judge_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["site", "name"], name="pairing_name_once")]
        indexes = [models.Index(fields=["judge_at"], name="pairing_due")]

    def __str__(self) -> str:
        return self.name

    @property
    def other(self) -> PairTarget:
        """The origin's leg."""
        stored = self.monitor.pair or {}
        return PairTarget(url=stored["url"], address=stored["address"])


class OriginLoad(models.Model):
    """The site's page, loaded once with the pairing's CDN host at the origin's address."""

    pairing = models.ForeignKey(Pairing, on_delete=models.CASCADE, related_name="loads")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    run_id = models.UUIDField(unique=True)
    asked_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.run_id} for {self.pairing_id} in {self.region_id}"


class StoredVerdict(models.Model):
    """What holds in a region, or over all of them without one, by the cold pairs of the last day.

    `since` is when this verdict came; `slower_since` when the CDN became slower beyond the doubt that an alert allows
    itself, null while it is not. Differences are the CDN's time less the origin's: positive is slower.
    """

    pairing = models.ForeignKey(Pairing, on_delete=models.CASCADE, related_name="verdicts")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+", null=True)
    verdict = models.CharField(max_length=16, choices=VERDICTS)
    since = models.DateTimeField()
    slower_since = models.DateTimeField(null=True)
    judged_at = models.DateTimeField()
    pairs = models.PositiveIntegerField()
    estimate_us = models.BigIntegerField(null=True)
    low_us = models.BigIntegerField(null=True)
    high_us = models.BigIntegerField(null=True)
    sentence = models.TextField()
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pairing", "region"], nulls_distinct=False, name="verdict_once_a_region")
        ]

    def __str__(self) -> str:
        return f"{self.pairing_id} in {self.region_id or 'all regions'}: {self.verdict}"
