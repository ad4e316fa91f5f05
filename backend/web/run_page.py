"""What the page of one run shows: chosen from the run, its measurement and the URL. No I/O."""

from dataclasses import dataclass, replace
from uuid import UUID

from backend.runs.diagnoses import diagnosis_in
from backend.runs.failed import failure_of
from backend.runs.models import Outcome, Run, Trigger
from backend.runs.queries import Asked, RunDetail
from backend.sites.models import Monitor
from backend.web import units
from backend.web.findings import Panel, of_run
from backend.web.phrases import listed
from backend.web.verdict import Card, Verdict, cards_of, failed_verdict, measured_verdict, missed_verdict
from backend.web.waterfall.board import of_visit
from backend.web.waterfall.text import printable
from workers.diagnosis.catalogue import answered_by
from workers.measurement.contention import contention_told, probe_contention_told
from workers.measurement.evidence import Depth
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import Diagnosis
from workers.measurement.messages import Kind, MissedReason, PageMeasurement, ProbeMeasurement
from workers.measurement.pair import PairTarget

_WHY = {
    Trigger.MANUAL.value: "tested by hand",
    Trigger.CONFIRM.value: "to confirm a failure or its end",
    Trigger.GATE.value: "for a gate",
    Trigger.MAPPED.value: "once, with a host at another address",
    Trigger.COST.value: "to see what hosts cost",
    Trigger.DIAGNOSE.value: "to find out why something changed",
}
_NOT_KEPT = (
    "The network was not seen to keep the numbers of its profile: a handshake was quicker than its round trip, data "
    "came faster than its rate, or no connection was made. The times below are not to be compared, and count for no "
    "chart, baseline, rule or gate. If it happens again, look at this region's agent."
)
_BUSY = (
    "They are no visitor's, count for no baseline and no rule, and no gate fails by them alone. If it happens again, "
    "give this region's agent a machine of its own, more processors, or fewer browsers (FIRSTBYTE_BROWSERS)."
)
_NO_DETAILS = (
    "The details of this run are no longer kept, or this version cannot read them, as of an agent that is newer than "
    "the service."
)
_NOTHING_ELSE = Verdict(
    level="info", title="Nothing else was found", text="What comes after the fault could not be looked at."
)
_KINDS = {Kind.PAGE.value: "Page load", Kind.PROBE.value: "Probe", Kind.PAIR.value: "Pair"}


def verdict_of(detail: RunDetail) -> Verdict:
    """The sentence on top, for every outcome."""
    run, measurement = detail.run, detail.measurement
    if run.outcome == Outcome.MISSED:
        return missed_verdict(MissedReason(run.missed_reason or MissedReason.AGENT_LOST))
    if run.outcome == Outcome.FAILED:
        failed = failure_of(run.failure_kind, run.failure_stage, run.failure_blame, run.failure_detail)
        return failed_verdict(failed or failure(FailureKind.INTERNAL_ERROR), measurement)
    if measurement is None:
        return Verdict(level="info", title="Measured", text=_NO_DETAILS)
    if not _keeps_profile(detail):
        return Verdict(level="warn", title="Measured, but over no network in particular", text=_NOT_KEPT)
    told = _contention_in(detail)
    if told is not None:
        return Verdict(
            level="warn", title="Measured on a machine that was busy with other work", text=f"{told} {_BUSY}"
        )
    return measured_verdict(measurement)


def cards_for(detail: RunDetail, visit: str) -> tuple[Card, ...]:
    """The numbers of the visit that is shown; none where nothing was seen, and no praise for a run that failed."""
    if detail.measurement is None:
        return ()
    cards = cards_of(of_visit(detail.measurement, visit))
    if detail.run.outcome != Outcome.MEASURED:
        return tuple(_unjudged(card, "seen before it failed") for card in cards)
    if not _keeps_profile(detail):
        return tuple(_unjudged(card, "not of this profile") for card in cards)
    return cards if _contention_in(detail) is None else tuple(_unjudged(card, "on a busy machine") for card in cards)


def _unjudged(card: Card, note: str) -> Card:
    return card if card.level == "info" else replace(card, level="info", note=note)


def _keeps_profile(detail: RunDetail) -> bool:
    """Whether the times are those of the network that was asked for: the region's own, or a profile that was kept."""
    seen: object = detail.measurement
    if isinstance(seen, ProbeMeasurement):
        seen = seen.evidence
    return getattr(seen, "profile_verified", None) is not False


def _contention_in(detail: RunDetail) -> str | None:
    """What is to be said of other work beside a run; None where it says nothing against its times."""
    seen = detail.measurement
    if isinstance(seen, PageMeasurement):
        return contention_told(seen.vitals)
    return probe_contention_told(seen.contention_us) if seen is not None and detail.run.contended else None


def panel_of(detail: RunDetail, diagnosis: Diagnosis | None) -> Panel | None:
    """What today's rules make of what was seen; None where there is nothing to judge, or to say of a page."""
    measurement = detail.measurement
    if diagnosis is None or (isinstance(measurement, PageMeasurement) and not diagnosis.findings):
        return None
    if not diagnosis.findings and isinstance(measurement, ProbeMeasurement) and not _was_answered(measurement):
        return None
    evidence = measurement.evidence if isinstance(measurement, ProbeMeasurement) else None
    is_light = isinstance(measurement, ProbeMeasurement) and (evidence is None or evidence.depth is Depth.LIGHT)
    depth = Depth.LIGHT if is_light else Depth.DEEP
    server = None if measurement is None else answered_by(measurement)
    panel = of_run(diagnosis, depth, None if evidence is None else detail.run.total_us, server)
    failed = detail.run.outcome == Outcome.FAILED and panel.verdict.level == "good"
    return replace(panel, verdict=_NOTHING_ELSE) if failed else panel


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one of several runs on a page says; its verdict begins with what kind of run it is. `where` says from which
    region, where that is to be told."""

    kind: str
    where: str
    run_id: UUID
    panel: Panel


def found_by(detail: RunDetail, *, one_of_several: bool = False) -> Found | None:
    """As `panel_of`, for a page where other runs speak too; with its region where it is `one_of_several`."""
    panel = panel_of(detail, diagnosis_in(detail))
    if panel is None:
        return None
    title, where = panel.verdict.title, f" from {printable(detail.region.name)}" if one_of_several else ""
    named = f"{_KINDS[detail.run.kind]}{where}: {title[:1].lower()}{title[1:]}"
    return Found(
        kind=detail.run.kind,
        where=where,
        run_id=detail.run.run_id,
        panel=replace(panel, verdict=replace(panel.verdict, title=named)),
    )


def _was_answered(probe: ProbeMeasurement) -> bool:
    """Whether a server was reached that something could be said of."""
    return any(hop.status is not None or hop.timing.tls is not None for hop in probe.hops)


def asked_for(detail: RunDetail, known: Asked | None) -> str:
    """What a run that brought no complete measurement was to ask for.

    Where its version's address was not kept, the monitor's is told as long as it is sure to have been the same then.
    """
    run, monitor = detail.run, detail.monitor
    if run.outcome == Outcome.MEASURED:
        return ""
    asked = "Asked for" if run.outcome == Outcome.FAILED else "It was to ask for"
    if known is not None:
        return f"{asked} {_addresses(known)}"
    now = Asked(url=monitor.url, other=PairTarget(**monitor.pair) if monitor.pair else None)
    urls = _addresses(now)
    if _has_its_settings(run, monitor):
        return f"{asked} {urls}"
    return f"The monitor may have been changed since; it asks for {urls} now."


def _addresses(asked: Asked) -> str:
    if asked.other is None:
        return asked.url
    there = f" at {asked.other.address}" if asked.other.address else ""
    return listed([asked.url, f"{asked.other.url}{there}"])


def _has_its_settings(run: Run, monitor: Monitor) -> bool:
    """Whether the monitor is surely as it was when it ran. What was never sent out has no version: there is a time."""
    if run.config_version is not None:
        return run.config_version == monitor.config_version
    if monitor.due_since is None:
        return monitor.config_version == 1
    return monitor.due_since <= run.scheduled_for


def about(detail: RunDetail, *, names_agent: bool = True) -> list[str]:
    """The small print: what measured, how, and how long it took. Which agent it was is no business of guests."""
    run = detail.run
    parts = [
        f"{run.depth} probe" if run.depth is not None and run.kind == Kind.PROBE else _KINDS.get(run.kind, run.kind),
        _WHY.get(run.trigger),
        f"attempt {run.attempt}" if run.attempt > 1 else None,
        "came late" if run.late else None,
        run.protocol,
        None if run.browser_version is None else f"Chromium {run.browser_version.removeprefix('Chromium ')}",
        f"agent {run.agent}" if run.agent is not None and names_agent else None,
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
