"""Paste a URL, test it, see it happen, save it."""

import hashlib
import json
from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.fleet.queries import Health, RegionState, regions_for
from backend.runs import actions
from backend.runs.queries import RunDetail, RunState, progress, run_detail
from backend.runs.queries.ended import ended_runs
from backend.sites.actions import MAX_NAME_CHARS, SiteLimitError
from backend.sites.models import Site
from backend.sites.queries import sites_called
from backend.web.access import MemberRequest, needs, owned_site
from backend.web.forms.sites import NameForm, TrialForm
from backend.web.live import Facts, Live, by_code, drawn, live
from backend.web.run_page import found_by
from backend.web.waterfall.board import board_of
from backend.web.waterfall.phases import early_table
from backend.web.waterfall.text import as_said, printable
from workers.measurement.messages import Kind, PageMeasurement

# As many as one trial may start; what an address adds to that is cut off.
MAX_RUNS = 60


@require_http_methods(["GET", "POST"])
@needs(Permission.EDIT_SITES)
def add(request: MemberRequest) -> HttpResponse:
    """Tests a URL before it is saved, or saves it without."""
    states = regions_for(request.organisation, now=timezone.now())
    form = TrialForm(
        request.POST or None, regions=[state.region for state in states], initial={"regions": first_choice(states)}
    )
    if "untested" in request.POST:
        form.fields["regions"].required = False
    if request.method == "POST" and form.is_valid():
        url, regions = form.cleaned_data["url"], form.cleaned_data["regions"]
        return _save_untested(request, form, url) if "untested" in request.POST else _start(request, form, url, regions)
    return _form(request, form, states)


@never_cache
@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """The runs named in the address, in words, as they are now."""
    site = owned_site(request, site_id)
    run_ids = _run_ids(request)
    facts = _facts(request, run_ids)
    shown = live(facts)
    probe, loaded = _first(request, shown, Kind.PROBE), _first(request, shown, Kind.PAGE)
    measurement = None if probe is None else probe.measurement
    several = len(shown.regions) > 1
    told = [found_by(run, one_of_several=several) for run in (probe, loaded) if run is not None]
    context = {
        "site": site,
        "live": shown,
        "phases": None if measurement is None else board_of(measurement, {}).phases,
        "early": _early(facts) if measurement is None else None,
        "phases_from": probe.region.name if probe is not None and several else None,
        "found": [one for one in told if one is not None],
        "progress_url": live_url("web:trial_progress", site, run_ids),
        "name_form": NameForm(initial={"name": _title(request, loaded) or printable(site.name)}),
        "section": "sites",
    }
    return render(request, "sites/trial.html", context)


@require_safe
@needs(Permission.READ)
def state(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """The same for the page's script; 304 while nothing changed."""
    owned_site(request, site_id)
    body = json.dumps(live(_facts(request, _run_ids(request))).document()).encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponse(status=304)
    else:
        response = HttpResponse(body, content_type="application/json")
    response["ETag"] = etag
    response["Cache-Control"] = "no-cache, private"
    return response


@require_POST
@needs(Permission.EDIT_SITES)
def save(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Makes the tested draft a site that is measured from now on."""
    site = owned_site(request, site_id)
    actions.save_site(actor=request.user, site=site, name=as_said(request.POST.get("name", ""), MAX_NAME_CHARS))
    messages.success(request, "Saved: probed every minute and loaded every 15 minutes from all regions.")
    return redirect("web:site", site.public_id)


def live_url(name: str, site: Site, run_ids: Sequence[UUID]) -> str:
    """The address of a live page or of its progress. The runs are in it, so it can be reloaded and passed on."""
    return f"{reverse(name, args=[site.public_id])}?{urlencode([('run', run_id) for run_id in run_ids])}"


def first_choice(states: Sequence[RegionState]) -> list[str]:
    """The region a test begins with: the first that is online."""
    online = [state.region.code for state in states if state.health is Health.ONLINE]
    return (online or [state.region.code for state in states])[:1]


def _form(request: MemberRequest, form: TrialForm, states: Sequence[RegionState]) -> HttpResponse:
    offline = [state for state in states if state.health in (Health.OFFLINE, Health.NEVER)]
    context = {"form": form, "states": states, "offline": offline, "section": "sites"}
    return render(request, "sites/add.html", context, status=400 if form.errors else 200)


def _start(request: MemberRequest, form: TrialForm, url: str, regions: Sequence[str]) -> HttpResponse:
    try:
        trial = actions.start_trial(actor=request.user, organisation=request.organisation, url=url, regions=regions)
    except (actions.RunsError, SiteLimitError) as error:
        return _refused(request, form, error)
    return redirect(live_url("web:trial", trial.site, trial.run_ids))


def _refused(request: MemberRequest, form: TrialForm, error: ValueError) -> HttpResponse:
    form.add_error(None, str(error))
    return _form(request, form, regions_for(request.organisation, now=timezone.now()))


def _save_untested(request: MemberRequest, form: TrialForm, url: str) -> HttpResponse:
    try:
        site = actions.register_site(actor=request.user, organisation=request.organisation, name="", url=url)
    except SiteLimitError as error:
        return _refused(request, form, error)
    messages.success(request, "Saved. The first results come within a minute.")
    return redirect("web:site", site.public_id)


def _facts(request: MemberRequest, run_ids: Sequence[UUID]) -> Facts:
    now = timezone.now()
    found = progress(request.organisation, run_ids, now=now)
    return Facts(
        progress=found,
        ended={run.run_id: run for run in ended_runs(request.organisation, [run.run_id for run in found])},
        regions=by_code(regions_for(request.organisation, now=now)),
        urls={run.run_id: reverse("web:run", args=[run.run_id]) for run in found},
        now=now,
    )


def _early(facts: Facts) -> dict[str, object] | None:
    """The phases of the probe that the page draws while it looks deeper, and where it looks from."""
    run = drawn(facts.progress)
    table = early_table(run.early) if run is not None and run.early is not None else None
    if run is None or table is None:
        return None
    return {"phases": table, "region": run.region_name}


def _title(request: MemberRequest, page: RunDetail | None) -> str:
    """What the page calls itself, as a proposal for the name; empty when it does not say, or says what means another
    site already."""
    measurement = None if page is None else page.measurement
    title = measurement.title if isinstance(measurement, PageMeasurement) else None
    proposed = printable(title or "", MAX_NAME_CHARS).strip()
    return "" if sites_called(request.organisation, proposed) else proposed


def _first(request: MemberRequest, shown: Live, kind: Kind) -> RunDetail | None:
    """The first that was measured of a kind."""
    done = [UUID(run.id) for run in shown.runs if run.kind == kind and run.state == RunState.DONE]
    return run_detail(request.organisation, done[0]) if done else None


def _run_ids(request: MemberRequest) -> list[UUID]:
    try:
        return [UUID(text) for text in request.GET.getlist("run")[:MAX_RUNS]]
    except ValueError as error:
        raise Http404 from error
