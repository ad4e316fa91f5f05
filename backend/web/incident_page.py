"""The page of one incident: what happened, before and after, and who was told. No I/O."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from backend.alerts.models import Delivery, DeliveryState, Incident, IncidentEvent, Member, RuleKind
from backend.alerts.models.incidents import EventKind, Silence
from backend.alerts.queries.incidents import IncidentDetail
from backend.alerts.recurring import times_told
from backend.alerts.wording import budget_evidence, joined, of_last
from backend.runs.queries import RunDetail
from backend.web import times
from backend.web.compare_page import growth_of
from backend.web.inbox import Line, line_of, regions_of, state_word
from backend.web.run_page import verdict_of as run_verdict
from backend.web.verdict import Level, Verdict
from backend.web.waterfall.rows import Chart
from backend.web.waterfall.side_by_side import charts_on_one_axis
from backend.web.waterfall.text import printable

# More rows than this are looked at on the run's own page.
MAX_ROWS = 40

_SILENCES = {
    Silence.MUTED: "not told: muted",
    Silence.MAINTENANCE: "not told: maintenance",
    Silence.FLAPPING: "not told: it keeps coming and going",
    Silence.STALE: "not told: it was seen too late",
    Silence.RULE: "not told: the rule tells nobody",
    Silence.DEPENDENCY: "not told: what it relies on is down, or may be",
    Silence.FINDING: "not told: its cause was told already",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one rule says of one monitor."""

    rule: str
    monitor: str
    state: str
    regions: str
    since: datetime
    ended_at: datetime | None
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One entry of the time line. `seen_at` is when it was measured, where that was before what stands above it."""

    at: datetime
    what: str
    text: str
    who: str
    told: str
    seen_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPicture:
    """A run beside another, its waterfall on the axis of both. Without a chart nothing was measured, or is kept."""

    name: str
    detail: RunDetail
    verdict: Verdict
    chart: Chart | None

    @property
    def more(self) -> int:
        """How many rows are not drawn here."""
        return max(0, len(self.chart.rows) - MAX_ROWS) if self.chart else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPage:
    line: Line
    verdict: Verdict
    findings: tuple[Finding, ...]
    moments: tuple[Moment, ...]
    pictures: tuple[RunPicture, ...]
    growth: str
    can_accept: bool
    max_rows: int = MAX_ROWS


def incident_page(
    detail: IncidentDetail,
    before: RunDetail | None,
    after: RunDetail | None,
    *,
    names: Mapping[str, str],
    now: datetime,
) -> IncidentPage:
    """All that the page says. `names` are those of regions."""
    line = line_of(detail.row, names, now)
    members = detail.row.members
    return IncidentPage(
        line=line,
        verdict=_verdict(detail, line),
        findings=tuple(_finding(member, names) for member in members),
        moments=_moments(detail),
        pictures=_pictures(before, after),
        growth=_growth(before, after),
        can_accept=detail.incident.is_open
        and any(member.kind == RuleKind.REGRESSION and member.ended_at is None for member in members),
    )


def _verdict(detail: IncidentDetail, line: Line) -> Verdict:
    """What is the matter; of what is over, that it is, since its title speaks of then as of now."""
    if detail.incident.quiet_since is not None:
        text = f"While it lasts: {line.title}. {_text(detail, line)}"
        return Verdict(level=_level(line), title="It keeps coming and going, and is well at the moment", text=text)
    if line.resolved_at is None:
        return Verdict(level=_level(line), title=line.title, text=_text(detail, line))
    title = f"{line.pill.text} after {line.spent}"
    return Verdict(level=_level(line), title=title, text=f"While it lasted: {line.title}. {_told(detail.deliveries)}")


def _level(line: Line) -> Level:
    levels: dict[str, Level] = {"resolved": "good", "muted": "info", "open": "bad"}
    return levels.get(line.status, "warn")


def _text(detail: IncidentDetail, line: Line) -> str:
    """How long, what next, and who knows."""
    parts = [f"Open for {line.spent}.", _handled(detail.incident, line)]
    if detail.row.in_maintenance:
        parts.append("It is a time of maintenance: nothing is told.")
    if by_the_clock := times_told(detail.incident):
        parts.append(f"{by_the_clock} It is over once it has stayed away twice.")
    elif detail.incident.flapping:
        parts.append("It keeps coming and going; it is over once it was quiet for a while.")
    return " ".join(part for part in [*parts, _told(detail.deliveries)] if part)


def _handled(incident: Incident, line: Line) -> str:
    """What people have done about it: neither is as old as the incident."""
    by = f" by {incident.acknowledged_by}" if incident.acknowledged_by else ""
    known = f"Acknowledged{by}." if incident.acknowledged_at else ""
    end = "it has recovered" if line.muted_until is None else times.short(line.muted_until)
    muted = f"Muted until {end}." if line.status == "muted" else ""
    return " ".join(part for part in (known, muted) if part)


def _told(deliveries: Sequence[Delivery]) -> str:
    arrived = [one for one in deliveries if one.state in (DeliveryState.DELIVERED, DeliveryState.DIGESTED)]
    names = list(dict.fromkeys(printable(one.channel_name, 60) for one in reversed(arrived)))
    parts = [f"{joined(names)} {'was' if len(names) == 1 else 'were'} told."] if names else []
    parts += _held([one for one in reversed(deliveries) if one.is_held])
    waiting = any(one.state == DeliveryState.WAITING for one in deliveries)
    return " ".join(parts) or ("The message is on its way." if waiting else "No channel was told.")


def _held(deliveries: Sequence[Delivery]) -> Iterator[str]:
    """Which channels are told later, if it still calls by then where they have a delay."""
    until = {printable(one.channel_name, 60): one.next_try_at for one in deliveries}
    for name, at in until.items():
        yield f"{name} is told no sooner than {times.short(at)}."


def _finding(member: Member, names: Mapping[str, str]) -> Finding:
    said = [*member.facts.get("sentences", ()), *([member.facts["end"]] if "end" in member.facts else [])]
    sentences = [times.as_read(printable(str(sentence), 400)) for sentence in said]
    return Finding(
        rule=printable(member.rule.title if member.rule else member.get_kind_display(), 100),
        monitor=member.monitor.get_kind_display() if member.monitor else "",
        state=state_word(member.state),
        regions=printable(regions_of(member, names), 300),
        since=member.since,
        ended_at=member.ended_at,
        sentences=tuple(_evidence(member)) + tuple(sentences),
    )


def _evidence(member: Member) -> Iterator[str]:
    detail = member.facts.get("detail")
    if detail:
        yield printable(str(detail), 400)
    if member.facts.get("failed") and member.facts.get("of_last"):
        yield f"Failed: {of_last(member.facts['failed'], member.facts['of_last'], 'run')}."
    if member.kind == RuleKind.BUDGET and "limit" in member.facts:
        yield budget_evidence(member.facts)


def _moments(detail: IncidentDetail) -> tuple[Moment, ...]:
    """In their order, none of them before another that came about first: evidence may be older, and judged later."""
    moments: list[Moment] = []
    for moment in (_moment(event, detail) for event in detail.events):
        latest = moments[-1].at if moments else moment.at
        is_older = times.short(moment.at) != times.short(latest) and moment.at < latest
        seen_at = moment.at if is_older else None
        moments.append(replace(moment, at=max(latest, moment.at), seen_at=seen_at))
    return tuple(moments)


def _moment(event: IncidentEvent, detail: IncidentDetail) -> Moment:
    text = printable(event.text, 1_000)
    return Moment(
        at=event.at,
        what=EventKind(event.kind).label,
        # What people write is left as they wrote it.
        text=text if event.kind == EventKind.COMMENT else times.as_read(text),
        who=str(event.actor) if event.actor else "",
        told=_who_heard(event, detail),
    )


def _who_heard(event: IncidentEvent, detail: IncidentDetail) -> str:
    if event.silenced:
        return _SILENCES[Silence(event.silenced)]
    if event.notice is None:
        return ""
    if event.pk in detail.held:
        return "held"
    if event.pk in detail.on_the_way:
        return "on its way"
    return "told" if event.pk in detail.told else "no channel was told"


def _growth(before: RunDetail | None, after: RunDetail | None) -> str:
    if before is None or after is None or before.measurement is None or after.measurement is None:
        return ""
    return growth_of(before.measurement, after.measurement)


def _pictures(before: RunDetail | None, after: RunDetail | None) -> tuple[RunPicture, ...]:
    named = [(name, detail) for name, detail in (("Before", before), ("After", after)) if detail is not None]
    measured = [detail.measurement for _, detail in named if detail.measurement is not None]
    charts = iter(charts_on_one_axis(*measured))
    return tuple(
        RunPicture(
            name=name,
            detail=detail,
            verdict=run_verdict(detail),
            chart=None if detail.measurement is None else next(charts),
        )
        for name, detail in named
    )
