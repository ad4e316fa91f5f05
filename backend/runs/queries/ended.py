"""Ended runs by their ids, without what was measured."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from backend.accounts.models import Organisation
from backend.runs.models import Run
from backend.sites.models import Monitor

MAX_RUNS = 100


def ended_runs(organisation: Organisation, run_ids: Sequence[UUID]) -> list[Run]:
    """Those of at most 100 runs that have ended and are the organisation's, also by the id of their first attempt."""
    asked = list(run_ids[:MAX_RUNS])
    monitors = Monitor.objects.filter(site__organisation=organisation).values("pk")
    return list(Run.objects.filter(Q(run_id__in=asked) | Q(first_run_id__in=asked), monitor_id__in=monitors))
