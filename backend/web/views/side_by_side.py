"""Sites side by side: who is quickest, by how much, and where the time goes."""

from dataclasses import asdict
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from backend.accounts.permissions import Permission
from backend.fleet.queries import usable_regions
from backend.runs.queries.series import RANGES, column_of
from backend.runs.queries.side_by_side import MAX_REGIONS, MAX_SITES, Asked, SideBySide, side_by_side
from backend.sites import queries
from backend.sites.models import MonitorKind, Site
from backend.web.access import MemberRequest, needs
from backend.web.series import METRIC_NAMES, metrics_of, series_table
from backend.web.side_by_side import KINDS, SideChoice, choice_of, page_of, series_of


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest) -> HttpResponse:
    """All choices stand in the URL; with fewer than two sites the page asks for more."""
    sites = _named(request)
    regions = usable_regions(request.organisation)
    choice = choice_of(request.GET, sites, regions)
    monitors = queries.monitors_of(sites, choice.kind)
    offered = queries.active_sites(request.organisation)
    context = {
        "section": "sites",
        "choice": choice,
        "chosen": [(site, choice.without(str(site.public_id))) for site in sites],
        "offered": [site for site in offered if site not in sites] if len(sites) < MAX_SITES else [],
        "kinds": [(kind.value, kind.label) for kind in KINDS],
        "regions": regions,
        "has_more_regions": not choice.region and len(regions) > MAX_REGIONS,
        "most_regions": MAX_REGIONS,
        "ranges": RANGES,
        "metrics": [(metric, METRIC_NAMES[metric]) for metric in metrics_of(choice.kind)],
        "absent": [site for site in sites if all(one.site_id != site.pk for one in monitors)],
        "kind_name": MonitorKind(choice.kind).label,
    }
    if len(monitors) > 1:
        found = side_by_side(monitors, _asked(choice), now=timezone.now())
        context |= {"page": page_of(found, choice), **_chart(found, choice, sites[0])}
    return render(request, "sites/side_by_side.html", context)


def _named(request: MemberRequest) -> list[Site]:
    """The sites that the address names."""
    try:
        ids = list(dict.fromkeys(UUID(text) for text in request.GET.getlist("site") if text))
    except ValueError as error:
        raise Http404 from error
    sites = queries.sites_with_ids(request.organisation, ids[: MAX_SITES + 1])
    if len(sites) != len(ids) or len(ids) > MAX_SITES:
        raise Http404
    return sites


def _asked(choice: SideChoice) -> Asked:
    return Asked(
        range=choice.range,
        metric=column_of(choice.metric),
        region=choice.region or None,
    )


def _chart(found: SideBySide, choice: SideChoice, mine: Site) -> dict[str, object]:
    """The deploys are those of the site that the address names first."""
    series = series_of(found, choice, queries.deploys_between(mine, found.since, found.until))
    return {
        "series_data": asdict(series),
        "table": series_table(series),
        "measured": any(one.points for one in series.regions),
        "has_deploys": bool(series.deploys),
        "places": found.compared or found.regions,
    }
