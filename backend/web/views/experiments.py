"""What hosts cost a page: the experiments of a site, one in full, and the form that asks."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from backend.accounts.permissions import Permission
from backend.experiments import actions, queries
from backend.experiments.actions import ExperimentLimitError, InvalidExperimentError
from backend.fleet.models import Region
from backend.fleet.queries import usable_regions
from backend.sites.models import Site
from backend.web.access import MemberRequest, needs, owned_site
from backend.web.experiment_page import headline_of, metric_rows, notes_of, pair_rows, rows_of
from backend.web.forms.experiments import ExperimentForm
from backend.web.pagination import position_before, position_of
from workers.diagnosis.without.words import some_of

SHOWN = 50


@require_safe
@needs(Permission.READ)
def of_site(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """The experiments of a site, the newest first; `hosts` and `region` in the address fill the form."""
    site = owned_site(request, site_id)
    asked = {name: request.GET[name] for name in ("hosts", "region") if name in request.GET}
    return _list(request, site, ExperimentForm(regions=_regions(request), initial=asked))


@require_POST
@needs(Permission.EDIT_SITES)
def start(request: MemberRequest, site_id: UUID) -> HttpResponse:
    """Begins an experiment and leads to its page."""
    site = owned_site(request, site_id)
    form = ExperimentForm(request.POST, regions=_regions(request))
    if form.is_valid():
        try:
            begun = actions.start_experiment(actor=request.user, site=site, **form.cleaned_data)
        except InvalidExperimentError as error:
            form.add_faults(error)
        except ExperimentLimitError as error:
            form.add_error(None, str(error))
        else:
            return redirect("web:experiment", begun.public_id)
    return _list(request, site, form)


@require_safe
@needs(Permission.READ)
def page(request: MemberRequest, experiment_id: UUID) -> HttpResponse:
    """The verdict, each metric with and without the hosts, and the pairs of loads that they rest on."""
    view = queries.experiment_view(request.organisation, experiment_id)
    if view is None:
        raise Http404
    context = {
        "section": "sites",
        "experiment": view.experiment,
        "site": view.experiment.site,
        "hosts": some_of(view.experiment.hosts),
        "headline": headline_of(view),
        "warnings": [one.text for one in view.cost.warnings] if view.cost else [],
        "metrics": metric_rows(view.cost) if view.cost else [],
        "notes": notes_of(view.cost) if view.cost else [],
        "pairs": pair_rows(view),
    }
    return render(request, "experiments/experiment.html", context)


@require_POST
@needs(Permission.EDIT_SITES)
def cancel(request: MemberRequest, experiment_id: UUID) -> HttpResponse:
    """Ends it without a verdict."""
    found = queries.experiment(request.organisation, experiment_id)
    if found is None:
        raise Http404
    if found.is_open:
        actions.cancel_experiment(actor=request.user, experiment=found)
        messages.success(request, "The experiment is cancelled.")
    return redirect("web:experiment", experiment_id)


def _regions(request: MemberRequest) -> list[Region]:
    """Those with an agent."""
    return [region for region in usable_regions(request.organisation) if region.joined_at is not None]


def _list(request: MemberRequest, site: Site, form: ExperimentForm) -> HttpResponse:
    before = position_before(request)
    found = queries.experiments(request.organisation, site=site, before=before, limit=SHOWN + 1)
    shown = found[:SHOWN]
    context = {
        "section": "sites",
        "tab": "hosts",
        "site": site,
        "form": form,
        "rows": rows_of(shown),
        "older": position_of(shown[-1].created_at, shown[-1].pk) if len(found) > SHOWN else "",
        "is_newest": before is None,
    }
    return render(request, "experiments/list.html", context)
