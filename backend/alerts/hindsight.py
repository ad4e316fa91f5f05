"""The past of what single runs do not say: certificates, silences of monitors and of regions, verdicts on CDNs.

Each gives the turns that the judge would have heard, out of what is stored.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlsplit

from django.db.models import Min, Q

from backend.accounts.models import Organisation
from backend.alerts.blind_agents import Blindnesses
from backend.alerts.judgement.certificates import Reading, Shown, ends_first
from backend.alerts.judgement.monitors import Heard, MonitorJudge, RuleSpec, Subject
from backend.alerts.judgement.samples import Sample, seen_in
from backend.alerts.models import Cause, Incident, Rule, RuleKind
from backend.alerts.states import State
from backend.instants import to_us
from backend.runs.slots import window_end
from backend.runs.sql import Row, fetch
from backend.sites.models import Monitor, Site
from workers.measurement.messages import MissedReason

# How often a certificate is looked at: it ends on one day, and is renewed weeks before.
_LOOK = timedelta(hours=6)
_OF = """
    monitor_id = ANY(%(monitors)s::bigint[]) AND region_id = ANY(%(regions)s::bigint[])
    AND scheduled_for >= %(since)s AND scheduled_for < %(until)s AND trigger = 'schedule'
"""
_CERTIFICATES = """
WITH chosen AS (
    SELECT monitor.id AS monitor_id, region.id AS region_id, step.at, run.run_id, run.scheduled_for
    FROM unnest(%(monitors)s::bigint[]) AS monitor (id), unnest(%(regions)s::bigint[]) AS region (id),
        generate_series(%(since)s::timestamptz, %(until)s::timestamptz, %(look)s) AS step (at), LATERAL (
            SELECT run_id, scheduled_for FROM runs_run
            WHERE monitor_id = monitor.id AND region_id = region.id AND outcome = 'measured' AND trigger = 'schedule'
                AND scheduled_for >= step.at AND scheduled_for < step.at + %(look)s AND scheduled_for < %(until)s
            ORDER BY scheduled_for DESC LIMIT 1
        ) run
)
SELECT chosen.monitor_id, chosen.at, chosen.region_id, seen.run_id, seen.host, seen.certificate_not_before,
    seen.certificate_not_after
FROM chosen JOIN runs_connection seen USING (run_id, scheduled_for)
WHERE seen.certificate_not_after IS NOT NULL AND seen.scheduled_for >= %(since)s AND seen.scheduled_for < %(until)s
ORDER BY chosen.monitor_id, chosen.at
"""
_SLOTS = f"""
SELECT monitor_id, region_id, scheduled_for, run_id, outcome, failure_blame, missed_reason, agent FROM runs_run
WHERE {_OF} ORDER BY monitor_id, scheduled_for, attempt LIMIT %(limit)s
"""
_HEARD_OF = f"""
SELECT region_id, scheduled_for, interval_s, missed_reason FROM runs_run
JOIN sites_monitor ON sites_monitor.id = monitor_id
WHERE {_OF} AND (missed_reason IS NULL OR missed_reason IN ('{MissedReason.NO_AGENT}', '{MissedReason.SERVICE_DOWN}'))
ORDER BY region_id, scheduled_for LIMIT %(limit)s
"""
_PAIRS = f"SELECT count(*) FROM runs_run WHERE {_OF} AND outcome = 'measured'"
# What regions were shown, by their codes.
_ByRegion = dict[str, list[Shown]]
# After so many intervals without a slot nothing was to be measured: a pause.
_PAUSE = 3


class Turn(NamedTuple):
    """When something became bad or good, and what; what is bad in one scope at a time is one incident."""

    at_us: int
    scope: str
    what: str
    is_bad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Whose past, by the monitors and the codes of regions by their id, and which stretch of it."""

    monitors: Sequence[Monitor]
    regions: Mapping[int, str]
    since: datetime
    until: datetime
    limit: int
    blind: Blindnesses = field(default_factory=Blindnesses)

    def parameters(self) -> dict[str, object]:
        return {
            "monitors": [monitor.pk for monitor in self.monitors],
            "regions": list(self.regions),
            "since": self.since,
            "until": self.until,
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The turns, and on how many runs they rest."""

    turns: Sequence[Turn]
    runs: int


def turn_of(heard: Heard, monitor: Monitor) -> Turn | None:
    """What a rule says of a monitor; None where only its regions changed."""
    if heard.step is None:
        return None
    return Turn(heard.step.at_us, f"site {monitor.site_id}", str(monitor.pk), heard.step.after is not State.OK)


def certificates(spec: RuleSpec, past: Past) -> Tried:
    """Out of one run a region every few hours. One statement."""
    rows = fetch(_CERTIFICATES, past.parameters() | {"look": _LOOK})
    seen: dict[int, dict[datetime, _ByRegion]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for monitor_id, at, region_id, *shown in rows:
        seen[monitor_id][at][past.regions[region_id]].append(Shown(*shown))
    turns = [turn for monitor in past.monitors for turn in _ending(spec, monitor, seen[monitor.pk], past)]
    return Tried(turns=turns, runs=len({row[3] for row in rows}))


def _ending(spec: RuleSpec, monitor: Monitor, seen: Mapping[datetime, _ByRegion], past: Past) -> Iterator[Turn]:
    judge, host = _judge(spec, monitor, past.since), urlsplit(monitor.url).hostname
    at = past.since
    while at < past.until:
        for code, mine in seen.get(at, {}).items():
            shown = ends_first(mine, kind=monitor.kind, host=host)
            if shown is not None:
                for evaluator in judge.certificates():
                    evaluator.show(code, Reading.of(shown, at_us=to_us(at)))
        at = min(at + _LOOK, past.until)
        yield from _turns(judge.look(to_us(at)), monitor)


def silences(spec: RuleSpec, past: Past) -> Tried:
    """When no run of a monitor ended although regions had agents, by why slots were missed. One statement."""
    by_id = {monitor.pk: monitor for monitor in past.monitors}
    rows = fetch(_SLOTS, past.parameters())
    turns = [
        turn
        for monitor_id, slots in groupby(rows, key=lambda row: row[0])
        for turn in _silent(spec, by_id[monitor_id], [slot[1:] for slot in slots], past)
    ]
    return Tried(turns=turns, runs=len(rows))


def _silent(spec: RuleSpec, monitor: Monitor, slots: Sequence[Row], past: Past) -> Iterator[Turn]:
    judge = _judge(spec, monitor, past.since)
    could: dict[str, bool] = {}
    before_us: int | None = None
    for region_id, at, run_id, outcome, blame, missed, agent in slots:
        code, at_us = past.regions[region_id], to_us(at)
        could[code] = missed != MissedReason.NO_AGENT and not past.blind.covers(code, "", at_us)
        was_paused = before_us is None or at_us - before_us > _PAUSE * monitor.interval_s * 1_000_000
        for presence in judge.presences():
            if was_paused or missed == MissedReason.SERVICE_DOWN:
                presence.restart(at_us)
            presence.expect([one for one in could if could[one]], [one for one in could if not could[one]], at_us)
        (sample,) = past.blind.of_sites([Sample(code, at_us, run_id, seen_in(outcome, blame), "", (), agent or "")])
        yield from _turns([*judge.observe(sample), *judge.look(at_us)], monitor)
        before_us = at_us


def silent_regions(spec: RuleSpec, past: Past) -> Tried:
    """When slots of a region were missed for want of agents, or it saw nothing, for longer than the rule waits. One
    statement.

    A silence is at least as long as from the first such slot to the end of the last one's window. Whoever was down
    meanwhile waits anew, as the watch over regions does, and has heard of nobody.
    """
    rows = fetch(_HEARD_OF, past.parameters())
    limit = timedelta(seconds=spec.params["silent_s"], microseconds=spec.delay_us)
    turns: list[Turn] = []
    for region_id, slots in groupby(rows, key=lambda row: row[0]):
        code = past.regions[region_id]
        for missed_for, stretch in groupby(slots, key=lambda row: row[3]):
            alike = list(stretch)
            began = alike[0][1]
            if missed_for is None:
                turns.append(Turn(to_us(began), code, code, is_bad=False))
            elif missed_for == MissedReason.NO_AGENT and _end_of_last(alike) - began > limit:
                turns.append(Turn(to_us(began + limit), code, code, is_bad=True))
    return Tried(turns=[*turns, *_blind_regions(limit, past)], runs=len(rows))


def _end_of_last(slots: Sequence[Row]) -> datetime:
    return max(window_end(at, interval_s) for _, at, interval_s, _ in slots)


def _blind_regions(limit: timedelta, past: Past) -> Iterator[Turn]:
    """Told once they have seen nothing for so long since they were found out."""
    codes = set(past.regions.values())
    for row in past.blind.rows:
        told_at, what = row.noted_at + limit, f"{row.region.code} {row.why}"
        if row.agent or row.region.code not in codes or not past.since <= told_at < (row.until or past.until):
            continue
        yield Turn(to_us(told_at), row.region.code, what, is_bad=True)
        if row.until is not None:
            yield Turn(to_us(row.until), row.region.code, what, is_bad=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Incidents that were opened since the first rule began to look; None when no rule looks."""

    since: datetime | None
    moments: Sequence[datetime]
    runs: int


def slower_cdns(organisation: Organisation, site: Site | None, past: Past) -> Opened:
    """What the rule did: it has nothing to set, and comparisons are judged as they come. Three statements."""
    rules = Rule.objects.filter(organisation=organisation, kind=RuleKind.CDN, enabled=True)
    incidents = Incident.objects.filter(organisation=organisation, cause=Cause.CDN)
    if site is not None:
        rules, incidents = rules.filter(Q(site=site) | Q(site=None)), incidents.filter(site=site)
    began = rules.aggregate(first=Min("created_at"))["first"]
    if began is None:
        return Opened(since=None, moments=(), runs=0)
    since = max(began, past.since)
    opened = incidents.filter(opened_at__gte=since, opened_at__lt=past.until).order_by("opened_at")
    ((runs,),) = fetch(_PAIRS, past.parameters() | {"since": since})
    return Opened(since=since, moments=tuple(opened.values_list("opened_at", flat=True)), runs=runs)


def _judge(spec: RuleSpec, monitor: Monitor, since: datetime) -> MonitorJudge:
    subject = Subject(
        kind=monitor.kind, interval_s=monitor.interval_s, timeout_s=monitor.timeout_s, began_us=to_us(since)
    )
    return MonitorJudge([spec], subject, {})


def _turns(heard: Sequence[Heard] | Iterator[Heard], monitor: Monitor) -> Iterator[Turn]:
    for one in heard:
        turn = turn_of(one, monitor)
        if turn is not None:
            yield turn
