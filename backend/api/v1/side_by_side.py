"""Sites side by side: who is quickest, by how much, and where the time goes."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.utils import timezone
from ninja import Query, Router

from backend.accounts.permissions import Scope
from backend.alerts.metrics import METRICS, measured_by
from backend.analysis.side_by_side import Difference as FoundDifference
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.problems import NOT_FOUND, ProblemError, invalid
from backend.api.v1.shapes import Ms, Out, RegionCode
from backend.runs.queries.series import METRICS as CHARTED
from backend.runs.queries.series import RANGES, column_of
from backend.runs.queries.side_by_side import DEFAULT_RANGE, MAX_SITES, PARTS, Asked, Seen, side_by_side
from backend.runs.queries.side_by_side import SideBySide as Found
from backend.sites.models import Monitor
from backend.sites.queries import monitors_of, sites_with_ids

router = Router(tags=["Series"])

_SITES = f"Two to {MAX_SITES}: `site` may stand there as often."
_RANGE = f"One of {', '.join(RANGES)}. From 7d on it is judged who is quickest."
_METRIC = "Such as `ttfb_ms`, that and `lcp_ms` of pages unless told."


class SiteDifference(Out):
    """How much longer the site takes than the first of the list; below zero where it is quicker. `low_ms` to `high_ms`
    holds the truth, of all sites of a column together, with 95 %; `least_ms` would have been told from none four times
    in five.
    """

    value_ms: Ms
    low_ms: Ms
    high_ms: Ms
    least_ms: Ms


class Parts(Out):
    """Medians of the phases."""

    dns_ms: Ms | None
    connect_ms: Ms | None
    tls_ms: Ms | None
    wait_ms: Ms | None
    download_ms: Ms | None


class SiteFrom(Out):
    """A site from a region. Where it is `compared`, the median is of the hours or days in which all were measured that
    can be compared, and else of all of its own. The difference is null for the first site, and where none can be said.
    """

    region: str
    compared: bool
    median_ms: Ms | None
    runs: int
    failed: int
    difference: SiteDifference | None


class SiteBeside(Out):
    """A site. `median_ms`, `phases` and `difference` are from all regions that are compared, each of which counts as
    much; null where it is not compared.
    """

    site_id: UUID
    name: str
    monitor_id: UUID
    compared: bool
    median_ms: Ms | None
    phases: Parts | None
    difference: SiteDifference | None
    regions: list[SiteFrom]


class SideBySide(Out):
    """`sites` are in order, the quickest first, those at the end that could not be compared. `quickest` is null where
    it cannot be told: the range is shorter than a week, a monitor runs more seldom than each four hours (neither is
    `judged`), too little was measured, the intervals hold zero, or the monitors are equipped differently, as `unlike`
    says.
    """

    since: datetime
    until: datetime
    kind: Literal["probe", "page"]
    metric: str
    judged: bool
    unlike: list[str]
    regions: list[str]
    quickest: UUID | None
    sites: list[SiteBeside]


@router.get("/side-by-side", auth=needs(Scope.READ), response=SideBySide)
def get_side_by_side(
    request: ApiRequest,
    site: Annotated[list[UUID], Query(..., min_length=2, max_length=MAX_SITES, description=_SITES)],
    kind: Literal["probe", "page"] = "probe",
    metric: Annotated[str, Query("", max_length=40, description=_METRIC)] = "",
    range: Annotated[str, Query(DEFAULT_RANGE, max_length=10, description=_RANGE)] = DEFAULT_RANGE,
    region: RegionCode | None = None,
) -> SideBySide:
    """Which of several sites is quickest, over the same hours from the same regions, and by how much."""
    wanted = metric or ("lcp_ms" if kind == "page" else "ttfb_ms")
    if wanted not in METRICS or column_of(wanted) not in CHARTED or not measured_by(wanted, kind):
        raise invalid("?metric", f"A {kind} has no such time.")
    if range not in RANGES:
        raise invalid("?range", f"Choose one of {', '.join(RANGES)}.")
    asked = Asked(range=range, metric=column_of(wanted), region=region)
    found = side_by_side(_monitors(request, site, kind), asked, now=timezone.now())
    behind = found.behind
    return SideBySide(
        since=found.since,
        until=found.until,
        kind=kind,
        metric=wanted,
        judged=found.plan.is_judged,
        unlike=list(found.unlike),
        regions=[one.code for one in found.compared],
        quickest=found.quickest.site.public_id if found.quickest else None,
        sites=[_site(found, one, behind.get(one.pk)) for one in found.sites],
    )


def _monitors(request: ApiRequest, ids: list[UUID], kind: str) -> list[Monitor]:
    """Of each of the caller's own sites. Raises ProblemError where one is not there."""
    sites = sites_with_ids(request.caller.organisation, ids)
    if len(sites) != len(set(ids)):
        raise ProblemError(NOT_FOUND, "One of these sites is not there.")
    monitors = monitors_of(sites, kind)
    if len(sites) < 2 or len(monitors) != len(sites):
        raise invalid("?site", f"Two different sites or more are needed, each with a monitor of the kind {kind}.")
    return monitors


def _site(found: Found, monitor: Monitor, difference: FoundDifference | None) -> SiteBeside:
    is_compared = monitor in found.rivals and bool(found.compared)
    phases = dict(zip(_PHASES, map(_ms, found.phases_us(monitor.pk)), strict=True)) if is_compared else None
    return SiteBeside(
        site_id=monitor.site.public_id,
        name=monitor.site.name,
        monitor_id=monitor.public_id,
        compared=is_compared,
        median_ms=_ms(found.median_us(monitor.pk)) if is_compared else None,
        phases=Parts(**phases) if phases else None,
        difference=_difference(difference),
        regions=[
            _from(one.code, seen, found.beside(found.sites[0].pk, one.pk).get(monitor.pk))
            for one in found.regions
            if (seen := found.seen.get((monitor.pk, one.pk))) is not None
        ],
    )


def _from(code: str, seen: Seen, difference: FoundDifference | None) -> SiteFrom:
    return SiteFrom(
        region=code,
        compared=seen.is_compared,
        median_ms=_ms(seen.median_us),
        runs=seen.runs,
        failed=seen.failed,
        difference=_difference(difference),
    )


def _difference(found: FoundDifference | None) -> SiteDifference | None:
    if found is None:
        return None
    return SiteDifference(
        value_ms=found.value_us / 1_000,
        low_ms=found.low_us / 1_000,
        high_ms=found.high_us / 1_000,
        least_ms=found.least_us / 1_000,
    )


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1_000


_PHASES = tuple(f"{name.removesuffix('_us')}_ms" for name in PARTS)
