"""The alerts page: what is open, whether it is one cause, and who knows. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from backend.alerts.models import Incident, Member, Resolution
from backend.alerts.queries.inbox import Watched
from backend.alerts.queries.incidents import IncidentRow
from backend.alerts.states import WORDS, State
from backend.alerts.wording import joined, lasted, length
from backend.web import units
from backend.web.standing import Pill
from backend.web.times import as_read
from backend.web.verdict import Level, Verdict
from backend.web.waterfall.text import printable

StateFilter = Literal["now", "open", "muted", "over"]
FILTERS: dict[StateFilter, str] = {"now": "all", "open": "open", "muted": "muted", "over": "recovered"}
# The filters that show what is over, which is more with every day.
WITH_OVER: frozenset[StateFilter] = frozenset({"now", "over"})

_WORDS: dict[str, tuple[str, str, str]] = {
    "open": ("bad", "✕", "Open"),
    "acknowledged": ("warn", "◐", "Acknowledged"),
    "flapping": ("warn", "◐", "Flapping"),
    "muted": ("quiet", "\N{EN DASH}", "Muted"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An incident in the list. `spent` is how long it lasts or lasted."""

    public_id: UUID
    pill: Pill
    title: str
    where: str
    opened_at: datetime
    resolved_at: datetime | None
    muted_until: datetime | None
    spent: str
    evidence: str
    status: str
    can_acknowledge: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedLine:
    """Something that is only watched so far."""

    site_id: UUID
    site: str
    text: str
    evidence: str
    spent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """The page: its verdict and its groups. `loud` are the open ones that nobody muted."""

    verdict: Verdict
    loud: tuple[Line, ...]
    watched: tuple[WatchedLine, ...]
    muted: tuple[Line, ...]
    over: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was read."""

    open_rows: Sequence[IncidentRow]
    over_rows: Sequence[IncidentRow]
    watched: Sequence[Watched]
    last_at: datetime | None
    names: Mapping[str, str]
    sites: int
    now: datetime


def inbox_of(found: Found, shown: StateFilter) -> Inbox:
    """The page with the groups that are asked for; the verdict is always of everything that is open."""
    lines = [line_of(row, found.names, found.now) for row in found.open_rows]
    loud = tuple(line for line in lines if line.status != "muted")
    muted = tuple(line for line in lines if line.status == "muted")
    watched = tuple(_watched_line(one, found.now) for one in found.watched)
    return Inbox(
        verdict=_verdict(found, loud, muted),
        loud=loud if shown in ("now", "open") else (),
        watched=watched if shown == "now" else (),
        muted=muted if shown in ("now", "muted") else (),
        over=tuple(line_of(row, found.names, found.now) for row in found.over_rows) if shown in WITH_OVER else (),
    )


def line_of(row: IncidentRow, names: Mapping[str, str], now: datetime) -> Line:
    """One incident as it stands in the list."""
    incident = row.incident
    return Line(
        public_id=incident.public_id,
        pill=pill_of(row),
        title=as_read(printable(incident.title, 300)),
        where=_where(row, names),
        opened_at=incident.opened_at,
        resolved_at=incident.resolved_at,
        muted_until=incident.muted_until,
        spent=_spent(row, now),
        evidence=_evidence(row),
        status=row.status,
        can_acknowledge=incident.is_open and incident.acknowledged_at is None,
    )


def _spent(row: IncidentRow, now: datetime) -> str:
    if row.incident.resolved_at is None:
        return length(now - row.incident.opened_at)
    ended = [(member.ended_at, member.pk, member.facts) for member in row.members if member.ended_at is not None]
    facts = max(ended)[-1] if ended else {}
    return lasted(row.incident.resolved_at - row.incident.opened_at, facts)


def pill_of(row: IncidentRow) -> Pill:
    """The state of an incident as a word and a shape."""
    if row.status == "resolved":
        return Pill(level="good", mark="✓", text=_over_word(row.incident))
    level, mark, text = _WORDS[row.status]
    return Pill(level=level, mark=mark, text=text)


def regions_of(member: Member, names: Mapping[str, str]) -> str:
    """The names of the regions that a finding is about."""
    return joined([names.get(code, code) for code in member.regions]) or "all regions"


def state_word(state: str) -> str:
    """A state in words."""
    return WORDS[State(state)]


def _over_word(incident: Incident) -> str:
    words = {Resolution.RESOLVED: "Closed", Resolution.ACCEPTED: "Accepted", Resolution.RECOVERED: "Recovered"}
    return words.get(Resolution(incident.resolution), "Over") if incident.resolution else "Over"


def _where(row: IncidentRow, names: Mapping[str, str]) -> str:
    incident = row.incident
    monitors = sorted({member.monitor.get_kind_display() for member in row.members if member.monitor})
    regions = [names.get(code, code) for code in row.regions]
    parts = [
        printable(incident.site.name, 100) if incident.site else "",
        joined(monitors).lower(),
        printable(joined(regions), 200) if len(regions) <= 3 else f"{len(regions)} regions",
    ]
    return " · ".join(part for part in parts if part)


def _evidence(row: IncidentRow) -> str:
    """On what it stands, and whether anybody heard of it."""
    incident = row.incident
    findings = len(row.members)
    rules = dict.fromkeys(member.rule.title if member.rule else member.get_kind_display() for member in row.members)
    parts = [", ".join(list(rules)[:2]) + (f" and {len(rules) - 2} more" if len(rules) > 2 else "")]
    if findings > 1:
        parts.append(f"{findings} findings, likely one cause")
    if incident.acknowledged_by is not None and incident.is_open:
        parts.append(f"acknowledged by {incident.acknowledged_by}")
    if row.in_maintenance and incident.is_open:
        parts.append("maintenance: nothing is told")
    elif not (incident.told if incident.is_open else incident.told_at):
        parts.append("nobody was told")
    return " · ".join(part for part in parts if part)


def _watched_line(one: Watched, now: datetime) -> WatchedLine:
    kind = one.monitor.get_kind_display().lower()
    if one.rule is None:
        text, evidence = f"A {kind} failed", "another region is being asked before it counts"
    else:
        text = f"{one.rule.title}: {state_word(one.state)}"
        evidence = "told once it has lasted" if one.rule.delay_s else "watched until it is sure"
    return WatchedLine(
        site_id=one.monitor.site.public_id,
        site=printable(one.monitor.site.name, 100),
        text=printable(text, 200),
        evidence=evidence,
        spent=length(now - one.since),
    )


def _verdict(found: Found, loud: Sequence[Line], muted: Sequence[Line]) -> Verdict:
    if not loud:
        return _calm(found, muted)
    number = units.count(len(loud))
    first = loud[0]
    title = f"{number} open alert{'' if len(loud) == 1 else 's'}: {first.title}"
    level: Level = "bad" if any(line.status == "open" for line in loud) else "warn"
    known = sum(not line.can_acknowledge for line in loud)
    sites = {row.incident.site_id for row in found.open_rows}
    parts = [
        f"For {first.spent}.",
        "All on one site." if len(loud) > 1 and len(sites) == 1 else "",
        f"{known} of {number} acknowledged." if known else "Nobody has acknowledged anything yet.",
    ]
    return Verdict(level=level, title=title, text=" ".join(part for part in parts if part))


def _calm(found: Found, muted: Sequence[Line]) -> Verdict:
    if muted:
        count = len(muted)
        return Verdict(level="info", title="Nothing new is wrong", text=f"{count} alert{_s(count)} muted.")
    if found.watched:
        text = "Something is being watched; it is told once it is sure."
        return Verdict(level="good", title="Nothing is wrong so far", text=text)
    if not found.sites:
        return Verdict(level="info", title="Nothing is watched yet", text="No site is registered yet.")
    if found.last_at is None:
        return Verdict(level="good", title="Nothing is wrong", text="There was never an alert.")
    return Verdict(level="good", title="Nothing is wrong", text=f"Last alert {_days_ago(found.now - found.last_at)}.")


def _days_ago(spent: timedelta) -> str:
    return units.age(max(int(spent.total_seconds()), 1))


def _s(count: int) -> str:
    return " is" if count == 1 else "s are"
