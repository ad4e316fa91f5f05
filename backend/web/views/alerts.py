"""What is open, is it one cause, who knows? And what people do about it."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.alerts.actions import incidents as actions
from backend.alerts.models import Incident
from backend.alerts.models.incidents import Cause
from backend.alerts.queries import incidents as queries
from backend.alerts.queries.channels import channels, line_of
from backend.alerts.queries.inbox import watched
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.runs.queries import run_detail, worst_findings
from backend.sites.actions import MAX_SITES
from backend.sites.lists import sites_after
from backend.sites.models import Site, SiteStatus
from backend.web.access import MemberRequest, needs
from backend.web.channels import untold
from backend.web.findings import Hint, hint_of
from backend.web.forms.alerts import CommentForm, MuteForm
from backend.web.inbox import FILTERS, WITH_OVER, Found, StateFilter, inbox_of
from backend.web.incident_page import incident_page
from backend.web.pagination import position_before, position_of
from workers.measurement.messages import Kind

RECENT = 20


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    """The inbox: open, watched, muted and recovered incidents, of the latter a page."""
    organisation, now, before = request.organisation, timezone.now(), position_before(request)
    sites = sites_after(organisation, status=SiteStatus.ACTIVE, after=None, limit=MAX_SITES)
    site = _chosen_site(request, sites)
    shown = _chosen_state(request)
    over = queries.incidents(
        organisation, site=site, is_open=False, before=None if before is None else before[1], limit=RECENT + 1
    )
    found = Found(
        open_rows=queries.open_incidents(organisation, site),
        over_rows=over[:RECENT],
        watched=[one for one in watched(organisation) if site is None or one.monitor.site_id == site.pk],
        last_at=queries.last_incident_at(organisation),
        names=_names(request),
        sites=len(sites),
        now=now,
    )
    last = over[RECENT - 1].incident if len(over) > RECENT and shown in WITH_OVER else None
    context = {
        "inbox": inbox_of(found, shown),
        "older": "" if last is None else position_of(last.opened_at, last.pk),
        "is_newest": before is None or shown not in WITH_OVER,
        "sites": sites,
        "site": site,
        "states": FILTERS.items(),
        "shown": shown,
        "section": "alerts",
        "untold": untold(channels(organisation)),
    }
    return render(request, "incidents/list.html", context)


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    """One incident: what happened, before and after, and who was told."""
    return _page(request, incident_id)


@require_POST
@needs(Permission.EDIT_ALERTS)
def acknowledge(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    return _act(request, incident_id, actions.acknowledge, "Acknowledged: no reminders from now on.")


@require_POST
@needs(Permission.EDIT_ALERTS)
def unacknowledge(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    return _act(request, incident_id, actions.unacknowledge, "Not acknowledged any more.")


@require_POST
@needs(Permission.EDIT_ALERTS)
def unmute(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    return _act(request, incident_id, actions.unmute, "Not muted any more. What still holds is told within seconds.")


@require_POST
@needs(Permission.EDIT_ALERTS)
def resolve(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    return _act(request, incident_id, actions.resolve, "Closed. It is not told again before it has recovered once.")


@require_POST
@needs(Permission.EDIT_ALERTS)
def accept(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    return _act(request, incident_id, actions.accept, "Accepted: what is normal is learned anew.")


@require_POST
@needs(Permission.EDIT_ALERTS)
def mute(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    """For an hour, until it has recovered, or until a date of the person's own time zone."""
    form = MuteForm(request.POST)
    incident = _owned(request, incident_id)
    if not form.is_valid():
        return _page(request, incident_id, mute_form=form)
    until = _until(form)
    try:
        actions.mute(actor=request.user, incident=incident, until=until)
    except actions.IncidentError as error:
        if error.field != "until":
            # It ended while the form was open, and the form with it.
            messages.error(request, str(error))
            return _back(request, incident_id)
        form.add_error("until", str(error))
        return _page(request, incident_id, mute_form=form)
    messages.success(request, "Muted. It stays in the list, and nothing is told.")
    return _back(request, incident_id)


@require_POST
@needs(Permission.EDIT_ALERTS)
def comment(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    form = CommentForm(request.POST)
    incident = _owned(request, incident_id)
    if not form.is_valid():
        return _page(request, incident_id, comment_form=form)
    try:
        actions.comment(actor=request.user, incident=incident, text=form.cleaned_data["text"])
    except actions.IncidentError as error:
        form.add_error("text", str(error))
        return _page(request, incident_id, comment_form=form)
    return redirect("web:incident", incident_id)


def _act(request: MemberRequest, incident_id: UUID, act: Callable[..., Incident], done: str) -> HttpResponse:
    incident = _owned(request, incident_id)
    try:
        act(actor=request.user, incident=incident)
    except actions.IncidentError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return _back(request, incident_id)


def _back(request: MemberRequest, incident_id: UUID) -> HttpResponse:
    """To the list for who came from there, else to the incident."""
    if request.POST.get("next") == "list":
        return redirect("web:alerts")
    return redirect("web:incident", incident_id)


def _until(form: MuteForm) -> datetime | None:
    match form.cleaned_data["length"]:
        case "recovered":
            return None
        case "date":
            until: datetime = form.cleaned_data["until"]
            return until
        case _:
            return timezone.now() + timedelta(hours=1)


def _page(
    request: MemberRequest,
    incident_id: UUID,
    *,
    mute_form: MuteForm | None = None,
    comment_form: CommentForm | None = None,
) -> HttpResponse:
    organisation = request.organisation
    detail = queries.incident_detail(organisation, incident_id)
    if detail is None:
        raise Http404
    before, after = (run_detail(organisation, run) if run else None for run in (detail.before_run, detail.after_run))
    regions = usable_regions(organisation)
    names = {region.code: region.name for region in regions}
    context = {
        "page": incident_page(detail, before, after, names=names, now=timezone.now()),
        "hint": _hint(detail, regions),
        "detail": detail,
        "incident": detail.incident,
        "deliveries": [line_of(delivery) for delivery in detail.deliveries],
        "mute_form": mute_form or MuteForm(),
        "comment_form": comment_form or CommentForm(),
        "section": "alerts",
    }
    faulty = mute_form is not None or comment_form is not None
    return render(request, "incidents/incident.html", context, status=400 if faulty else 200)


def _hint(detail: queries.IncidentDetail, regions: Sequence[Region]) -> Hint | None:
    """What deep probes name first while a site is slower: some were asked for when it became that. Two statements."""
    if detail.incident.cause != Cause.SPEED or detail.incident.resolved_at is not None:
        return None
    probes = {
        one.monitor.pk for one in detail.row.members if one.monitor is not None and one.monitor.kind == Kind.PROBE
    }
    causes = worst_findings(sorted(probes), [region.pk for region in regions]) if probes else {}
    return hint_of(cause for found in causes.values() for cause in found)


def _names(request: MemberRequest) -> dict[str, str]:
    return {region.code: region.name for region in usable_regions(request.organisation)}


def _owned(request: MemberRequest, incident_id: UUID) -> Incident:
    incident = queries.incident(request.organisation, incident_id)
    if incident is None:
        raise Http404
    return incident


def _chosen_site(request: MemberRequest, sites: list[Site]) -> Site | None:
    wanted = request.GET.get("site", "")
    return next((site for site in sites if str(site.public_id) == wanted), None)


def _chosen_state(request: MemberRequest) -> StateFilter:
    wanted = request.GET.get("state", "")
    return next((state for state in FILTERS if state == wanted), "now")
