"""One site: how it is now, how its phases went over time, and its last runs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from backend.accounts.models import Organisation
from backend.accounts.permissions import Permission
from backend.alerts.blind_agents import blindnesses
from backend.alerts.queries.channels import channels
from backend.alerts.queries.incidents import open_by_site
from backend.alerts.queries.sight import sight
from backend.alerts.queries.uptime import seen_of
from backend.fleet.models import Region
from backend.fleet.queries import regions_for
from backend.gates.queries import asked_of_runs
from backend.runs import tables
from backend.runs.diagnoses import open_findings
from backend.runs.models import Outcome
from backend.runs.queries import (
    RunFilter,
    SiteOverview,
    Wanted,
    gone_causes,
    newest_deep_runs,
    recent_runs,
    run_detail,
    series_of,
    site_overview,
)
from backend.runs.queries.series import RANGES, column_of
from backend.sites import queries as sites
from backend.sites.models import Monitor, Site
from backend.spreadsheets import csv_stream
from backend.web import trend, uptime_page
from backend.web.access import MemberRequest, needs, owned_site
from backend.web.channels import untold
from backend.web.findings import of_site
from backend.web.gone_causes import gone
from backend.web.overview import overview_of
from backend.web.pagination import time_before
from backend.web.run_page import Found, found_by
from backend.web.series import name_of, series_table
from backend.web.sight import sight_of
from workers.measurement.messages import Kind

RUNS_SHOWN, RUNS_IN_STRIP = 30, 120
# Beneath the chart; it draws all of them.
DEPLOYS_NAMED = 5


@require_safe
@needs(Permission.READ)
def findings(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """What is to be mended, by the newest deep probe of each region, and the checklist "Is TLS fast yet"."""
    site = owned_site(request, site_id)
    found = open_findings(newest_deep_runs(site))
    loaded = _loaded(request.organisation, site_overview(request.organisation, site))
    open_ids = {one.finding.id.value for one in found.findings}
    context = {
        "section": "sites",
        "site": site,
        "looks": found.looks,
        "panel": of_site(found),
        "loaded": loaded,
        "gone": list(gone(gone_causes(site), open_ids)),
    }
    return render(request, "sites/findings.html", context)


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """The verdict, the trend by region, the last runs; all choices stand in the URL."""
    site = owned_site(request, site_id)
    now = timezone.now()
    states = regions_for(request.organisation, now=now)
    incidents, blind = open_by_site(request.organisation, site), blindnesses(now).regions
    seen = site_overview(request.organisation, site)
    overview = overview_of(seen, states, incidents=incidents, blind=blind, now=now)
    monitors = {monitor.kind: monitor for monitor in site.monitors.all()}
    regions = [state.region for state in states]
    choice = trend.choice_of(request.GET, list(monitors.values()), regions)
    monitor = monitors[choice.kind]
    monitor.site = site
    found = open_findings(newest_deep_runs(site))
    row = overview.drawn(overview.rows)[0]
    context = {
        "section": "sites",
        "site": site,
        "row": row,
        # What was measured from a region stays, also where it is left out by now.
        "cells": [cell for cell in row.cells if cell.seen or _is_measured_from(cell.region, monitors.values())],
        "uptime": _uptime(site, now),
        "panel": of_site(found),
        "loaded": _loaded(request.organisation, seen),
        "looked_at": found.newest.deep.run.scheduled_for if found.newest else None,
        "monitor": monitor,
        "monitors": list(monitors.values()),
        "regions": regions,
        "choice": choice,
        "ranges": RANGES,
        "statistics": trend.STATISTICS,
        "metrics": [(metric, name_of(metric)) for metric in trend.offered(monitor)],
        "sight": sight_of(sight(site), choice.kind),
        "untold": untold(channels(request.organisation)),
        **_trend(monitor, choice, now),
        **_runs(monitor, _region(regions, choice), time_before(request)),
    }
    return render(request, "sites/site.html", context)


@require_safe
@needs(Permission.READ)
def runs(request: MemberRequest, site_id: UUID) -> StreamingHttpResponse:
    """Each run of a period for a spreadsheet, the newest first: of one monitor or region where the address names it."""
    site, now = owned_site(request, site_id), timezone.now()
    regions = [state.region for state in regions_for(request.organisation, now=now)]
    choice = trend.choice_of(request.GET, list(site.monitors.all()), regions)
    wanted = RunFilter(
        site_id=site.public_id,
        kind=choice.kind if "kind" in request.GET else None,
        region=choice.region or None,
        since=now - RANGES[choice.range],
    )
    blocks = tables.run_blocks(request.organisation, wanted, asked_of=asked_of_runs, now=now)
    return csv_stream(f"runs-{site.public_id}", tables.COLUMNS, blocks)


def _uptime(site: Site, now: datetime) -> uptime_page.Figures:
    seen = seen_of(site.organisation, [site], now - uptime_page.USUAL, now)[site.pk]
    return uptime_page.last(uptime_page.USUAL, seen, now)


def _loaded(organisation: Organisation, seen: Sequence[SiteOverview]) -> Found | None:
    """What the newest page load says, where it was measured; of one that others' work disturbed nobody knows what held
    it up."""
    lasts = (last.run for site in seen for one in site.monitors if one.monitor.kind == Kind.PAGE for last in one.last)
    measured = [run for run in lasts if run is not None and run.outcome == Outcome.MEASURED]
    if not measured:
        return None
    detail = run_detail(organisation, max(measured, key=lambda run: run.received_us).run_id)
    return None if detail is None or detail.run.contended else found_by(detail)


def _trend(monitor: Monitor, choice: trend.Choice, now: datetime) -> dict[str, object]:
    until = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    since = until - RANGES[choice.range]
    deploys = sites.deploys_between(monitor.site, since, until)
    wanted = Wanted(
        since=since,
        until=until,
        region=choice.region or None,
        metrics=[column_of(metric) for metric in choice.metrics],
        max_points=choice.max_points,
        quantile=choice.quantile,
    )
    series = trend.trend_of(series_of(monitor, wanted, now=now), choice, since, until, deploys)
    measured = any(one.points for one in series.regions)
    newest = [(one.at, trend.name_of(one)) for one in reversed(deploys[-DEPLOYS_NAMED:])]
    return {
        "series_data": asdict(series),
        "table": series_table(series),
        "measured": measured,
        "was_disturbed": any(point.disturbed for one in series.regions for point in one.points),
        "deploys": newest,
        "more_deploys": len(deploys) - len(newest),
    }


def _runs(monitor: Monitor, region: Region | None, before: datetime | None) -> dict[str, object]:
    lines = recent_runs(monitor, region, limit=RUNS_IN_STRIP, before=before)
    shown = lines[:RUNS_SHOWN]
    return {
        "lines": [(line, trend.main_us(line.run), trend.outcome_text(line.run)) for line in shown],
        "strips": trend.strips_of(lines),
        "disturbed": trend.disturbed_of(lines),
        "older": shown[-1].run.scheduled_for if len(lines) > RUNS_SHOWN else None,
        "main_name": trend.main_name(monitor.kind),
        "is_page": monitor.kind == Kind.PAGE,
        "is_newest": before is None,
    }


def _is_measured_from(region: Region, monitors: Iterable[Monitor]) -> bool:
    return any(not monitor.regions or region.code in monitor.regions for monitor in monitors)


def _region(regions: list[Region], choice: trend.Choice) -> Region | None:
    return next((region for region in regions if region.code == choice.region), None)
