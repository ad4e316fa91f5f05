"""When a site could be reached: by days and months, and each outage."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from backend.accounts.permissions import Permission
from backend.alerts.queries.uptime import outages_of, seen_of
from backend.fleet.queries import regions_for
from backend.spreadsheets import csv_file, csv_of
from backend.web import uptime_page
from backend.web.access import MemberRequest, needs, owned_site
from backend.web.pagination import position_before, position_of

OUTAGES_SHOWN = 50
# In a file: years of a site that is down every day.
MOST_OUTAGES = 10_000


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Shares of periods, days and months in the reader's time zone, and outages, the newest first."""
    site, now, zone = owned_site(request, site_id), timezone.now(), timezone.get_current_timezone()
    seen = seen_of(request.organisation, [site], uptime_page.needed_since(now, zone), now)[site.pk]
    names = {state.region.code: state.region.name for state in regions_for(request.organisation, now=now)}
    before = position_before(request)
    found = outages_of(site, before=before, limit=OUTAGES_SHOWN + 1)
    shown = found[:OUTAGES_SHOWN]
    context = {
        "section": "sites",
        "site": site,
        "periods": uptime_page.periods(seen, now),
        "days": uptime_page.days(seen, now, zone),
        "months": uptime_page.months(seen, now, zone),
        "outages": [uptime_page.line_of(outage, now, region_names=names) for outage in shown],
        "older": position_of(shown[-1].began_at, shown[-1].pk) if len(found) > OUTAGES_SHOWN else "",
        "is_newest": before is None,
        "zone": timezone.get_current_timezone_name(),
    }
    return render(request, "sites/uptime.html", context)


@require_safe
@needs(Permission.READ)
def export(request: MemberRequest, site_id: UUID, table: str) -> HttpResponse:
    """The days of a year, as the reader's calendar has them, or all outages, for a spreadsheet; the newest first."""
    site, now, zone = owned_site(request, site_id), timezone.now(), timezone.get_current_timezone()
    name = f"{table}-{site.public_id}"
    if table == "outages":
        outages = outages_of(site, limit=MOST_OUTAGES)
        return csv_file(name, csv_of(uptime_page.OUTAGE_COLUMNS, map(uptime_page.outage_cells, outages)))
    if table != "uptime":
        raise Http404
    seen = seen_of(request.organisation, [site], uptime_page.needed_since(now, zone), now)[site.pk]
    return csv_file(name, csv_of(uptime_page.DAY_COLUMNS, uptime_page.day_cells(seen, now, zone)))
