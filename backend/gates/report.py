"""A gate as Markdown: for a step's summary, or a comment on a change. Pure."""

import re
from collections.abc import Iterable

from backend.alerts.metrics import metric_of, written
from backend.gates.documents import Bounds
from backend.gates.models import Level, Phase, RunState, Verdict
from backend.gates.queries import GateView, RuleView
from backend.gates.wording import limit_sentence, signed

_MARKS = {
    Verdict.PASS: "✅ pass",
    Verdict.FAIL: "❌ fail",
    Verdict.INCONCLUSIVE: "⚪ inconclusive",
    Verdict.ERROR: "⚠️ error",
}
# What Markdown or a table would take for its own.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>&|#!~])")


def markdown_report(view: GateView, *, url: str) -> str:
    """The verdict, a table of rules, regions, warnings, and a link to the page."""
    gate = view.gate
    verdict = _MARKS.get(Verdict(gate.verdict), gate.verdict) if gate.verdict else gate.status
    lines = [f"### {verdict}: {_plain(view.site.name)}{_release(view)}", "", _plain(gate.summary or "Under way."), ""]
    if gate.phase == Phase.AFTER:
        lines += [
            "| rule | limit | before | after | change | verdict |",
            "|---|---|---:|---:|---:|---|",
            *(_row(rule) for rule in view.rules),
            "",
        ]
    lines += [*_regions(view.rules), *_notes(view), f"[All runs and intervals]({url})", ""]
    return "\n".join(lines)


def _release(view: GateView) -> str:
    name = view.gate.release if view.deploy is None else view.deploy.version or view.deploy.external_id
    return f", {_plain(name)}" if name else ""


def _row(view: RuleView) -> str:
    rule, found = view.rule, view.found
    name = _plain(f"{metric_of(rule.metric).label} ({rule.monitor.kind})")
    verdict = _MARKS.get(Verdict(rule.verdict), "") if rule.verdict else "not judged"
    if rule.level == Level.WARN:
        verdict += " (warns only)"
    if found is None:
        return f"| {name} | {limit_sentence(rule)} | | | {_plain(rule.reason)} | {verdict} |"
    before = written(rule.metric, found.before) if found.before is not None else ""
    change = _change(found.pct) if found.pct else ""
    after = written(rule.metric, found.after)
    return f"| {name} | {limit_sentence(rule)} | {before} | {after} | {change} | {verdict} |"


def _change(pct: Bounds) -> str:
    return f"{signed(pct.value)} % ({signed(pct.low)} to {signed(pct.high)} %)"


def _regions(rules: Iterable[RuleView]) -> Iterable[str]:
    """By region, for what did not pass."""
    for view in rules:
        if view.found is not None and view.found.regions and view.rule.verdict != Verdict.PASS:
            parts = ", ".join(f"{part.region} {signed(part.pct.value)} %" for part in view.found.regions)
            yield f"{_plain(metric_of(view.rule.metric).label)} by region: {parts}."
            yield ""


def _notes(view: GateView) -> Iterable[str]:
    runs, failed = view.runs, view.runs.failed
    regions = len({run.region_id for run in view.made})
    places = "1 region" if regions == 1 else f"{regions:,} regions"
    made = "1 run" if runs.completed == 1 else f"{runs.completed:,} runs"
    told = f"{made} in {places}, {runs.looks} of {runs.planned_looks} looks" + (
        f", {failed:,} failed" if failed else ""
    )
    yield f"{told}, confidence {100 * view.gate.confidence:g} %."
    yield ""
    for pair in view.addresses:
        yield f"- {pair.monitor.kind}: {_plain(pair.after)} against {_plain(pair.before)}, measured in turns"
    for warning in view.gate.warnings[:10]:
        yield f"- {_plain(warning)}"
    # Where there is a verdict all the same, a warning has told of them.
    is_told = view.gate.verdict not in ("", Verdict.ERROR)
    reasons = {run.reason for run in view.made if run.state == RunState.FAILED and run.reason and not is_told}
    for reason in sorted(reasons)[:3]:
        yield f"- A run failed: {_plain(reason)}"
    if view.gate.warnings or reasons or view.addresses:
        yield ""


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
