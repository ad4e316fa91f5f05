"""Agents that are heard of and see nothing, as the judge found out."""

from django.db import models

from backend.alerts.judgement.blindness import Why
from backend.fleet.models import Region


class Blindness(models.Model):
    """An agent, or with no name a whole region, whose runs say nothing of any site (see `judgement.blindness`).

    From `since` to `until`, which is null while it goes on. `noted_at` is when it was found out, by a judge that has
    looked again and again up to `looked_at`.
    """

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    agent = models.TextField(default="")
    why = models.CharField(max_length=8, choices=[(why.value, why.value) for why in Why])
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    noted_at = models.DateTimeField()
    looked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["region", "agent", "why"], condition=models.Q(until=None), name="blind_once"
            ),
        ]
        verbose_name_plural = "blindnesses"

    def __str__(self) -> str:
        return f"{self.agent or 'all agents'} in {self.region_id}: {self.why} since {self.since:%Y-%m-%d %H:%M:%S}"
