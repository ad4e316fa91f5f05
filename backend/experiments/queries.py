"""What is read about experiments. Every question starts from the organisation and takes a fixed number of
statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from backend.accounts.models import Organisation
from backend.experiments.loads import cost_in, pairs_of
from backend.experiments.models import Experiment, ExperimentRun, ExperimentStatus, LoadState, Side
from backend.lists import older
from backend.runs.models import Run, Trigger
from backend.sites.models import Site
from workers.diagnosis.without.cost import Cost
from workers.diagnosis.without.samples import complete

MAX_EXPERIMENTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """Both loads of a pair, None where one was not asked for. `number` 0 goes before and only fills caches."""

    number: int
    with_hosts: ExperimentRun | None
    without: ExperimentRun | None

    @property
    def is_loaded(self) -> bool:
        """Whether both say something, and so can be looked at beside each other."""
        return all(run is not None and run.state == LoadState.LOADED for run in (self.with_hosts, self.without))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentView:
    """An experiment with its loads. `cost` is there once it has a verdict: nothing is told before, since who stops
    where it looks best sees what is not there. `complete` counts the pairs that would be compared. Both are None where
    there is a verdict and its loads are kept no more.
    """

    experiment: Experiment
    runs: tuple[ExperimentRun, ...]
    cost: Cost | None
    complete: int | None

    @property
    def pairs(self) -> list[PairView]:
        """In the order in which they were made."""
        by_pair: dict[int, dict[str, ExperimentRun]] = {}
        for run in self.runs:
            by_pair.setdefault(run.pair, {})[run.side] = run
        return [
            PairView(number=number, with_hosts=both.get(Side.WITH), without=both.get(Side.WITHOUT))
            for number, both in by_pair.items()
        ]


def experiment(organisation: Organisation, public_id: UUID) -> Experiment | None:
    """The experiment alone, to wait for it or to cancel it. One statement."""
    return Experiment.objects.filter(organisation=organisation, public_id=public_id).first()


def experiment_view(organisation: Organisation, public_id: UUID) -> ExperimentView | None:
    """An experiment with its loads. Two statements."""
    found = Experiment.objects.filter(organisation=organisation, public_id=public_id)
    experiment = found.select_related("site", "region", "monitor").first()
    if experiment is None:
        return None
    runs = tuple(experiment.runs.order_by("pk"))
    is_done = experiment.status == ExperimentStatus.DONE
    # Without a load there would have been no verdict.
    is_forgotten = is_done and not runs
    return ExperimentView(
        experiment=experiment,
        runs=runs,
        cost=cost_in(runs, experiment.hosts) if is_done and not is_forgotten else None,
        complete=None if is_forgotten else len(complete(pairs_of(runs, experiment.hosts))),
    )


def experiments(
    organisation: Organisation,
    *,
    site: Site | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int,
) -> list[Experiment]:
    """The newest first; `before` is the time and number of the last one seen. One statement."""
    found = Experiment.objects.filter(organisation=organisation).select_related("site", "region")
    if site is not None:
        found = found.filter(site=site)
    if before is not None:
        found = found.filter(older("created_at", before))
    return list(found.order_by("-created_at", "-pk")[: max(1, min(limit, MAX_EXPERIMENTS))])


def experiment_of(run: Run) -> ExperimentRun | None:
    """What a run was made for. One statement, and none where it was made for something else."""
    if run.trigger != Trigger.COST:
        return None
    asked = ExperimentRun.objects.filter(run_id=run.first_run_id or run.run_id, experiment__monitor=run.monitor_id)
    return asked.select_related("experiment").first()


def left_out_of(run: Run) -> Sequence[str]:
    """The hosts that a page was loaded without: none of an ordinary load. As many statements as `experiment_of`."""
    made_for = experiment_of(run)
    return made_for.experiment.hosts if made_for is not None and made_for.side == Side.WITHOUT else ()
