"""What the page of one run shows: chosen from the run, its measurement and the URL. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from backend.runs.diagnoses import diagnosis_of
from backend.runs.models import Outcome, Run, Trigger
from backend.runs.queries import RunDetail
from backend.web import units
from backend.web.findings import Panel, of_run
from backend.web.verdict import Card, Verdict, cards_of, failed_verdict, measured_verdict, missed_verdict
from backend.web.waterfall.axis import Axis, box_of, part_of
from backend.web.waterfall.connections import connection_chart
from backend.web.waterfall.data import FilmData, chart_data, document, film_data
from backend.web.waterfall.details import Details, connection_details, hop_details, request_details
from backend.web.waterfall.film import film_html, film_text
from backend.web.waterfall.phases import PhaseTable, phase_table
from backend.web.waterfall.rows import Chart, page_chart, probe_chart
from backend.web.waterfall.shapes import TRAITS, Trait
from backend.web.waterfall.strips import Strip, strips_of
from backend.web.waterfall.wanted import Wanted, Window, wanted_of, window_of
from workers.measurement.compute.pair_hops import as_probe
from workers.measurement.connection import Connection
from workers.measurement.evidence import Depth
from workers.measurement.failure import Blame, Failure, FailureKind, Stage
from workers.measurement.messages import Kind, Measurement, MissedReason, PageMeasurement, ProbeMeasurement

_WHY = {
    Trigger.MANUAL.value: "tested by hand",
    Trigger.CONFIRM.value: "to confirm a failure",
    Trigger.GATE.value: "for a gate",
    Trigger.DIAGNOSE.value: "to find out why something changed",
}
_KINDS = {Kind.PAGE.value: "Page load", Kind.PROBE.value: "Probe", Kind.PAIR.value: "Pair"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The waterfall as the URL wants it. `prefix` begins the ids of its rows, of which a page may have two sets."""

    chart: Chart
    window: Window
    wanted: Wanted
    view: Axis
    selected: int | None
    details: Details | None = None
    phases: PhaseTable | None = None
    film: FilmData | None = None
    strips: tuple[Strip, ...] = ()
    prefix: str = "r"

    @property
    def box(self) -> str:
        """From where and how much of the axis is looked at, in percent."""
        return box_of(self.chart.axis, self.view)

    @property
    def traits(self) -> dict[Trait, str]:
        """What rows can be chosen by, with its name."""
        return {trait: TRAITS[trait] for trait in self.chart.traits}

    @property
    def pictures(self) -> str:
        """The film as HTML; empty without one."""
        return "" if self.film is None else film_html(self.film, self.view)

    @property
    def film_text(self) -> str:
        """The film in words: when something was first seen, and when all of it."""
        return "" if self.film is None else film_text(self.film)

    @property
    def data(self) -> dict[str, object]:
        """For the script: times, and all rows when not all of them are in the page."""
        return document(chart_data(self.chart, with_rows=not self.window.complete, film=self.film))


def picture_of(measurement: Measurement, parameters: Mapping[str, str], film_url: str = "") -> Picture:
    """The rows, the window of them, and the one row that is looked at."""
    measurement = as_probe(measurement)
    wanted = wanted_of(parameters)
    chart = _chart(measurement, wanted)
    selected = _selected(measurement, chart, parameters.get("request", ""))
    return Picture(
        chart=chart,
        window=window_of(chart.rows, wanted),
        wanted=wanted,
        view=part_of(chart.axis, wanted.zoom),
        selected=selected,
        details=None if selected is None else details_of(measurement, chart.unit, selected),
        phases=_phases(measurement),
        film=film_data(measurement.film, film_url) if isinstance(measurement, PageMeasurement) and film_url else None,
        strips=strips_of(measurement, chart.axis) if isinstance(measurement, PageMeasurement) else (),
    )


def details_of(measurement: Measurement, unit: str, number: int) -> Details | None:
    """What the side panel says of one row; None when there is no such row."""
    measurement = as_probe(measurement)
    if isinstance(measurement, PageMeasurement):
        return connection_details(measurement, number) if unit == "connection" else request_details(measurement, number)
    if not 1 <= number <= len(measurement.hops):
        return None
    hop = measurement.hops[number - 1]
    return hop_details(number, hop, _connection(measurement, hop.connection))


def verdict_of(detail: RunDetail) -> Verdict:
    """The sentence on top, for every outcome."""
    run, measurement = detail.run, detail.measurement
    if run.outcome == Outcome.MISSED:
        return missed_verdict(MissedReason(run.missed_reason or MissedReason.AGENT_LOST))
    if run.outcome == Outcome.FAILED:
        return failed_verdict(_failure(run), measurement)
    if measurement is None:
        return Verdict(level="info", title="Measured", text="The details of this run are no longer kept.")
    return measured_verdict(measurement)


def cards_for(detail: RunDetail) -> tuple[Card, ...]:
    """The numbers; none where nothing was seen, and no praise for a run that failed."""
    if detail.measurement is None:
        return ()
    cards = cards_of(detail.measurement)
    return cards if detail.run.outcome == Outcome.MEASURED else tuple(_unjudged(card) for card in cards)


def _unjudged(card: Card) -> Card:
    return card if card.level == "info" else replace(card, level="info", note="seen before it failed")


def panel_of(detail: RunDetail) -> Panel | None:
    """What today's rules make of what was seen; None where there is nothing to judge, or to say of a page."""
    measurement = detail.measurement
    diagnosis = diagnosis_of(measurement)
    if diagnosis is None or (isinstance(measurement, PageMeasurement) and not diagnosis.findings):
        return None
    evidence = measurement.evidence if isinstance(measurement, ProbeMeasurement) else None
    is_light = isinstance(measurement, ProbeMeasurement) and (evidence is None or evidence.depth is Depth.LIGHT)
    depth = Depth.LIGHT if is_light else Depth.DEEP
    return of_run(diagnosis, depth, None if evidence is None else detail.run.total_us)


def about(detail: RunDetail) -> list[str]:
    """The small print: what measured, how, and how long it took."""
    run = detail.run
    parts = [
        _KINDS.get(run.kind, run.kind) if run.depth is None else None,
        None if run.depth is None else f"{run.depth} probe",
        _WHY.get(run.trigger),
        f"attempt {run.attempt}" if run.attempt > 1 else None,
        "came late" if run.late else None,
        run.protocol,
        None if run.browser_version is None else f"Chromium {run.browser_version.removeprefix('Chromium ')}",
        None if run.agent is None else f"agent {run.agent}",
        None if run.duration_us is None else f"took {units.duration(run.duration_us)}",
    ]
    return [part for part in parts if part]


def warnings_of(detail: RunDetail) -> list[str]:
    """What the reader of the numbers must know."""
    measurement = detail.measurement
    if isinstance(measurement, PageMeasurement):
        return list(measurement.warnings)
    if (
        isinstance(measurement, ProbeMeasurement)
        and measurement.clock.value == "user"
        and measurement.scheduling_lag_us
    ):
        lag = units.duration(measurement.scheduling_lag_us)
        return [f"The kernel gave no time stamps; the figures may be up to {lag} too long."]
    return []


def _chart(measurement: ProbeMeasurement | PageMeasurement, wanted: Wanted) -> Chart:
    if isinstance(measurement, ProbeMeasurement):
        return probe_chart(measurement)
    return connection_chart(measurement) if wanted.view else page_chart(measurement)


def _selected(measurement: Measurement, chart: Chart, asked: str) -> int | None:
    """The row that the URL names, else the one people look for: the final document, the last hop, the first row."""
    numbers = {row.number for row in chart.rows}
    if asked.isascii() and asked.isdigit() and len(asked) < 7 and int(asked) in numbers:
        return int(asked)
    if isinstance(measurement, PageMeasurement) and chart.unit == "request" and measurement.document in numbers:
        return measurement.document
    if not chart.rows:
        return None
    return chart.rows[-1].number if chart.unit == "hop" else chart.rows[0].number


def _phases(measurement: Measurement) -> PhaseTable | None:
    if not isinstance(measurement, ProbeMeasurement) or not measurement.hops:
        return None
    last = measurement.hops[-1]
    return phase_table(last, _connection(measurement, last.connection))


def _connection(probe: ProbeMeasurement, number: int | None) -> Connection | None:
    return next((connection for connection in probe.connections if connection.number == number), None)


def _failure(run: Run) -> Failure:
    return Failure(
        kind=FailureKind(run.failure_kind or FailureKind.INTERNAL_ERROR),
        stage=Stage(run.failure_stage or Stage.TARGET),
        blame=Blame(run.failure_blame or Blame.MONITOR),
        detail=run.failure_detail or "",
    )
