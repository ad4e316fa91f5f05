"""When sites could not be reached."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from backend.alerts.judgement.samples import MAX_DETAIL_CHARS
from backend.alerts.states import State
from backend.sites.models import Monitor

_STATES = [(state.value, state.value) for state in (State.DEGRADED, State.FAILING)]


class Outage(models.Model):
    """A time in which a monitor could not reach its site: `failing`, or `degraded` from a part of the regions only.

    It is what the judge was sure of, whatever rules there are and whoever was told. `regions` are all that saw it,
    `run_id` is a run that shows it, and `why` what the first of its runs came to. One goes on, without an end, at a
    time.
    """

    monitor = models.ForeignKey(Monitor, on_delete=models.CASCADE, related_name="outages")
    state = models.CharField(max_length=10, choices=_STATES)
    regions = ArrayField(models.CharField(max_length=20), default=list)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    run_id = models.UUIDField(null=True)
    why = models.CharField(max_length=MAX_DETAIL_CHARS, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["monitor"], condition=Q(ended_at=None), name="outage_going_on_once")
        ]
        indexes = [models.Index(fields=["monitor", "-began_at"], name="outage_by_monitor")]

    def __str__(self) -> str:
        return f"{self.monitor_id} {self.state} since {self.began_at:%Y-%m-%d %H:%M:%S}"
