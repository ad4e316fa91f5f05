"""Gates: which releases were judged, one verdict in full, and the deploys of a site."""

from uuid import UUID

from django.conf import settings as django_settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.fleet.queries import usable_regions
from backend.gates import actions, queries
from backend.gates.report import markdown_report
from backend.sites import queries as sites
from backend.web.access import MemberRequest, needs, owned_site
from backend.web.gate_page import (
    headline_of,
    headline_of_all,
    regions_text,
    release_of,
    rows_of,
    rule_row,
    run_rows,
    runs_text,
)
from backend.web.pagination import position_before, position_of

SHOWN = 50


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    """The newest gates of all sites."""
    before = position_before(request)
    lines = queries.gates(request.organisation, before=before, limit=SHOWN + 1)
    shown = lines[:SHOWN]
    context = {
        "section": "gates",
        "headline": headline_of_all(shown),
        "rows": rows_of(shown),
        "older": position_of(shown[-1].gate.created_at, shown[-1].gate.pk) if len(lines) > SHOWN else "",
        "is_newest": before is None,
        "base_url": django_settings.BASE_URL,
    }
    return render(request, "gates/list.html", context)


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, gate_id: UUID) -> HttpResponse:
    """The verdict, each rule's interval against its limit, the runs, and the report."""
    view = queries.gate_view(request.organisation, gate_id)
    if view is None:
        raise Http404
    names = {region.code: region.name for region in usable_regions(request.organisation)}
    rules = [rule_row(rule, names) for rule in view.rules]
    context = {
        "section": "gates",
        "view": view,
        "gate": view.gate,
        "headline": headline_of(view),
        "release": release_of(view),
        "rules": rules,
        "has_limits": any(row.interval for row in rules),
        "has_changes": any(row.interval and row.interval.nothing is not None for row in rules),
        "regions": regions_text(view.gate, names),
        "confidence": f"{100 * view.gate.confidence:g}",
        "runs_text": runs_text(view),
        "made": run_rows(view),
        "report": markdown_report(view, url=f"{django_settings.BASE_URL}/gates/{gate_id}/"),
    }
    return render(request, "gates/gate.html", context)


@require_POST
@needs(Permission.EDIT_SITES)
def cancel(request: MemberRequest, gate_id: UUID) -> HttpResponse:
    """Ends a gate without a verdict."""
    gate = queries.gate(request.organisation, gate_id)
    if gate is None:
        raise Http404
    if gate.is_open:
        actions.cancel_gate(actor=request.user, gate=gate)
        messages.success(request, "The gate is cancelled.")
    return redirect("web:gate", gate_id=gate_id)


@require_safe
@needs(Permission.READ)
def deploys(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """The releases of a site, the newest first."""
    site = owned_site(request, site_id)
    found = sites.deploys(request.organisation, site=site, limit=SHOWN)
    gates = queries.gates(request.organisation, site=site, limit=queries.MAX_GATES)
    by_deploy = {row.line.deploy.pk: row for row in reversed(rows_of(gates)) if row.line.deploy is not None}
    context = {
        "section": "sites",
        "site": site,
        "rows": [(deploy, by_deploy.get(deploy.pk)) for deploy in found],
        "base_url": django_settings.BASE_URL,
    }
    return render(request, "sites/deploys.html", context)
