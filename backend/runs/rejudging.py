"""Findings of stored page runs made anew after an owner has said whose hosts are whose, the newest first.

Lists and rules read rows, and a run's own page judges what was seen: both must say the same.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import Error, connection, transaction

from backend.kept import retention_start
from backend.runs.models import Finding, Run
from backend.runs.owners import page_findings, words_of
from backend.runs.queries.documents import documents_of, result_in
from backend.runs.rows import FINDING_COLUMNS, Row
from backend.runs.store import copy_rows
from backend.sites.models import Monitor, MonitorKind, Site

log = logging.getLogger(__name__)

# About a second of a processor; then other duties may.
AT_ONCE = 40
BETWEEN_S, IDLE_S = 0.5, 5.0


def step() -> float:
    """Judges a few runs of one site anew; the seconds to wait before the next step."""
    return BETWEEN_S if judge_some() else IDLE_S


@transaction.atomic
def judge_some() -> bool:
    """Whether there was a site whose runs are to be judged anew. Others may do it for other sites at once."""
    waiting = Site.objects.filter(rejudge_before__isnull=False).order_by("rejudge_before")
    site = waiting.select_for_update(skip_locked=True, no_key=True).first()
    if site is None or site.rejudge_before is None:
        return False
    monitors = list(Monitor.objects.filter(site=site, kind=MonitorKind.PAGE).values_list("pk", flat=True))
    deep = Run.objects.filter(
        monitor_id__in=monitors,
        depth="deep",
        scheduled_for__lte=site.rejudge_before,
        scheduled_for__gte=retention_start(site.rejudge_before),
    )
    runs = list(deep.order_by("-scheduled_for", "-run_id")[:AT_ONCE])
    _judge(runs)
    site.rejudge_before = _next(runs, site.rejudge_before)
    site.save(update_fields=["rejudge_before"])
    return True


def _next(runs: Sequence[Run], before: datetime) -> datetime | None:
    """From where to go on; None when all are done. Of one instant there may be more runs, so it is looked at again."""
    if len(runs) < AT_ONCE:
        return None
    last = runs[-1].scheduled_for
    return last if last < before else last - timedelta(microseconds=1)


def _judge(runs: Sequence[Run]) -> None:
    """All at once; where that fails, one by one: a run that cannot be judged keeps no other, and no site, from it."""
    if not _is_judged(runs):
        for run in runs:
            _is_judged([run])


def _is_judged(runs: Sequence[Run]) -> bool:
    try:
        with transaction.atomic():
            _put_anew(runs)
    except Exception as error:
        if isinstance(error, Error) and not connection.is_usable():
            raise
        log.exception("the findings of %s stay as they are", ", ".join(f"run {run.run_id}" for run in runs))
        return False
    return True


def _put_anew(runs: Sequence[Run]) -> None:
    said = words_of({run.monitor_id for run in runs})
    documents = documents_of(runs)
    rows: list[Row] = []
    for run in runs:
        result = result_in(documents.get(run.run_id), of=f"run {run.run_id}")
        found = None if result is None else page_findings(result, said.get(run.monitor_id, {}))
        if found is not None:
            Finding.objects.filter(run_id=run.run_id, scheduled_for=run.scheduled_for).delete()
            rows += [(run.run_id, run.scheduled_for, run.monitor_id, run.region_id, *one) for one in found]
    if rows:
        copy_rows(Finding, FINDING_COLUMNS, rows)
