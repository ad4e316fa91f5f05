"""The list of sites as it is shown: one verdict, a few numbers, a row a site. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeGuard
from uuid import UUID

from backend.alerts.message import Severity
from backend.alerts.models import Incident
from backend.fleet.models import Region
from backend.fleet.queries import Health, RegionState
from backend.instants import from_us
from backend.runs.models import Outcome
from backend.runs.queries import FoundCause, MonitorOverview, NewestRun, SiteOverview
from backend.sites.models import Site
from backend.web import units
from backend.web.findings import Hint, hint_of
from backend.web.times import as_read
from workers.measurement.failure import Blame
from workers.measurement.messages import Kind

Level = Literal["good", "warn", "bad", "info", "quiet"]
MARKS: dict[Level, str] = {"good": "✓", "warn": "!", "bad": "✕", "info": "i", "quiet": "○"}
# A run that is due waits and is tried again for a while: what is later than this does not come.
_OVERDUE, _PATIENCE = 3, timedelta(minutes=5)
WORST_FIRST: dict[Level, int] = {"bad": 0, "warn": 1, "info": 2, "good": 3, "quiet": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A state: word, shape and colour."""

    level: Level
    text: str

    @property
    def mark(self) -> str:
        return MARKS[self.level]


PAUSED = Word(level="quiet", text="Paused")
SILENT = Word(level="warn", text="No new results")
NOWHERE = Word(level="warn", text="No region measures it")
_NOWHERE_BY_KIND = {
    Kind.PROBE.value: Word(level="warn", text="No region probes it"),
    Kind.PAGE.value: Word(level="warn", text="No region loads it"),
}
_ALL_NOWHERE = frozenset({NOWHERE, *_NOWHERE_BY_KIND.values()})
_WHY_NOWHERE = "The regions it is measured from are gone, or there are none. Choose others in its settings."


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A site in a region: the newest first byte of its probe and largest paint of its page load."""

    region: Region
    ttfb_us: int | None
    lcp_us: int | None
    level: Level
    has_agent: bool

    @property
    def seen(self) -> bool:
        return self.ttfb_us is not None or self.lcp_us is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What an open incident says of a site, the worst one; `more` is how many others are open."""

    incident: UUID
    title: str
    is_critical: bool
    more: int

    @property
    def word(self) -> Word:
        text = "Alert open" if not self.more else f"{units.count(self.more + 1)} alerts open"
        return Word(level="bad" if self.is_critical else "warn", text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRow:
    """A site in the list. Cells and hint are there when it is drawn (`Overview.drawn`): a list may be long."""

    seen: SiteOverview
    health: Word
    every: str
    last_run_at: datetime | None
    alarm: Alarm | None
    cells: tuple[Cell, ...] = ()
    hint: Hint | None = None

    @property
    def site(self) -> Site:
        return self.seen.site

    @property
    def outlook(self) -> str:
        """What is to be expected where the last runs do not say it; else empty."""
        if self.health in _ALL_NOWHERE:
            return _WHY_NOWHERE
        if self.last_run_at is not None:
            return ""
        if self.health == PAUSED:
            return "Nothing is measured until it is resumed in its settings."
        return "The first results come within a minute of an agent's being online."


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The whole page. `verdict` comes first: is anything wrong now, and where? `rows` begin with the worst; `quiet` are
    those of which nothing is to be told: paused, or without a first result.
    """

    verdict: Word
    reason: str
    states: tuple[RegionState, ...]
    sight: "Sight"
    rows: tuple[SiteRow, ...]
    healthy: int
    quiet: int
    regions_online: int

    @property
    def regions(self) -> tuple[Region, ...]:
        return tuple(state.region for state in self.states)

    def of(self, query: str) -> tuple[SiteRow, ...]:
        """The rows whose name or address holds a text."""
        wanted = query.casefold()
        return tuple(row for row in self.rows if wanted in f"{row.site.name} {row.site.url}".casefold())

    def drawn(self, rows: Sequence[SiteRow], found: Mapping[int, Sequence[FoundCause]] = {}) -> list[SiteRow]:
        """Some of the rows with all that is shown of them; `found` are the open causes by monitor."""
        return [replace(row, cells=_cells(row, self.states, self.sight), hint=_hint(row, found)) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """From where something is to be seen: the regions that no agent has joined, and those that see nothing."""

    unmanned: frozenset[int]
    blind: frozenset[int]
    now: datetime

    def is_down(self, run: NewestRun | None, region: Region) -> bool:
        """Whether a run says that the site fails. What failed by a fault of our own says nothing of it."""
        if run is None or run.outcome != Outcome.FAILED:
            return False
        return run.failure_blame != Blame.MONITOR and region.pk not in self.blind


def overview_of(
    sites: Sequence[SiteOverview],
    states: Sequence[RegionState],
    *,
    incidents: Mapping[int, Sequence[Incident]] = {},
    blind: Collection[str] = (),
    now: datetime,
) -> Overview:
    """What the list says of these sites and regions; `incidents` are those that are open by site, the worst first, and
    `blind` the codes of regions that see nothing.
    """
    sight = Sight(
        unmanned=frozenset(state.region.pk for state in states if state.health == Health.NEVER),
        blind=frozenset(state.region.pk for state in states if state.region.code in blind),
        now=now,
    )
    unsorted = [_row(site, _alarm_of(incidents.get(site.site.pk, ())), sight) for site in sites]
    rows = tuple(sorted(unsorted, key=lambda row: WORST_FIRST[row.health.level]))
    online = sum(state.health in (Health.ONLINE, Health.LATE) for state in states)
    verdict, reason = _verdict(rows, states, sight)
    return Overview(
        verdict=verdict,
        reason=reason,
        states=tuple(states),
        sight=sight,
        rows=rows,
        healthy=sum(row.health.level == "good" for row in rows),
        quiet=sum(row.health.level == "quiet" for row in rows),
        regions_online=online,
    )


def _alarm_of(incidents: Sequence[Incident]) -> Alarm | None:
    if not incidents:
        return None
    worst = incidents[0]
    return Alarm(
        incident=worst.public_id,
        title=as_read(worst.title),
        is_critical=any(one.severity == Severity.CRITICAL for one in incidents),
        more=len(incidents) - 1,
    )


def _row(site: SiteOverview, alarm: Alarm | None, sight: Sight) -> SiteRow:
    came = [last.run.received_us for monitor in site.monitors for last in monitor.last if last.run is not None]
    health = _health(site, sight)
    return SiteRow(
        seen=site,
        health=alarm.word if alarm is not None and health.level != "bad" else health,
        every=_every(site.monitors),
        last_run_at=from_us(max(came)) if came else None,
        alarm=alarm,
    )


def _hint(row: SiteRow, found: Mapping[int, Sequence[FoundCause]]) -> Hint | None:
    return hint_of([cause for one in row.seen.monitors for cause in found.get(one.monitor.pk, ())])


def _cells(row: SiteRow, states: Sequence[RegionState], sight: Sight) -> tuple[Cell, ...]:
    runs = {(one.monitor.kind, last.region.pk): last.run for one in row.seen.monitors for last in one.last}
    failing = {
        last.region.pk for one in _going_on(row.seen) for last in one.last if sight.is_down(last.run, last.region)
    }
    return tuple(_cell(state, runs, "bad" if state.region.pk in failing else "info") for state in states)


def _cell(state: RegionState, runs: Mapping[tuple[str, int], NewestRun | None], level: Level) -> Cell:
    region = state.region
    probe, page = runs.get((Kind.PROBE.value, region.pk)), runs.get((Kind.PAGE.value, region.pk))
    return Cell(
        region=region,
        ttfb_us=probe.ttfb_us if _is_whole(probe) else None,
        lcp_us=page.lcp_us if _is_whole(page) else None,
        level=level,
        has_agent=state.health != Health.NEVER,
    )


def _going_on(site: SiteOverview) -> list[MonitorOverview]:
    """What is measured now: how it was when a monitor was paused, a site is no longer."""
    return [one for one in site.monitors if not one.monitor.paused]


def _is_whole(run: NewestRun | None) -> TypeGuard[NewestRun]:
    """Whether it was measured to the end: half a measurement is not comparable."""
    return run is not None and run.outcome == Outcome.MEASURED


def _health(site: SiteOverview, sight: Sight) -> Word:
    """By the last runs in the regions that an agent has joined: what was never to be had is missed nowhere."""
    monitors = _going_on(site)
    if not monitors:
        return PAUSED
    everywhere = [last for monitor in monitors for last in monitor.last]
    lasts = [last for last in everywhere if last.region.pk not in sight.unmanned]
    if everywhere and not lasts:
        return Word(level="warn", text="No agent measures it")
    runs = [last.run for last in lasts if last.run is not None]
    if not runs:
        return Word(level="quiet", text="First results are coming") if lasts else NOWHERE
    failed = sorted({last.region.name for last in lasts if sight.is_down(last.run, last.region)})
    if failed:
        places = (
            "everywhere" if len(failed) > 1 and len(failed) == len({last.region.pk for last in lasts}) else _in(failed)
        )
        return Word(level="bad", text=f"Failing {places}")
    nowhere = [one.monitor.kind for one in monitors if not one.last]
    if nowhere:
        return _NOWHERE_BY_KIND[nowhere[0]]
    if _is_silent(min(monitors, key=lambda one: one.monitor.interval_s), sight):
        return SILENT
    if all(run.outcome != Outcome.MEASURED for run in runs):
        return Word(level="warn", text="Not measured")
    if any(run.outcome != Outcome.MEASURED for run in runs):
        return Word(level="warn", text="Partly measured")
    return Word(level="good", text="Healthy")


def _is_silent(one: MonitorOverview, sight: Sight) -> bool:
    """Whether others should have come since the last runs, and since it is due as it is.

    Also missed ones come, unless the service itself stands.
    """
    manned = [last for last in one.last if last.region.pk not in sight.unmanned]
    came = [last.run.received_us for last in manned if last.run is not None]
    if not came:
        return False
    newest = from_us(max(came))
    since = max(newest, one.monitor.due_since or newest)
    return sight.now - since > _OVERDUE * timedelta(seconds=one.monitor.interval_s) + _PATIENCE


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _from(names: Sequence[str]) -> str:
    return f"from {names[0]}" if len(names) == 1 else f"from {len(names)} regions"


def _in(names: Sequence[str]) -> str:
    return f"in {names[0]}" if len(names) == 1 else f"in {len(names)} regions"


def _verdict(rows: Sequence[SiteRow], states: Sequence[RegionState], sight: Sight) -> tuple[Word, str]:
    unmanned = [state.region.name for state in states if state.health == Health.NEVER]
    if states and len(unmanned) == len(states):
        return Word(level="warn", text="No agent has joined yet"), "Nothing is measured: start an agent in a region."
    verdict, reason = _worst(rows, states, sight)
    places = unmanned[0] if len(unmanned) == 1 else f"{units.count(len(unmanned))} regions"
    note = f" No agent has joined {places} yet: nothing is measured there." if unmanned else ""
    return verdict, f"{reason}{note}"


def _worst(rows: Sequence[SiteRow], states: Sequence[RegionState], sight: Sight) -> tuple[Word, str]:
    alarmed = [row for row in rows if row.alarm is not None and row.health == row.alarm.word]
    failing = [row for row in rows if row.health.level == "bad" and row not in alarmed]
    missed = [row for row in rows if row.health.level == "warn" and row not in alarmed]
    silent = [state.region.name for state in states if state.health == Health.OFFLINE]
    if failing:
        return Word(level="bad", text=_first_of(failing)), _beside(failing, alarmed, rows)
    if alarmed:
        others = f" and {units.count(len(alarmed) - 1)} more" if len(alarmed) > 1 else ""
        worst = alarmed[0]
        text = f"{worst.alarm.title if worst.alarm else ''}{others}"
        return Word(level=worst.health.level, text=text), f"{_rest(rows, alarmed, 'has', 'have', 'no open alert')}."
    if silent:
        return Word(level="warn", text=f"No agent is online {_in(silent)}"), (
            "What is due there is recorded as missed. See the regions for what was last heard."
        )
    blind = [state.region.name for state in states if state.region.pk in sight.blind]
    if blind:
        return Word(level="warn", text=f"Nothing is seen {_from(blind)}"), (
            "What is measured there says nothing of the sites. See the regions for what is known of it."
        )
    if missed and missed[0].health == SILENT:
        return Word(level="warn", text=_first_of(missed)), (
            "Results should have come since. If it stays, a process of the service stands still: /healthz says which."
        )
    if missed and missed[0].health in _ALL_NOWHERE:
        return Word(level="warn", text=_first_of(missed)), _WHY_NOWHERE
    if missed:
        return Word(level="warn", text=_first_of(missed)), (
            "A run that did not take place says nothing about its site. Each says why, on the page of the site."
        )
    if rows and all(row.health.level == "quiet" for row in rows):
        return Word(level="info", text="Nothing is measured now"), "Every site is paused, or waits for its first run."
    whose = "every site that is not paused or new" if any(row.health.level == "quiet" for row in rows) else "every site"
    where = "in every region that has an agent" if any(not state.agents for state in states) else "in every region"
    return Word(
        level="good", text="Nothing fails, and no alert is open"
    ), f"The last run of {whose} was measured {where}."


def _beside(failing: Sequence[SiteRow], alarmed: Sequence[SiteRow], rows: Sequence[SiteRow]) -> str:
    """How the sites are that do not fail."""
    text = _rest(rows, failing, "does", "do", "not fail")
    if not alarmed:
        return f"{text}."
    return f"{text}; {units.count(len(alarmed))} of them {'has' if len(alarmed) == 1 else 'have'} an open alert."


def _rest(rows: Sequence[SiteRow], ill: Sequence[SiteRow], one: str, many: str, well: str) -> str:
    """How many are well: `2 of 3 sites do not fail`. Of what is paused or new nobody knows."""
    known = [row for row in rows if row.health.level != "quiet"]
    measured = "" if len(known) == len(rows) else "measured "
    rest = len(known) - len(ill)
    if not rest:
        alone, together = f"It is the only {measured}site", f"Those are all {units.count(len(known))} {measured}sites"
        return alone if len(known) == 1 else together
    return f"{units.count(rest)} of {units.count(len(known))} {measured}sites {one if rest == 1 else many} {well}"


def _first_of(rows: Sequence[SiteRow]) -> str:
    others = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return f"{rows[0].site.name}: {_lower(rows[0].health.text)}{others}"


def _every(monitors: Sequence[MonitorOverview]) -> str:
    names = {Kind.PROBE.value: "probed", Kind.PAGE.value: "loaded"}
    parts = [
        f"{names[one.monitor.kind]} every {units.interval(one.monitor.interval_s)}".replace(" ", "\N{NO-BREAK SPACE}")
        for one in monitors
        if not one.monitor.paused
    ]
    return ", ".join(parts) or "paused"
