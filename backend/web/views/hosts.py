"""Who costs what: the hosts a site's pages speak to."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.runs.queries import HostCosts, host_costs
from backend.runs.queries.series import RANGES
from backend.sites import queries as sites
from backend.sites.hosts import choose_role
from backend.sites.models import HostRole, Site
from backend.web.access import MemberRequest, needs, owned_site
from backend.web.hosts import hosts_of
from workers.measurement.messages import Kind
from workers.measurement.web_address import host_of

PERIODS = ("24h", "7d", "30d")


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """One row a host; region and period stand in the URL."""
    site = owned_site(request, site_id)
    now = timezone.now()
    regions = usable_regions(request.organisation)
    chosen = next((region for region in regions if region.code == request.GET.get("region")), None)
    period = request.GET.get("range", "")
    period = period if period in PERIODS else PERIODS[0]
    costs = costs_of(site, [chosen] if chosen else regions, period)
    context = {
        "section": "sites",
        "tab": "hosts",
        "site": site,
        "regions": regions,
        "region": chosen,
        "periods": PERIODS,
        "period": period,
        "roles": HostRole.choices,
        "own_host": host_of(site.url),
        "hosts": hosts_of(sites.hosts(site), costs, now),
    }
    return render(request, "sites/hosts.html", context)


@require_POST
@needs(Permission.EDIT_SITES)
def choose(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """The owner says what a host is; an empty role goes back to the proposal."""
    host = sites.host(request.organisation, site_id, request.POST.get("host", ""))
    role = request.POST.get("role", "")
    if host is None or (role and role not in HostRole.values):
        raise Http404
    choose_role(actor=request.user, host=host, role=HostRole(role) if role else None)
    word = f"is {HostRole(role).label} from now on" if role else "is what it seems to be again"
    messages.success(request, f"{host.name} {word}.")
    return redirect(f"{reverse('web:hosts', args=[site_id])}#hosts")


def costs_of(site: Site, regions: list[Region], period: str) -> list[HostCosts]:
    """What the site's hosts cost its page loads in a period by its name in RANGES."""
    monitor = next((one for one in site.monitors.all() if one.kind == Kind.PAGE), None)
    return [] if monitor is None else host_costs(monitor, regions, timezone.now() - RANGES[period])
