"""What is told of experiments: the figures are those of `firstbyte without`, milliseconds and all."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from backend.api.v1.shapes import Out
from backend.experiments.loads import load_of_run
from backend.experiments.models import Experiment as ExperimentRow
from backend.experiments.models import ExperimentRun, ExperimentStatus, LoadState, Side
from backend.experiments.queries import ExperimentView
from workers.diagnosis.without.document import without_document
from workers.diagnosis.without.samples import LeftOut
from workers.diagnosis.without.verdict import Verdict

ExperimentVerdict = Annotated[str, Field(description=f"One of {', '.join(Verdict)}.")]


class ExperimentLine(Out):
    """`verdict` and `sentence` are null until all pairs are there, and where it was cancelled or could not be measured;
    `reason` says why it ended early.
    """

    id: UUID
    site: UUID
    site_name: str
    region: str
    hosts: list[str]
    pairs: int
    status: ExperimentStatus
    verdict: ExperimentVerdict | None
    sentence: str | None
    reason: str | None
    created_at: datetime
    ended_at: datetime | None


class ExperimentDifference(Out):
    """Loads without the hosts minus those with them, with the interval of 95 %, null where there are too few pairs."""

    estimate: float
    low: float | None
    high: float | None


class ExperimentMetric(Out):
    """In the unit that its name says; `with_hosts` and `without` are medians. `seeable` is the least difference that
    these pairs would have shown, `margin` what counts as none.
    """

    verdict: ExperimentVerdict
    pairs: int
    with_hosts: float
    without: float
    difference: ExperimentDifference
    seeable: float | None
    margin: float


class ExperimentEstimate(Out):
    """What a cause says that a host costs, in the usual load."""

    id: str
    title: str
    host: str
    saving_ms: float


class ExperimentLoad(Out):
    """One load; those of the pair 0 go before and only fill caches. `run` is null while it is under way.

    `left_out` says why it is not compared, and `reason` in a sentence what it failed with or why it says nothing.
    """

    pair: int
    side: Side
    state: LoadState
    run: UUID | None
    left_out: LeftOut | None
    reason: str | None


class Experiment(ExperimentLine):
    """`metrics` are named as those of `firstbyte without`, such as `lcp_ms`, and null where no pair has one.

    `complete_pairs` are those that are compared so far; `left_out` counts the others of a verdict by their reason.
    `gone_hosts` were asked with the hosts and never without them. Loads are kept as long as runs, and what is made of
    them too: then `complete_pairs` is null and the others are empty, while the verdict stays.
    """

    url: str
    complete_pairs: int | None
    metrics: dict[str, ExperimentMetric | None]
    left_out: dict[str, int]
    estimates: list[ExperimentEstimate]
    gone_hosts: list[str]
    warnings: list[str]
    loads: list[ExperimentLoad]


def line_shape(row: ExperimentRow) -> ExperimentLine:
    return ExperimentLine(
        id=row.public_id,
        site=row.site.public_id,
        site_name=row.site.name,
        region=row.region.code,
        hosts=row.hosts,
        pairs=row.pairs,
        status=ExperimentStatus(row.status),
        verdict=row.verdict or None,
        sentence=row.sentence or None,
        reason=row.reason or None,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def experiment_shape(view: ExperimentView) -> Experiment:
    row, cost = view.experiment, view.cost
    told = {} if cost is None else without_document(row.url, cost, ())
    return Experiment(
        **line_shape(row).model_dump(),
        url=row.url,
        complete_pairs=view.complete,
        metrics={name: _metric(found) for name, found in told.get("metrics", {}).items()},
        left_out=told.get("left_out", {}),
        estimates=[ExperimentEstimate(**one) for one in told.get("estimates", [])],
        gone_hosts=told.get("gone_hosts", []),
        warnings=told.get("warnings", []),
        loads=[_load(run) for run in view.runs],
    )


def _metric(found: dict[str, object] | None) -> ExperimentMetric | None:
    if found is None:
        return None
    return ExperimentMetric.model_validate({"with_hosts": found["with"], **found})


def _load(run: ExperimentRun) -> ExperimentLoad:
    return ExperimentLoad(
        pair=run.pair,
        side=Side(run.side),
        state=LoadState(run.state),
        run=run.ended_run_id,
        left_out=load_of_run(run).left_out,
        reason=run.reason or None,
    )
