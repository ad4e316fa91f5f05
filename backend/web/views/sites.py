"""The list of sites, and what can be set, paused, tested and deleted."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.alerts.actions.sites import delete_site
from backend.alerts.blind_agents import blindnesses
from backend.alerts.queries.incidents import open_by_site
from backend.fleet.models import Region
from backend.fleet.queries import regions_for, usable_regions
from backend.runs import actions
from backend.runs.queries import newest_measurements, site_overview, worst_findings
from backend.sites import actions as sites
from backend.sites import queries
from backend.sites.dependencies import DependencyError, rely_on
from backend.sites.followed import followed_fault, timings_in
from backend.sites.keeping import settings_of
from backend.sites.lists import sites_after
from backend.sites.models import Monitor, Site, SiteStatus
from backend.sites.monitor_settings import InvalidMonitorError
from backend.web.access import MemberRequest, needs
from backend.web.confirm import Question, ask
from backend.web.forms.pages import PageMonitorForm
from backend.web.forms.sites import MonitorChoices, MonitorForm, NameForm, ReliesOnForm, TrialForm
from backend.web.meanwhile import CHANGED, stamp_of, was_changed
from backend.web.overview import overview_of
from backend.web.pagination import part_of
from backend.web.views.trial import first_choice, live_url
from workers.measurement.messages import Kind, PageMeasurement

# On one page of the list. Where there are many regions, sites are fewer: each is a cell a region.
_MOST_SITES, _FEWEST_SITES, _MOST_CELLS = 100, 10, 2_500
# As many as a browser can still list.
_TIMINGS_OFFERED = 100


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    """Is anything wrong now, and where?"""
    now = timezone.now()
    states = regions_for(request.organisation, now=now)
    rows = site_overview(request.organisation)
    incidents, blind = open_by_site(request.organisation), blindnesses(now).regions
    seen = overview_of(rows, states, incidents=incidents, blind=blind, now=now)
    query = request.GET.get("q", "").strip()[:200]
    part = part_of(request, seen.of(query), size=_sites_shown(len(states)))
    monitors = [one.monitor for row in part.rows for one in row.seen.monitors]
    probes, pages = ([one.pk for one in monitors if one.kind == kind] for kind in (Kind.PROBE, Kind.PAGE))
    causes = worst_findings(probes, [state.region.pk for state in states], pages=pages)
    context = {
        "overview": seen,
        "query": query,
        "part": part,
        "shown": seen.drawn(part.rows, causes),
        "form": TrialForm(regions=[state.region for state in states], initial={"regions": first_choice(states)}),
        "section": "sites",
    }
    return render(request, "sites/list.html", context)


@require_safe
@needs(Permission.EDIT_SITES)
def settings(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Everything about a site that can be changed, on one page."""
    return _settings_page(request, _site(request, site_id))


@require_POST
@needs(Permission.EDIT_SITES)
def rename(request: MemberRequest, site_id: UUID) -> HttpResponse:
    site = _site(request, site_id)
    form = NameForm(request.POST)
    if was_changed(request, stamp_of(site.name)):
        form.add_error(None, CHANGED)
    if not form.is_valid():
        return _settings_page(request, site, name_form=form)
    try:
        renamed = sites.rename(actor=request.user, site=site, name=form.cleaned_data["name"])
    except sites.SiteNameError as error:
        form.add_error(error.field, str(error))
        return _settings_page(request, site, name_form=form)
    messages.success(request, f"The site is called {renamed.name} now.")
    return redirect("web:site_settings", site.public_id)


@require_POST
@needs(Permission.EDIT_SITES)
def relies_on(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """What explains that this site is down."""
    site = _site(request, site_id)
    form = ReliesOnForm(request.POST, sites=_others(request, site))
    if was_changed(request, stamp_of(_relied_on(site))):
        form.add_error(None, CHANGED)
    if form.is_valid():
        try:
            rely_on(actor=request.user, site=site, others=form.cleaned_data["relies_on"])
        except DependencyError as error:
            form.add_error(error.field, str(error))
        else:
            messages.success(request, "What the site relies on is saved.")
            return redirect("web:site_settings", site.public_id)
    return _settings_page(request, site, relies_form=form)


@require_POST
@needs(Permission.EDIT_SITES)
def change_monitor(request: MemberRequest, site_id: UUID, kind: str) -> HttpResponse:
    site = _site(request, site_id)
    monitor = _monitor(site, kind)
    form = _monitor_form(monitor, usable_regions(request.organisation), request.POST)
    if was_changed(request, str(monitor.config_version)):
        form.add_error(None, CHANGED)
    if not form.is_valid():
        return _settings_page(request, site, monitor_form=form)
    try:
        actions.change_monitor(actor=request.user, monitor=monitor, settings=form.settings())
    except InvalidMonitorError as error:
        form.add_faults(error)
        return _settings_page(request, site, monitor_form=form)
    messages.success(request, f"{monitor.get_kind_display()}: saved. The next run follows it.")
    return redirect("web:site_settings", site.public_id)


@require_POST
@needs(Permission.EDIT_SITES)
def pause(request: MemberRequest, site_id: UUID, kind: str) -> HttpResponse:
    monitor = _monitor(_site(request, site_id), kind)
    actions.pause_monitor(actor=request.user, monitor=monitor)
    messages.success(
        request, f"{monitor.get_kind_display()}: paused. Nothing is measured, and nothing counts as missed."
    )
    return redirect("web:site_settings", site_id)


@require_POST
@needs(Permission.EDIT_SITES)
def resume(request: MemberRequest, site_id: UUID, kind: str) -> HttpResponse:
    monitor = _monitor(_site(request, site_id), kind)
    actions.resume_monitor(actor=request.user, monitor=monitor)
    messages.success(request, f"{monitor.get_kind_display()}: measured again from its next slot on.")
    return redirect("web:site_settings", site_id)


@require_POST
@needs(Permission.EDIT_SITES)
def test_now(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Measures once, now: the monitor named by `kind`, or both, in the regions named, or in all of the monitor's."""
    site = _site(request, site_id)
    monitors = [_monitor(site, request.POST["kind"])] if "kind" in request.POST else list(site.monitors.all())
    usable = [region.code for region in usable_regions(request.organisation)]
    asked = request.POST.getlist("regions")
    own = [[code for code in monitor.regions if code in usable] or usable for monitor in monitors]
    wanted = [(monitor, asked or regions) for monitor, regions in zip(monitors, own, strict=True)]
    try:
        run_ids = actions.test_all_now(actor=request.user, wanted=wanted)
    except actions.RunsError as error:
        messages.error(request, str(error))
        return redirect("web:site", site.public_id)
    return redirect(live_url("web:trial", site, run_ids))


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def delete(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Asks first; then the site and all that was measured of it are gone."""
    site = _site(request, site_id)
    if request.method == "GET":
        question = Question(
            title=f"Delete {site.name}?",
            text=f"{site.url}: its monitors, runs, waterfalls and screenshots go with it. This cannot be undone; to "
            "stop measuring for a while, pause it.",
            verb="Delete it",
            back=reverse("web:site_settings", args=[site.public_id]),
            section="sites",
        )
        return ask(request, question)
    delete_site(actor=request.user, site=site)
    messages.success(request, f"{site.name} is deleted.")
    return redirect("web:sites")


def _sites_shown(regions: int) -> int:
    return max(_FEWEST_SITES, min(_MOST_SITES, _MOST_CELLS // max(1, regions)))


def _settings_page(
    request: MemberRequest,
    site: Site,
    *,
    name_form: NameForm | None = None,
    monitor_form: MonitorForm | None = None,
    relies_form: ReliesOnForm | None = None,
) -> HttpResponse:
    regions = usable_regions(request.organisation)
    faulty = monitor_form.prefix if monitor_form else None
    forms = [
        (monitor, monitor_form if monitor.kind == faulty else _monitor_form(monitor, regions))
        for monitor in site.monitors.all()
    ]
    others, relied_on = _others(request, site), _relied_on(site)
    is_refused = bool(name_form or monitor_form or relies_form)
    context = {
        "site": site,
        "others": others,
        "relies_form": relies_form or ReliesOnForm(sites=others, initial={"relies_on": relied_on}),
        "relies_stamp": stamp_of(relied_on),
        "name_form": name_form or NameForm(initial={"name": site.name}),
        "name_stamp": stamp_of(site.name),
        "monitors": forms,
        "section": "sites",
    }
    return render(request, "sites/settings.html", context, status=400 if is_refused else 200)


def _others(request: MemberRequest, site: Site) -> list[Site]:
    """What a site can rely on."""
    found = sites_after(request.organisation, status=SiteStatus.ACTIVE, after=None, limit=sites.MAX_SITES)
    return [other for other in found if other.pk != site.pk]


def _relied_on(site: Site) -> list[str]:
    return sorted(str(other.public_id) for other in site.relies_on.all())


def _monitor_form(monitor: Monitor, regions: list[Region], data: object = None) -> MonitorForm:
    is_page = monitor.kind == Kind.PAGE
    form = PageMonitorForm if is_page else MonitorForm
    told = _timings_told(monitor) if is_page else ()
    return form(data, choices=MonitorChoices(settings=settings_of(monitor), regions=regions, timings_told=told))


def _timings_told(monitor: Monitor) -> list[str]:
    """What the last runs told and can be followed. Two statements."""
    seen = (page for page in newest_measurements(monitor) if isinstance(page, PageMeasurement))
    told = dict.fromkeys(timing for page in seen for timing in timings_in(page.vitals.user_timings or ()))
    return [timing for timing in told if followed_fault([timing]) is None][:_TIMINGS_OFFERED]


def _site(request: MemberRequest, site_id: UUID) -> Site:
    site = queries.site(request.organisation, site_id)
    if site is None:
        raise Http404
    return site


def _monitor(site: Site, kind: str) -> Monitor:
    found = [monitor for monitor in site.monitors.all() if monitor.kind == kind]
    if not found:
        raise Http404
    found[0].site = site
    return found[0]
