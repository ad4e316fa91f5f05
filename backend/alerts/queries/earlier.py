"""The earlier runs that one is usually compared with."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Min, Q, QuerySet

from backend.alerts.models import Cause, Incident
from backend.kept import retention_start
from backend.runs.models import ELSEWHERE, Outcome, Run

# During these a site does not show what it usually does. A certificate that runs out slows nothing down.
_DISTURBING = (Cause.AVAILABILITY, Cause.SPEED, Cause.CDN)
_WEEK = timedelta(days=7)
# Of the same time of day, as far as a monitor's pauses let it be.
_SLACK = timedelta(hours=6)
# A site that is disturbed more often has no good time that could be told apart.
_MAX_SPANS = 50

Span = tuple[datetime, datetime]


class Earlier(StrEnum):
    """`last_good` is the newest before the incidents of the site that go on, or went on, when the run was made."""

    PREVIOUS = "previous"
    LAST_GOOD = "last_good"
    WEEK_BEFORE = "week_before"


def earlier_runs(run: Run, site_id: int) -> Mapping[Earlier, Run]:
    """Those there are, of the same monitor and region. Each measured something; gates' are left out. Five statements.

    Of a run whose profile was not kept, or whose machine was busy, nobody can say what it measured, so it is none of
    them either.
    """
    since = retention_start(run.scheduled_for)
    measured, before = _measured(run), _measured_before(run)
    found = {
        Earlier.PREVIOUS: _newest(before),
        Earlier.LAST_GOOD: _newest(_undisturbed(before, disturbed(site_id, since, run.scheduled_for))),
        Earlier.WEEK_BEFORE: _nearest(measured, run.scheduled_for - _WEEK),
    }
    return {word: one for word, one in found.items() if one is not None}


def previous_run(run: Run) -> Run | None:
    """The first of them alone. One statement."""
    return _newest(_measured_before(run))


def _measured(run: Run) -> "QuerySet[Run]":
    return Run.objects.filter(
        Q(profile_verified=None) | Q(profile_verified=True),
        monitor_id=run.monitor_id,
        region_id=run.region_id,
        outcome=Outcome.MEASURED,
    ).exclude(Q(trigger__in=ELSEWHERE) | Q(contended=True))


def _measured_before(run: Run) -> "QuerySet[Run]":
    since = retention_start(run.scheduled_for)
    return _measured(run).filter(scheduled_for__lt=run.scheduled_for, scheduled_for__gte=since)


def disturbed(site_id: int, since: datetime, until: datetime) -> list[Span]:
    """When incidents of a site went on, from when what they are about began, within the window. One statement."""
    touching = Q(resolved_at=None) | Q(resolved_at__gt=since)
    incidents = Incident.objects.filter(touching, site=site_id, cause__in=_DISTURBING, opened_at__lt=until)
    spans = []
    for incident in incidents.annotate(begun_at=Min("members__since")).order_by("opened_at"):
        begun = min(incident.opened_at, incident.begun_at or incident.opened_at)
        spans.append((max(begun, since), min(incident.resolved_at or until, until)))
    return spans


def _undisturbed(runs: "QuerySet[Run]", spans: Sequence[Span]) -> "QuerySet[Run]":
    newest = sorted(spans)[-_MAX_SPANS:]
    if len(newest) < len(spans):
        runs = runs.filter(scheduled_for__gte=newest[0][0])
    for since, until in newest:
        runs = runs.exclude(scheduled_for__gte=since, scheduled_for__lt=until)
    return runs


def _newest(runs: "QuerySet[Run]") -> Run | None:
    return runs.order_by("-scheduled_for", "-attempt").first()


def _nearest(runs: "QuerySet[Run]", at: datetime) -> Run | None:
    before = _newest(runs.filter(scheduled_for__lte=at, scheduled_for__gte=at - _SLACK))
    after = runs.filter(scheduled_for__gt=at, scheduled_for__lte=at + _SLACK).order_by("scheduled_for").first()
    both = [one for one in (before, after) if one is not None]
    return min(both, key=lambda one: abs(one.scheduled_for - at), default=None)
