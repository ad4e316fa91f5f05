"""What became of runs that were asked for: a run that was lost may end as a second attempt."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from backend.runs.models import PendingRun, Run

# Clocks of two of our processes; the slot of a run is when it was asked for.
SLACK = timedelta(minutes=5)


def requested_runs(run_ids: Sequence[UUID], *, since: datetime) -> tuple[frozenset[UUID], dict[UUID, Run]]:
    """Which of the runs, asked for since then, are under way, and those that have ended; each by the id that was asked
    for, of two attempts the later one. Two statements.
    """
    either = Q(run_id__in=run_ids) | Q(first_run_id__in=run_ids)
    # In this order: what ends between the two is found by both, and else by neither.
    pending = PendingRun.objects.filter(either)
    under_way = frozenset(first or own for own, first in pending.values_list("run_id", "first_run_id"))
    ended = Run.objects.filter(either, scheduled_for__gte=since - SLACK).order_by("attempt")
    return under_way, {run.first_run_id or run.run_id: run for run in ended}
