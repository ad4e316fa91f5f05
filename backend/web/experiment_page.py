"""Experiments as people see them: pills, the verdict, each metric with and without the hosts, the pairs. No I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from backend.experiments.loads import load_of_run
from backend.experiments.models import Experiment, ExperimentRun, ExperimentStatus, LoadState, Side
from backend.experiments.queries import ExperimentView, PairView
from backend.web import units
from backend.web.standing import Headline, Pill
from workers.diagnosis.catalogue import entry
from workers.diagnosis.without.cost import Cost
from workers.diagnosis.without.samples import LeftOut, Metric
from workers.diagnosis.without.verdict import DIFFERENT, Verdict
from workers.diagnosis.without.words import TITLES, size_of, some_of, told


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric: the medians of both kinds of loads, and what becomes of it."""

    name: str
    with_hosts: str
    without: str
    told: str
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCell:
    """One load: `text` is its largest paint or why it counts for nothing; no `run_id`: it has no page yet."""

    run_id: UUID | None
    text: str
    is_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    name: str
    with_hosts: LoadCell
    without: LoadCell
    compares: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    experiment: Experiment
    hosts: str
    pill: Pill
    text: str


_UNDECIDED = Pill(level="warn", mark="?", text="Not conclusive")
_PILLS = {
    Verdict.SOONER: Pill(level="info", mark="↓", text="Quicker without"),
    Verdict.LESS: Pill(level="info", mark="↓", text="Quicker without"),
    Verdict.LATER: Pill(level="info", mark="↑", text="Slower without"),
    Verdict.MORE: Pill(level="info", mark="↑", text="Slower without"),
    Verdict.NO_DIFFERENCE: Pill(level="good", mark="✓", text="No difference"),
    Verdict.INCONCLUSIVE: _UNDECIDED,
    Verdict.BREAKS: Pill(level="warn", mark="!", text="Breaks"),
    Verdict.NOT_ASKED: Pill(level="warn", mark="?", text="Not asked"),
}
_TITLES = {
    Verdict.SOONER: "The page is quicker without",
    Verdict.LESS: "The page is less busy without",
    Verdict.LATER: "The page is slower without",
    Verdict.MORE: "The page is busier without",
    Verdict.NO_DIFFERENCE: "No difference to see",
    Verdict.INCONCLUSIVE: "It cannot be told",
    Verdict.BREAKS: "There is no page without",
    Verdict.NOT_ASKED: "The page asks nothing of",
}
_NAMING = frozenset(_TITLES) - {Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE}
_ENDED = {
    ExperimentStatus.RUNNING: Pill(level="info", mark="◐", text="Running"),
    ExperimentStatus.FAILED: Pill(level="warn", mark="!", text="Not measured"),
    ExperimentStatus.CANCELLED: Pill(level="quiet", mark="□", text="Cancelled"),
}
_LEFT_OUT = {
    LeftOut.FAILED: "failed",
    LeftOut.CHALLENGED: "met a test of the visitor",
    LeftOut.DISTURBED: "the machine was busy",
    LeftOut.OFF_PROFILE: "the network did not keep its numbers",
}


def rows_of(experiments: Sequence[Experiment]) -> list[ListRow]:
    return [
        ListRow(
            experiment=one,
            hosts=some_of(one.hosts),
            pill=pill_of(one),
            text=" ".join(filter(None, (one.sentence, one.reason))) or pill_of(one).text,
        )
        for one in experiments
    ]


def pill_of(experiment: Experiment) -> Pill:
    """Its state: a word, a mark and a colour."""
    return _PILLS[Verdict(experiment.verdict)] if experiment.verdict else _ENDED[ExperimentStatus(experiment.status)]


def headline_of(view: ExperimentView) -> Headline:
    """What the page of one experiment says first."""
    experiment, pill = view.experiment, pill_of(view.experiment)
    title, text = _told(view)
    return Headline(
        level=pill.level, mark=pill.mark, title=title, text=" ".join(filter(None, (text, experiment.reason)))
    )


def _told(view: ExperimentView) -> tuple[str, str]:
    experiment = view.experiment
    if view.cost is not None:
        return _title_of(view.cost.verdict, experiment), view.cost.sentence
    if experiment.verdict:
        title = _title_of(Verdict(experiment.verdict), experiment)
        return title, f"{experiment.sentence} The loads that it rests on are kept no more."
    if experiment.is_open:
        made = f"{view.complete} of {experiment.pairs} pairs of loads are there."
        return (
            "It is being measured",
            f"{made} What they say is told when all are: who stops early sees what is not there.",
        )
    return (
        ("It was cancelled", "")
        if experiment.status == ExperimentStatus.CANCELLED
        else ("It could not be measured", "")
    )


def _title_of(verdict: Verdict, experiment: Experiment) -> str:
    return f"{_TITLES[verdict]} {some_of(experiment.hosts)}" if verdict in _NAMING else _TITLES[verdict]


def metric_rows(cost: Cost) -> list[MetricRow]:
    return [
        MetricRow(
            name=TITLES[metric][:1].upper() + TITLES[metric][1:],
            with_hosts=size_of(metric, verdict.with_hosts),
            without=size_of(metric, verdict.without),
            told=told(verdict),
            level=("good" if verdict.estimate < 0 else "bad") if verdict.verdict in DIFFERENT else "muted",
        )
        for metric, verdict in cost.metrics.items()
    ]


def notes_of(cost: Cost) -> list[str]:
    """What is to be known beside the figures: what goes with the hosts, and what causes say of them by themselves."""
    gone = [f"What goes with it: {some_of(cost.gone)}."] if cost.gone else []
    estimated = (
        f"Estimated from single loads: {units.duration(one.saving_us)} for “{entry(one.id).title}” ({one.host})."
        for one in cost.estimates
    )
    return [*gone, *estimated]


def pair_rows(view: ExperimentView) -> list[PairRow]:
    """The newest first. What a load came to is told once there is a verdict."""
    return [_pair(pair, is_told=view.cost is not None) for pair in reversed(view.pairs)]


def mark_of(run: ExperimentRun) -> str:
    """What a load of an experiment is, for the page of its run."""
    hosts = some_of(run.experiment.hosts)
    if run.side == Side.WITH:
        return f"One of the loads that show what {hosts} {_costs(run)}: made as usual, with what is asked of it."
    return f"Loaded without {hosts}: whatever was asked of it failed at once. It is no visitor's page."


def _costs(run: ExperimentRun) -> str:
    return "costs" if len(run.experiment.hosts) == 1 else "cost"


def _pair(pair: PairView, *, is_told: bool) -> PairRow:
    both = [run for run in (pair.with_hosts, pair.without) if run is not None]
    first = min(both, key=lambda run: run.pk) if both else None
    return PairRow(
        name=f"Pair {pair.number}" if pair.number else "Before all",
        with_hosts=_cell(pair.with_hosts, first, is_told=is_told),
        without=_cell(pair.without, first, is_told=is_told),
        compares=pair.is_loaded,
    )


def _cell(run: ExperimentRun | None, first: ExperimentRun | None, *, is_told: bool) -> LoadCell:
    if run is None:
        return LoadCell(run_id=None, text="not made", is_first=False)
    text = "; ".join(filter(None, _words(run, is_told=is_told)))
    return LoadCell(run_id=run.ended_run_id, text=text, is_first=run is first)


def _words(run: ExperimentRun, *, is_told: bool) -> Iterator[str]:
    if run.state == LoadState.PENDING:
        yield "under way"
        return
    load = load_of_run(run)
    if load.left_out is not None:
        yield _LEFT_OUT[load.left_out]
    elif load.sample is not None:
        lcp_us = load.sample.values[Metric.LCP]
        yield ("no LCP" if lcp_us is None else f"LCP {size_of(Metric.LCP, lcp_us)}") if is_told else "measured"
    yield run.reason
