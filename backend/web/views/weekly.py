"""How the sites were in a week."""

from datetime import date

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from backend.accounts.permissions import Permission
from backend.web import weekly_page
from backend.web.access import MemberRequest, needs
from backend.web.pagination import part_of
from backend.weekly.queries import newest_week, report_of, still_there, weeks_beside
from backend.weekly.report import Report
from backend.weekly.wording import day, headline

SITES_SHOWN = 100


@require_safe
@needs(Permission.READ)
def newest(request: MemberRequest) -> HttpResponse:
    """The last week that is over."""
    week = newest_week(request.organisation)
    if week is None:
        return render(request, "weekly/none.html", {"section": "sites"})
    return redirect("web:week", week)


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, week: date) -> HttpResponse:
    """One week: what is to be known of it, each site, and the alerts."""
    row = report_of(request.organisation, week)
    if row is None:
        raise Http404
    report = Report.from_json(row.document)
    there = still_there(request.organisation, report)
    before, after = weeks_beside(request.organisation, week)
    context = {
        "section": "sites",
        "week": day(report),
        "headline": headline(report),
        "is_bad": any(site.was_down or site.became_slower for site in report.sites),
        "tallies": list(weekly_page.tallies_of(report)),
        "part": part_of(request, weekly_page.rows_of(report, there), size=SITES_SHOWN),
        "alerts_told": weekly_page.alerts_of(report, there),
        "more_alerts": report.alert_count - len(report.alerts),
        "written_at": row.written_at,
        "before": before,
        "after": after,
    }
    return render(request, "weekly/week.html", context)
