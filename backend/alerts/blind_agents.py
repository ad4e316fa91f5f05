"""Agents that are heard of and see nothing: found out now and then, remembered, and asked by whoever judges.

What their runs say counts for no site. It is told of their region, by the rule about agents alone; where an
organisation has switched that off, runs count as they are, since nobody may be left without a word.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q

from backend.accounts.models import Organisation
from backend.alerts.judgement.blindness import Blind, Expected, Newest, Why, cut_off, idle
from backend.alerts.judgement.samples import Sample, Seen
from backend.alerts.looks import MAX_LAG
from backend.alerts.models import Blindness, Rule, RuleKind
from backend.fleet.models import Agent
from backend.fleet.queries import OFFLINE_AFTER, could_hear
from backend.instants import from_us, to_us
from backend.runs.sql import fetch
from workers.measurement.failure import SILENT

# Of each region; the same monitors in all regions, those that are measured most often and else by chance.
MONITORS = 100
# A judge that did not look for so long begins to wait anew.
_AWAY = timedelta(minutes=2)
# For as long as rules are tried on the past, and a day.
_KEPT = timedelta(days=15)
# How far back the newest run is looked for.
_LATELY = timedelta(minutes=20)

_NEWEST = f"""
WITH chosen AS (
    SELECT region_id, monitor_id, interval_s FROM (
        SELECT region_id, monitor_id, interval_s,
            row_number() OVER (PARTITION BY region_id ORDER BY interval_s, hashint8(monitor_id)) AS place
        FROM runs_schedule WHERE enabled AND kind <> 'pair'
    ) s WHERE place <= {MONITORS}
)
SELECT c.region_id, m.url, c.interval_s, m.timeout_s, run.scheduled_for, run.agent, run.outcome, run.failure_kind
FROM chosen c JOIN sites_monitor m ON m.id = c.monitor_id LEFT JOIN LATERAL (
    SELECT scheduled_for, agent, outcome, failure_kind FROM runs_run
    WHERE monitor_id = c.monitor_id AND region_id = c.region_id AND trigger = 'schedule'
        AND scheduled_for > %(since)s AND scheduled_for <= %(now)s
        AND (outcome = 'measured' OR outcome = 'failed' AND failure_blame <> 'monitor')
    ORDER BY scheduled_for DESC LIMIT 1
) run ON true
"""


@dataclass(frozen=True, slots=True)
class Blindnesses:
    """Who was blind when."""

    rows: tuple[Blindness, ...] = ()

    @property
    def regions(self) -> dict[str, Blindness]:
        """The regions from which nothing is seen at this moment, by their codes."""
        return {row.region.code: row for row in self.rows if row.until is None and not row.agent}

    @property
    def agents(self) -> dict[tuple[str, str], Blindness]:
        """The agents that see nothing at this moment, by the codes of their regions and their names."""
        return {(row.region.code, row.agent): row for row in self.rows if row.until is None and row.agent}

    def of_sites(self, samples: Iterable[Sample]) -> list[Sample]:
        """The same, without a word about the site where its agent saw none."""
        return [
            sample._replace(seen=Seen.NOTHING)
            if sample.seen is Seen.DOWN and self.covers(sample.region, sample.agent, sample.at_us)
            else sample
            for sample in samples
        ]

    def covers(self, region: str, agent: str, at_us: int) -> bool:
        """Whether what an agent saw at an instant, or with no name its whole region, says nothing of a site."""
        mine = (row for row in self.rows if row.agent == agent and row.region.code == region)
        return any(to_us(row.since) <= at_us and (row.until is None or at_us <= to_us(row.until)) for row in mine)


def tells_of_agents(rules: Iterable[Rule]) -> bool:
    """Whether somebody hears of a region that sees nothing."""
    return any(rule.kind == RuleKind.AGENT for rule in rules)


def blindnesses(now: datetime) -> Blindnesses:
    """Of the time that may yet be judged. One statement."""
    return _between(now - MAX_LAG, now)


def blindnesses_told(organisation: Organisation, kind: str, since: datetime, until: datetime) -> Blindnesses:
    """What a rule of some kind has to know of a stretch of the past: nothing where nobody hears of agents. Two
    statements.
    """
    hears = kind == RuleKind.AGENT or tells_of_agents(Rule.objects.filter(organisation=organisation, enabled=True))
    return _between(since, until) if hears else Blindnesses()


def _between(since: datetime, until: datetime) -> Blindnesses:
    rows = Blindness.objects.filter(Q(until=None) | Q(until__gt=since), since__lte=until)
    return Blindnesses(tuple(rows.select_related("region").order_by("pk")))


@transaction.atomic
def look_around(now: datetime) -> None:
    """Finds out who is blind now, and remembers it."""
    heard = Agent.objects.filter(last_seen_at__gt=now - OFFLINE_AFTER).values_list("region", "name")
    agents: dict[int, set[str]] = {}
    for region, name in heard:
        agents.setdefault(region, set()).add(name)
    newest, expected = _read(now)
    known = {(row.why, row.region_id, row.agent): to_us(row.since) for row in _going_on()}
    cut = {(region, agent): since_us for (why, region, agent), since_us in known.items() if why == Why.CUT_OFF}
    still = {region: since_us for (why, region, _), since_us in known.items() if why == Why.IDLE}
    found = cut_off(newest, cut, to_us(now))
    found += [*_whole(found, agents), *idle(expected, agents, still, to_us(now))]
    _remember(found, now, may_end=could_hear(now))


def _whole(found: Sequence[Blind], agents: Mapping[int, set[str]]) -> Iterator[Blind]:
    """The regions of which all agents are cut off, since the last of them is."""
    for region, names in agents.items():
        cut = {blind.agent: blind.since_us for blind in found if blind.region == region}
        if names <= set(cut):
            yield Blind(region=region, agent="", why=Why.CUT_OFF, since_us=max(cut[name] for name in names))


def _going_on() -> list[Blindness]:
    return list(Blindness.objects.filter(until=None).order_by("pk"))


def _remember(found: Iterable[Blind], now: datetime, *, may_end: bool) -> None:
    """After a pause of the service no agent has been heard of and no run is new: nobody sees again for that."""
    wanted = {(blind.region, blind.agent, str(blind.why)): blind for blind in found}
    for row in _going_on():
        if wanted.pop((row.region_id, row.agent, row.why), None) is None and may_end:
            row.until = now
        elif now - row.looked_at > _AWAY:
            row.noted_at = now
        row.looked_at = now
        row.save(update_fields=["until", "noted_at", "looked_at"])
    rows = [
        Blindness(
            region_id=blind.region,
            agent=blind.agent,
            why=blind.why,
            since=from_us(blind.since_us),
            noted_at=now,
            looked_at=now,
        )
        for blind in wanted.values()
    ]
    Blindness.objects.bulk_create(rows, ignore_conflicts=True)
    Blindness.objects.filter(until__lt=now - _KEPT).delete()


def _read(now: datetime) -> tuple[list[Newest], list[Expected]]:
    newest, expected = [], []
    rows = fetch(_NEWEST, {"since": now - _LATELY, "now": now})
    for region, url, interval_s, timeout_s, at, agent, outcome, kind in rows:
        host = urlsplit(url).hostname or url
        patience_us = (2 * interval_s + 2 * timeout_s + 60) * 1_000_000
        at_us = None if at is None else to_us(at)
        expected.append(Expected(region=region, host=host, at_us=at_us, patience_us=patience_us))
        if at_us is not None:
            up, silent = outcome == "measured", kind in SILENT
            newest.append(Newest(region=region, agent=agent or "", host=host, at_us=at_us, up=up, silent=silent))
    return newest, expected
