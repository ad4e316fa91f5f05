"""Experiments: what do these hosts cost this page? Loads with and without them in turns, and a verdict."""

from typing import Annotated
from uuid import UUID

from ninja import Router, Status
from pydantic import Field, StringConstraints

from backend.accounts.permissions import Permission, Scope
from backend.api.v1.access import ApiRequest, needs
from backend.api.v1.deploys import OfSite, SiteName, faults_of, site_called
from backend.api.v1.experiment_shapes import Experiment, ExperimentLine, experiment_shape, line_shape
from backend.api.v1.paging import Cursor, Limit, moment_of, page_of
from backend.api.v1.problems import INVALID, LIMIT_REACHED, ProblemError, existing
from backend.api.v1.shapes import In, Page, RegionCode
from backend.api.v1.waiting import Wait, wait_for
from backend.experiments import actions, queries
from backend.experiments.actions import ExperimentLimitError, InvalidExperimentError
from backend.experiments.models import Experiment as ExperimentRow
from workers.diagnosis.without.turns import MAX_PAIRS, PAIRS
from workers.diagnosis.without.verdict import MIN_PAIRS
from workers.measurement.page_options import MAX_HOSTS

router = Router(tags=["Experiments"])

READ = needs(Scope.READ, Scope.TEST)
ASK = needs(Scope.TEST, permission=Permission.EDIT_SITES)

Host = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class NewExperiment(In):
    """The site's page is loaded as it is and without `hosts`, in turns, so many `pairs` of times.

    Without means that whatever is asked of them fails at once. Without a `region` it is the first that measures the
    page and has an agent.
    """

    site: SiteName
    hosts: Annotated[list[Host], Field(min_length=1, max_length=MAX_HOSTS)]
    region: RegionCode | None = None
    pairs: Annotated[int, Field(ge=MIN_PAIRS, le=MAX_PAIRS)] = PAIRS


@router.get("/experiments", auth=READ, response=Page[ExperimentLine])
def list_experiments(
    request: ApiRequest, site: OfSite = "", limit: Limit = 50, cursor: Cursor = ""
) -> Page[ExperimentLine]:
    """Experiments, the newest first."""
    before = moment_of(request, cursor)
    of_site = site_called(request, site, pointer="?site") if site else None
    rows = queries.experiments(request.caller.organisation, site=of_site, before=before, limit=limit + 1)
    return page_of(
        request,
        rows,
        Page[ExperimentLine],
        limit=limit,
        shape=line_shape,
        key=lambda row: [row.created_at.isoformat(), row.pk],
    )


@router.post("/experiments", auth=ASK, response={202: Experiment})
def create_experiment(request: ApiRequest, experiment: NewExperiment) -> Status[Experiment]:
    """Begins an experiment. Ask for it with `?wait=60` until its status is no longer `running`: some minutes."""
    caller = request.caller
    site = site_called(request, experiment.site, pointer="#/site")
    try:
        made = actions.start_experiment(
            actor=caller.actor,
            site=site,
            hosts=experiment.hosts,
            region=experiment.region or "",
            pairs=experiment.pairs,
            token_name=caller.token.name if caller.token else "",
        )
    except InvalidExperimentError as error:
        raise ProblemError(INVALID, faults=faults_of(error.faults, {})) from error
    except ExperimentLimitError as error:
        raise ProblemError(LIMIT_REACHED, str(error)) from error
    request.out["Location"] = f"/api/v1/experiments/{made.public_id}"
    return Status(202, _shown(request, made.public_id))


@router.get("/experiments/{uuid:experiment_id}", auth=READ, response=Experiment)
def get_experiment(request: ApiRequest, experiment_id: UUID, wait: Wait = 0) -> Experiment:
    """One experiment with its loads. `?wait=` answers as soon as it has ended."""
    wait_for(lambda: _owned(request, experiment_id), lambda one: not one.is_open, wait_s=wait)
    return _shown(request, experiment_id)


@router.post("/experiments/{uuid:experiment_id}/cancel", auth=ASK, response=Experiment)
def cancel_experiment(request: ApiRequest, experiment_id: UUID) -> Experiment:
    """Ends an experiment without a verdict. One that has ended stays as it is."""
    actions.cancel_experiment(actor=request.caller.actor, experiment=_owned(request, experiment_id))
    return _shown(request, experiment_id)


def _owned(request: ApiRequest, experiment_id: UUID) -> ExperimentRow:
    found = queries.experiment(request.caller.organisation, experiment_id)
    return existing(found, "There is no such experiment.")


def _shown(request: ApiRequest, experiment_id: UUID) -> Experiment:
    view = queries.experiment_view(request.caller.organisation, experiment_id)
    return experiment_shape(existing(view, "There is no such experiment."))
