"""What the alerts page needs beside the incidents: how many want attention, and what is only watched so far."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from backend.accounts.models import Organisation
from backend.alerts.models import Incident, Rule, Watch
from backend.alerts.states import State
from backend.instants import from_us
from backend.sites.models import Monitor

MAX_WATCHED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Something a rule has seen and not told: it has not lasted, or another region is being asked.

    `rule` is None while a first failure is being confirmed.
    """

    monitor: Monitor
    rule: Rule | None
    state: State
    since: datetime


def attention_count(organisation: Organisation) -> int:
    """How many open incidents are not muted. One statement."""
    now = timezone.now()
    muted = Q(muted_until_recovery=True) | Q(muted_until__gt=now)
    return Incident.objects.filter(organisation=organisation, resolved_at=None).exclude(muted).count()


def watched(organisation: Organisation) -> list[Watched]:
    """What is watched, the newest first. Two statements."""
    doubtful = Q(memory__contains='"asks":') | Q(memory__contains='"told":null')
    rows = Watch.objects.filter(doubtful, monitor__site__organisation=organisation)
    found = list(rows.select_related("monitor__site").order_by("monitor")[:MAX_WATCHED])
    rules = Rule.objects.select_related("site").in_bulk({number for row in found for number in _undecided(row)})
    seen = [one for row in found for one in _watched(row, rules)]
    return sorted(seen, key=lambda one: one.since, reverse=True)


def _watched(row: Watch, rules: dict[int, Rule]) -> Iterator[Watched]:
    memory = json.loads(row.memory)
    for _, _, at_us in memory.get("asks", ())[:1]:
        yield Watched(monitor=row.monitor, rule=None, state=State.FAILING, since=from_us(at_us))
    for number, track in _undecided(row).items():
        if number in rules:
            state, since = State(track["state"]), from_us(track["since_us"])
            yield Watched(monitor=row.monitor, rule=rules[number], state=state, since=since)


def _undecided(row: Watch) -> dict[int, Any]:
    """The tracks of rules that have seen something bad and told nobody."""
    rules = json.loads(row.memory).get("rules", {})
    tracks = {int(number): kept.get("t") or {} for number, kept in rules.items()}
    return {number: track for number, track in tracks.items() if track.get("state", "ok") != "ok" and not track["told"]}
