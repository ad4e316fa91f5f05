"""Hosts of a site: what they are to it, why we think so, and what they cost a page load."""

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from django.utils import timezone
from ninja import Query, Router
from pydantic import Field

from backend.api.v1.access import ApiRequest
from backend.api.v1.problems import existing, invalid
from backend.api.v1.shapes import Bytes, In, Ms, Out
from backend.api.v1.sites import READ, WRITE, owned_site
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.runs.queries import HostCosts, host_costs
from backend.sites import queries
from backend.sites.hosts import choose_role
from backend.sites.models import Host as HostRow
from backend.sites.models import HostRole, Site
from workers.measurement.document import milliseconds
from workers.measurement.messages import Kind

router = Router(tags=["Hosts"])

PERIOD = timedelta(hours=24)


class CostsOfHost(Out):
    """Of the page loads of the last 24 h that spoke to it: means of one load, medians of new connections."""

    loads: int
    requests_per_load: float
    connections_per_load: float
    bytes_per_load: Bytes | None
    dns_ms: Ms | None
    connect_ms: Ms | None
    tls_ms: Ms | None
    protocol: str | None
    tls_version: str | None
    certificate_not_after: datetime | None


class Host(Out):
    """`role` is what somebody chose, else what is proposed; `evidence` says why it is proposed. One that no page has
    asked for yet was seen never.
    """

    name: str
    role: HostRole
    proposed: HostRole
    chosen: HostRole | None
    evidence: list[str]
    first_seen_at: datetime | None
    last_seen_at: datetime | None
    costs: CostsOfHost | None


class HostList(Out):
    """All of them at once: a page speaks to few."""

    items: list[Host]


class RoleChange(In):
    role: HostRole | None = Field(description="What the host is; null goes back to what is proposed.")


@router.get("/sites/{uuid:site_id}/hosts", auth=READ, response=HostList)
def list_hosts(
    request: ApiRequest,
    site_id: UUID,
    region: Annotated[str, Query("", max_length=20, description="Costs only of loads from this region.")] = "",
) -> HostList:
    """The hosts that the site's page loads spoke to, by name."""
    site = owned_site(request, site_id)
    costs = {one.host: one for one in _costs(site, _regions(request, region))}
    return HostList(items=[_shape(host, costs.get(host.name)) for host in queries.hosts(site)])


@router.patch("/sites/{uuid:site_id}/hosts/{name}", auth=WRITE, response=Host)
def choose_host_role(request: ApiRequest, site_id: UUID, name: str, change: RoleChange) -> Host:
    """Says what a host is to the site. It stays, whatever is proposed later."""
    host = queries.host(request.caller.organisation, site_id, name)
    chosen = choose_role(actor=request.caller.actor, host=existing(host, "There is no such host."), role=change.role)
    costs = _costs(owned_site(request, site_id), usable_regions(request.caller.organisation))
    return _shape(chosen, next((one for one in costs if one.host == name), None))


def _regions(request: ApiRequest, code: str) -> list[Region]:
    regions = usable_regions(request.caller.organisation)
    if not code:
        return regions
    found = [region for region in regions if region.code == code]
    if not found:
        raise invalid("?region", "There is no such region.")
    return found


def _costs(site: Site, regions: list[Region]) -> list[HostCosts]:
    monitor = next((one for one in site.monitors.all() if one.kind == Kind.PAGE), None)
    return [] if monitor is None else host_costs(monitor, regions, timezone.now() - PERIOD)


def _shape(host: HostRow, costs: HostCosts | None) -> Host:
    return Host(
        name=host.name,
        role=host.role,
        proposed=HostRole(host.proposed),
        chosen=HostRole(host.chosen) if host.chosen else None,
        evidence=list(host.evidence),
        first_seen_at=host.first_seen_at,
        last_seen_at=host.last_seen_at,
        costs=None if costs is None else _costs_shape(costs),
    )


def _costs_shape(costs: HostCosts) -> CostsOfHost:
    return CostsOfHost(
        loads=costs.loads,
        requests_per_load=round(costs.requests_a_load, 2),
        connections_per_load=round(costs.connections_a_load, 2),
        bytes_per_load=costs.bytes_a_load,
        dns_ms=milliseconds(costs.dns_us),
        connect_ms=milliseconds(costs.connect_us),
        tls_ms=milliseconds(costs.tls_us),
        protocol=costs.protocol,
        tls_version=costs.tls_version,
        certificate_not_after=costs.certificate_not_after,
    )
