"""Weekly reports: how the sites were in each week."""

from datetime import date, datetime

from ninja import Router

import backend.days_in_addresses  # noqa: F401  # for `{date:week}`
from backend.accounts.permissions import Scope
from backend.analysis.weeks import Course, MonitorWeek
from backend.analysis.weeks import RegionWeek as StoredRegion
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.paging import Cursor, Limit, page_of, position_of
from backend.api.v1.problems import existing
from backend.api.v1.shapes import Ms, Out, Page
from backend.weekly.models import WeeklyReport as Row
from backend.weekly.queries import report_of, reports
from backend.weekly.report import Report, SiteWeek

router = Router(tags=["Weekly reports"])

READ = needs(Scope.READ)


class RegionChange(Out):
    """The median days of a region in this week and, of the same days, in the week before."""

    region: str
    now_ms: Ms
    before_ms: Ms | None


class Speed(Out):
    """The median of the medians of the week's days, averaged over regions. `before_ms` and `course` are null where
    there are not six days to compare in both weeks. `slower` and `faster` are the regions where each day was so.
    """

    now_ms: Ms
    before_ms: Ms | None
    course: Course | None
    slower: list[RegionChange]
    faster: list[RegionChange]


class SiteInWeek(Out):
    """A site. `share` is its uptime from 0 to 1; null where nothing was measured, as are first byte and paint. `cause`
    is the finding to mend first as the report was written, null where there was none.
    """

    site_id: str
    name: str
    url: str
    share: float | None
    share_before: float | None
    down_ms: Ms
    partly_ms: Ms
    outages: int
    alerts: int
    first_byte: Speed | None
    largest_paint: Speed | None
    cause: str | None
    cause_saving_ms: Ms | None


class WeekLine(Out):
    """A week by its Monday, by UTC, and what it comes to in a sentence."""

    week: date
    written_at: datetime
    headline: str
    down: int
    slower: int
    faster: int
    alerts: int


class WeeklyReport(WeekLine):
    """All of it; sites that need attention come first."""

    sites: list[SiteInWeek]


@router.get("/weekly-reports", auth=READ, response=Page[WeekLine])
def list_weekly_reports(request: ApiRequest, limit: Limit = 50, cursor: Cursor = "") -> Page[WeekLine]:
    """The weeks that are over, the newest first."""
    position = position_of(request, cursor)
    before = None if position is None else date.fromisoformat(position[0])
    rows = reports(request.caller.organisation, before=before, limit=limit + 1)
    return page_of(request, rows, Page[WeekLine], limit=limit, shape=_line, key=lambda row: [row.week.isoformat()])


@router.get("/weekly-reports/{date:week}", auth=READ, response=WeeklyReport)
def get_weekly_report(request: ApiRequest, week: date) -> WeeklyReport:
    """One week, by its Monday."""
    row = existing(report_of(request.caller.organisation, week), "There is no report of a week that begins then.")
    sites = [_site(site) for site in Report.from_json(row.document).sites]
    return WeeklyReport(**dict(_line(row)), sites=sites)


def _line(row: Row) -> WeekLine:
    return WeekLine(week=row.week, written_at=row.written_at, **row.line)


def _site(site: SiteWeek) -> SiteInWeek:
    saving_us = site.cause.saving_us if site.cause else None
    return SiteInWeek(
        site_id=site.site_id,
        name=site.name,
        url=site.url,
        share=site.uptime.share,
        share_before=site.uptime.before,
        down_ms=site.uptime.down_us / 1_000,
        partly_ms=site.uptime.partly_us / 1_000,
        outages=site.uptime.outages,
        alerts=site.alerts,
        first_byte=_speed(site.probe),
        largest_paint=_speed(site.page),
        cause=site.cause.finding if site.cause else None,
        cause_saving_ms=None if saving_us is None else saving_us / 1_000,
    )


def _speed(week: MonitorWeek | None) -> Speed | None:
    if week is None:
        return None
    return Speed(
        now_ms=week.now_us / 1_000,
        before_ms=_ms(week.before_us),
        course=week.course,
        slower=[_region(one) for one in week.slower],
        faster=[_region(one) for one in week.faster],
    )


def _region(one: StoredRegion) -> RegionChange:
    return RegionChange(region=one.region, now_ms=one.now_us / 1_000, before_ms=_ms(one.before_us))


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1_000
