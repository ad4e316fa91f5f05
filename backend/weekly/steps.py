"""Reports of the week that is over, written and told once. Any number of processes may do it."""

import logging
from dataclasses import asdict
from datetime import date, datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from backend.accounts.models import Organisation
from backend.accounts.room import hold
from backend.alerts.models import Channel
from backend.alerts.notices import tell
from backend.alerts.turns import Apart
from backend.runs.models import Rollup
from backend.runs.queries.days import DAY_S
from backend.runs.queries.rollups import is_rolled_up
from backend.sites.models import SiteStatus
from backend.weekly.collecting import METRICS, collect
from backend.weekly.models import WeeklyReport
from backend.weekly.report import WEEK, Report, begin_of, last_week
from backend.weekly.wording import line_of, message_of

log = logging.getLogger(__name__)

IDLE_S = 300.0
DAY = timedelta(days=1)
# What was measured late comes within hours.
SETTLES = timedelta(hours=6)
# Who looks back further has the uptime of months and the charts.
KEPT, FORGET_AT_ONCE = timedelta(weeks=104), 500


def step(now: datetime | None = None) -> float:
    """Writes what is due; the seconds to wait before the next step."""
    now = now or timezone.now()
    week = last_week(now)
    if _is_settled(week, now):
        for organisation in _lacking(week):
            with Apart(log, "the week of organisation %s cannot be told; it is tried again", organisation.public_id):
                write(organisation, week, now=now)
        forget(last_week(now - KEPT))
    return IDLE_S


def write(organisation: Organisation, week: date, *, now: datetime) -> WeeklyReport | None:
    """Writes a week down and tells the channels that want to hear of it; None where somebody did so meanwhile, or
    nothing was measured."""
    report = collect(organisation, week)
    return _written(organisation, report, now) if report.sites else None


def forget(before: date) -> None:
    """Deletes reports of earlier weeks, a bounded number at a time."""
    old = WeeklyReport.objects.filter(week__lt=before).order_by("week").values_list("pk", flat=True)
    WeeklyReport.objects.filter(pk__in=list(old[:FORGET_AT_ONCE])).delete()


def keep(organisation: Organisation, report: Report, now: datetime) -> WeeklyReport:
    """The report as it is read for years."""
    return WeeklyReport.objects.create(
        organisation=organisation,
        week=report.week,
        written_at=now,
        line=asdict(line_of(report)),
        document=report.to_json(),
    )


@transaction.atomic
def _written(organisation: Organisation, report: Report, now: datetime) -> WeeklyReport | None:
    hold(organisation)
    if WeeklyReport.objects.filter(organisation=organisation, week=report.week).exists():
        return None
    row = keep(organisation, report, now)
    wanting = Channel.objects.filter(organisation=organisation, enabled=True, weekly=True)
    if wanting.exists():
        message = message_of(report, row.public_id)
        tell(organisation=organisation, about=row.public_id, message=message, channels=wanting)
    return row


def _is_settled(week: date, now: datetime) -> bool:
    """Whether nothing more is to come of the week's days. After a pause of the service, agents first tell what they
    kept, and then it is rolled up."""
    end = begin_of(week + WEEK)
    return now >= end + SETTLES and is_rolled_up(end, DAY)


def _lacking(week: date) -> "QuerySet[Organisation]":
    """Of whose sites a report would tell something, and that have none of it. Runs that were missed tell nothing."""
    begin = begin_of(week)
    days = Rollup.objects.filter(width_s=DAY_S, at__gte=begin, at__lt=begin + WEEK)
    told = days.exclude(measured=0, failed=0).filter(monitor__kind__in=METRICS)
    measured = Exists(told.filter(monitor__site__organisation=OuterRef("pk"), monitor__site__status=SiteStatus.ACTIVE))
    return Organisation.objects.filter(measured).exclude(weekly_reports__week=week).order_by("pk")
