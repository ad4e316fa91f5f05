"""Are all measuring points alive?"""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.alerts.blind_agents import blindnesses
from backend.config import is_loopback
from backend.fleet import actions
from backend.fleet.broker import BrokerUnavailableError
from backend.fleet.credentials import Credentials
from backend.fleet.models import Region
from backend.fleet.queries import owned_region, regions_for
from backend.runs.actions import reconcile_organisation
from backend.runs.queries import RecentLoads, recent_loads
from backend.web.access import MemberRequest, needs
from backend.web.confirm import Question, ask
from backend.web.disturbed import disturbed_text
from backend.web.forms.regions import RegionForm
from backend.web.join import join_command
from backend.web.queues import queues_of


@require_safe
@needs(Permission.READ)
def overview(request: MemberRequest) -> HttpResponse:
    return _page(request, RegionForm())


def _field_of(error: Exception) -> str | None:
    """What of the form an error is about."""
    if isinstance(error, actions.RegionNameError):
        return "name"
    return "code" if isinstance(error, actions.RegionError) else None


@never_cache
@require_POST
@needs(Permission.MANAGE_REGIONS)
def add(request: MemberRequest) -> HttpResponse:
    """Makes a region of the organisation. Its secrets are in this answer and nowhere else."""
    form = RegionForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    try:
        credentials = actions.add_region(
            actor=request.user,
            organisation=request.organisation,
            code=form.cleaned_data["code"],
            name=form.cleaned_data["name"],
        )
    except (actions.RegionError, BrokerUnavailableError) as error:
        form.add_error(_field_of(error), str(error))
        return _page(request, form, status=400)
    return _credentials(request, credentials)


@never_cache
@require_POST
@needs(Permission.MANAGE_REGIONS)
def rotate(request: MemberRequest, code: str) -> HttpResponse:
    """New secrets for a region of the organisation; its agents stop until they have them."""
    region = _owned(request, code)
    try:
        return _credentials(request, actions.rotate_token(actor=request.user, region=region))
    except (actions.RegionError, BrokerUnavailableError) as error:
        messages.error(request, str(error))
        return redirect("web:regions")


@require_http_methods(["GET", "POST"])
@needs(Permission.MANAGE_REGIONS)
def remove(request: MemberRequest, code: str) -> HttpResponse:
    """Asks first; then the region measures nothing any more."""
    region = _owned(request, code)
    if request.method == "GET":
        question = Question(
            title=f"Remove {region.name}?",
            text="Its agents are shut out at once and nothing is measured from there any more. What it measured stays, "
            f"and so its code {region.code} stays taken.",
            verb="Remove it",
            back=reverse("web:regions"),
            section="regions",
        )
        return ask(request, question)
    try:
        actions.remove_region(actor=request.user, region=region)
    except (actions.RegionError, BrokerUnavailableError) as error:
        messages.error(request, str(error))
        return redirect("web:regions")
    reconcile_organisation(request.organisation)
    messages.success(request, f"{region.name} is removed. What it measured stays.")
    return redirect("web:regions")


def _owned(request: MemberRequest, code: str) -> Region:
    region = owned_region(request.organisation, code)
    if region is None:
        raise Http404
    return region


def _page(request: MemberRequest, form: RegionForm, status: int = 200) -> HttpResponse:
    now = timezone.now()
    states = regions_for(request.organisation, now=now)
    blind = blindnesses(now)
    regions = [state.region for state in states]
    queues = queues_of(regions, now=now)
    loads = recent_loads(request.organisation, regions, now=now)
    context = {
        "regions": [
            (
                state,
                queues[state.region.code] if queues is not None else None,
                blind.regions.get(state.region.code),
                _disturbed(loads.get(state.region.pk)),
                [(one, blind.agents.get((state.region.code, one.agent.name))) for one in state.agents],
            )
            for state in states
        ],
        "broker_is_away": queues is None,
        "form": form,
        "section": "regions",
    }
    return render(request, "regions/list.html", context, status=status)


def _disturbed(recent: RecentLoads | None) -> str:
    return "" if recent is None else disturbed_text(recent.disturbed, recent.loads, whose="its agents'")


def _credentials(request: MemberRequest, credentials: Credentials) -> HttpResponse:
    context = {
        "code": credentials.region,
        "command": join_command(credentials),
        "is_local": is_loopback(urlsplit(settings.BASE_URL).hostname or ""),
        "base_url": settings.BASE_URL,
        "section": "regions",
    }
    return render(request, "regions/credentials.html", context)
