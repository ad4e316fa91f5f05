"""What is read about reports of weeks."""

from collections.abc import Sequence
from datetime import date

from backend.accounts.models import Organisation
from backend.alerts.models import Incident
from backend.sites.models import Site
from backend.weekly.models import WeeklyReport
from backend.weekly.report import Report


def newest_week(organisation: Organisation) -> date | None:
    """The last week of which there is a report. One statement."""
    found = WeeklyReport.objects.filter(organisation=organisation).order_by("-week")
    return found.values_list("week", flat=True).first()


def report_of(organisation: Organisation, week: date) -> WeeklyReport | None:
    """The one of a week, by its Monday. One statement."""
    return WeeklyReport.objects.filter(organisation=organisation, week=week).first()


def reports(organisation: Organisation, *, before: date | None, limit: int) -> Sequence[WeeklyReport]:
    """The newest first, of weeks before one, without their documents, which are long. One statement."""
    found = WeeklyReport.objects.filter(organisation=organisation).defer("document")
    return list((found if before is None else found.filter(week__lt=before)).order_by("-week")[:limit])


def still_there(organisation: Organisation, report: Report) -> frozenset[str]:
    """The ids of its sites and alerts that were not deleted since. Two statements."""
    sites = Site.objects.filter(organisation=organisation, public_id__in=[one.site_id for one in report.sites])
    alerts = Incident.objects.filter(
        organisation=organisation, public_id__in=[one.incident_id for one in report.alerts]
    )
    return frozenset(str(pk) for found in (sites, alerts) for pk in found.values_list("public_id", flat=True))


def weeks_beside(organisation: Organisation, week: date) -> tuple[date | None, date | None]:
    """The weeks before and after one of which there are reports. Two statements."""
    found = WeeklyReport.objects.filter(organisation=organisation)
    before = found.filter(week__lt=week).order_by("-week").values_list("week", flat=True).first()
    after = found.filter(week__gt=week).order_by("week").values_list("week", flat=True).first()
    return before, after
