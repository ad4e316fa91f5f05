"""Gates as people see them: pills, sentences, and each rule's interval drawn against its limit. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.alerts.metrics import metric_of, written
from backend.gates.documents import Bounds, RuleFound
from backend.gates.models import Gate, GateRule, GateRun, Level, OnInconclusive, Phase, RunState, Status, Verdict
from backend.gates.queries import GateLine, GateView, RuleView
from backend.gates.wording import grown_sentence, limit_sentence, signed, undecided_sentence
from backend.web import units
from backend.web.phrases import number_of
from backend.web.standing import Headline, Pill
from workers.diagnosis.units import lasting

# The drawing's own units; the style sheet gives it its size.
WIDTH, _PAD = 320, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval, its limit and nothing (where there is one), as places on one axis. `text` says it in words."""

    low: float
    value: float
    high: float
    limit: float
    nothing: float | None
    width: int
    text: str

    @property
    def length(self) -> float:
        return round(self.high - self.low, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    region: str
    change: str
    bounds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One rule for the table."""

    name: str
    monitor: str
    limit: str
    warns: bool
    pill: Pill
    before: str
    after: str
    change: str
    bounds: str
    interval: Interval | None
    note: str
    regions: tuple[RegionRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    line: GateLine
    pill: Pill
    release: str


_PILLS = {
    Verdict.PASS: Pill(level="good", mark="✓", text="Pass"),
    Verdict.FAIL: Pill(level="bad", mark="✕", text="Fail"),
    Verdict.INCONCLUSIVE: Pill(level="warn", mark="?", text="Inconclusive"),
    Verdict.ERROR: Pill(level="warn", mark="!", text="Error"),
}
_OPEN = {
    Status.QUEUED: Pill(level="info", mark="◷", text="Queued"),
    Status.RUNNING: Pill(level="info", mark="◐", text="Running"),
    Status.CANCELLED: Pill(level="quiet", mark="□", text="Cancelled"),
}
_TITLES = {
    Verdict.PASS: "The release may go out",
    Verdict.INCONCLUSIVE: "It cannot be decided",
    Verdict.ERROR: "It could not be measured",
}
# What a pipeline is told of a gate that cannot be decided, where it is not just that.
_TOLD: Mapping[str, str] = {
    OnInconclusive.PASS: " The pipeline lets it pass, as it asked.",
    OnInconclusive.FAIL: " The pipeline fails, as it asked.",
}


def pill_of(gate: Gate) -> Pill:
    """A gate's state: a word, a mark and a colour."""
    return _PILLS[Verdict(gate.verdict)] if gate.verdict else _OPEN.get(Status(gate.status), _PILLS[Verdict.ERROR])


def headline_of(view: GateView) -> Headline:
    """What the page of one gate says first."""
    gate, pill, runs = view.gate, pill_of(view.gate), view.runs
    if gate.is_open:
        look = f", look {min(gate.look, runs.planned_looks)} of {runs.planned_looks}" if runs.planned_looks > 1 else ""
        text = f"{runs.completed} of {runs.planned} {'run has' if runs.planned == 1 else 'runs have'} come back{look}."
        return Headline(level="info", mark="i", title="It is being measured", text=text)
    if gate.phase == Phase.BEFORE and gate.verdict == Verdict.PASS:
        return Headline(level="good", mark="✓", title="It was measured before the release", text=gate.summary)
    if not gate.verdict:
        return Headline(level="info", mark="i", title="It was cancelled", text=gate.summary)
    title = _failure_of(view) if gate.verdict == Verdict.FAIL else _TITLES[Verdict(gate.verdict)]
    told = _TOLD.get(gate.on_inconclusive, "") if gate.verdict == Verdict.INCONCLUSIVE else ""
    return Headline(level=pill.level, mark=pill.mark, title=title, text=f"{gate.summary}{told}")


def _failure_of(view: GateView) -> str:
    """What failed: a limit of its own says nothing of how it was before."""
    failed = [one for one in view.rules if one.rule.verdict == Verdict.FAIL and one.rule.level == Level.FAIL]
    if failed and all(one.rule.max_value is not None for one in failed):
        return "The release is over its limit" if len(failed) == 1 else "The release is over its limits"
    changed = [one.rule.metric for one in failed if one.rule.max_value is None]
    how = "slower" if any(metric_of(metric).is_time for metric in changed) else "heavier"
    # Nothing was made slower that is not there yet.
    return f"The release is {how} than its baseline" if view.addresses else f"The release made it {how}"


def headline_of_all(lines: Sequence[GateLine]) -> Headline:
    """What the list says first: of the newest releases."""
    under_way = sum(line.gate.is_open for line in lines)
    judged = [line.gate for line in lines if line.gate.verdict and line.gate.phase == Phase.AFTER]
    failed = sum(gate.verdict == Verdict.FAIL for gate in judged)
    text = f"{under_way} under way." if under_way else ""
    if not judged:
        return Headline(level="info", mark="i", title="No release was judged yet", text=text)
    newest = judged[0]
    title = f"The newest release: {pill_of(newest).text.lower()}"
    counted = "It is the only one." if len(judged) == 1 else f"{failed or 'None'} of the last {len(judged)} failed."
    pill = pill_of(newest)
    return Headline(level=pill.level, mark=pill.mark, title=title, text=f"{counted} {text}".strip())


def release_of(line: GateLine | GateView) -> str:
    """What a release is called."""
    if line.deploy is None:
        return "before a release" if line.gate.phase == Phase.BEFORE else line.gate.release or "a release"
    return line.deploy.version or line.deploy.external_id or "a release"


def rows_of(lines: Sequence[GateLine]) -> list[ListRow]:
    return [ListRow(line=line, pill=pill_of(line.gate), release=release_of(line)) for line in lines]


def rule_row(view: RuleView, names: Mapping[str, str]) -> RuleRow:
    """A rule as a row of the table. `names` are those of regions by their codes, as in all of this."""
    rule, found = view.rule, view.found
    pct = found.pct if found else None
    return RuleRow(
        name=metric_of(rule.metric).label,
        monitor=view.monitor.get_kind_display(),
        limit=limit_sentence(rule),
        warns=rule.level == Level.WARN,
        pill=_PILLS[Verdict(rule.verdict)] if rule.verdict else Pill(level="quiet", mark="…", text="Not judged"),
        before=written(rule.metric, found.before) if found and found.before is not None else "",
        after=written(rule.metric, found.after) if found else "",
        change=_signed(pct.value) if pct else "",
        bounds=f"{_signed(pct.low)} to {_signed(pct.high)}" if pct else "",
        interval=interval_of(rule, found) if found else None,
        note=_note(rule, found),
        regions=tuple(
            RegionRow(
                region=names.get(part.region, part.region),
                change=_signed(part.pct.value),
                bounds=f"{_signed(part.pct.low)} to {_signed(part.pct.high)}",
            )
            for part in (found.regions if found else ())
        ),
    )


def interval_of(rule: GateRule, found: RuleFound) -> Interval | None:
    """On an axis that shows the interval, the limit, and no change at all."""
    if found.pct is not None and found.limit_pct is not None:
        limit = f"limit {_signed(found.limit_pct)}"
        text = f"{_signed(found.pct.value)}, from {_signed(found.pct.low)} to {_signed(found.pct.high)}, {limit}"
        return _drawn(found.pct, found.limit_pct, nothing=0.0, text=text)
    if rule.max_value is None:
        return None
    value = [written(rule.metric, number) for number in (found.value.value, found.value.low, found.value.high)]
    text = f"{value[0]}, from {value[1]} to {value[2]}, limit {limit_sentence(rule)}"
    return _drawn(found.value, rule.max_value, nothing=None, text=text)


def runs_text(view: GateView) -> str:
    """How much was measured, in a line."""
    runs = view.runs
    made = number_of(runs.completed, "run")
    lasted = f" in {lasting(view.duration_s)}" if view.duration_s is not None else ""
    failed = f"; {units.count(runs.failed)} of them failed" if runs.failed else ""
    first = "the first" if runs.discarded == 1 else f"the first {units.count(runs.discarded)}"
    warmed = f"; {first} only warmed caches" if runs.discarded else ""
    return f"{made}{lasted}{failed}{warmed}"


def regions_text(gate: Gate, names: Mapping[str, str]) -> str:
    """Where a gate measures."""
    return ", ".join(sorted(names.get(code, code) for code in gate.regions))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    run: GateRun
    pill: Pill
    ttfb_us: int | None


def run_rows(view: GateView) -> list[RunRow]:
    """The runs, the newest first."""
    pills = {
        RunState.PENDING: Pill(level="info", mark="◐", text="Under way"),
        RunState.MEASURED: Pill(level="good", mark="✓", text="Measured"),
        RunState.FAILED: Pill(level="bad", mark="✕", text="Failed"),
        RunState.NOTHING: Pill(level="quiet", mark="□", text="Says nothing"),
    }
    return [
        RunRow(run=run, pill=pills[RunState(run.state)], ttfb_us=run.values.get("ttfb_us"))
        for run in reversed(view.made)
    ]


def _drawn(bounds: Bounds, limit: float, *, nothing: float | None, text: str) -> Interval:
    marks = [bounds.low, bounds.high, limit, *([] if nothing is None else [nothing])]
    least, most = min(marks), max(marks)
    scale = (WIDTH - 2 * _PAD) / ((most - least) or 1.0)

    def place(value: float) -> float:
        return round(_PAD + (value - least) * scale, 1)

    return Interval(
        low=place(bounds.low),
        value=place(bounds.value),
        high=place(bounds.high),
        limit=place(limit),
        nothing=None if nothing is None else place(nothing),
        width=WIDTH,
        text=text,
    )


def _note(rule: GateRule, found: RuleFound | None) -> str:
    if found is None:
        return rule.reason
    if rule.verdict == Verdict.INCONCLUSIVE:
        return rule.reason or undecided_sentence(found)
    return grown_sentence(found)


def _signed(pct: float) -> str:
    return f"{signed(pct)} %"
