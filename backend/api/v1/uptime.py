"""Uptime: for which part of a time a site could be reached, and each of its outages."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from django.utils import timezone
from ninja import Query, Router

from backend.accounts.permissions import Scope
from backend.alerts.models import Outage as Row
from backend.alerts.queries.uptime import outages_of, seen_of
from backend.alerts.states import State
from backend.analysis.uptime import uptime_in
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.paging import Cursor, Limit, moment_of, page_of
from backend.api.v1.series import check_period
from backend.api.v1.shapes import Instant, Ms, Out, Page
from backend.api.v1.sites import owned_site
from backend.instants import to_us

router = Router(tags=["Uptime"])

READ = needs(Scope.READ)
DEFAULT_SPAN = timedelta(days=30)


class Uptime(Out):
    """`share` is the part of the measured time in which the site was up, from 0 to 1; null where nothing was measured.
    Planned maintenance counts for nothing. `partly_ms` is how long it was down from some regions only, in which it
    counts as up. `outages` are the times in which it was down, by whichever of its monitors.
    """

    site_id: UUID
    since: datetime
    until: datetime
    share: float | None
    measured_ms: Ms
    down_ms: Ms
    partly_ms: Ms
    outages: int


class Outage(Out):
    """A time in which a monitor could not reach the site, from its first failed run to its first good one. `partly`:
    from these regions only. `run` shows it, as long as runs are kept.
    """

    monitor_id: UUID
    extent: Literal["down", "partly"]
    regions: list[str]
    began_at: datetime
    ended_at: datetime | None
    run: UUID | None
    why: str


@router.get("/sites/{uuid:site_id}/uptime", auth=READ, response=Uptime)
def get_uptime(
    request: ApiRequest,
    site_id: UUID,
    since: Annotated[Instant | None, Query(None, description="30 days before the end, unless told.")] = None,
    until: Annotated[Instant | None, Query(None, description="Now, unless told, and not later.")] = None,
) -> Uptime:
    """For which part of a time a site could be reached."""
    site, now = owned_site(request, site_id), timezone.now()
    end = min(until or now, now)
    begin = since or end - DEFAULT_SPAN
    check_period(begin, end)
    seen = seen_of(request.caller.organisation, [site], begin, end)[site.pk]
    found = uptime_in(seen, (to_us(begin), to_us(end)))
    return Uptime(
        site_id=site.public_id,
        since=begin,
        until=end,
        share=found.share,
        measured_ms=found.measured_us / 1_000,
        down_ms=found.down_us / 1_000,
        partly_ms=found.partly_us / 1_000,
        outages=found.outages,
    )


@router.get("/sites/{uuid:site_id}/outages", auth=READ, response=Page[Outage])
def list_outages(request: ApiRequest, site_id: UUID, limit: Limit = 50, cursor: Cursor = "") -> Page[Outage]:
    """Outages as each monitor of the site saw them, the newest first."""
    rows = outages_of(owned_site(request, site_id), before=moment_of(request, cursor), limit=limit + 1)
    return page_of(request, rows, Page[Outage], limit=limit, shape=_shape, key=_key)


def _key(row: Row) -> list[Any]:
    return [row.began_at.isoformat(), row.pk]


def _shape(row: Row) -> Outage:
    return Outage(
        monitor_id=row.monitor.public_id,
        extent="down" if row.state == State.FAILING else "partly",
        regions=row.regions,
        began_at=row.began_at,
        ended_at=row.ended_at,
        run=row.run_id,
        why=row.why,
    )
