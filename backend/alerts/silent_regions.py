"""Regions whose agents are all silent, or see nothing: one incident of the organisation, not one of every site."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Q

from backend.alerts.blind_agents import blindnesses
from backend.alerts.incidents import Change, Scene, apply, lock_open
from backend.alerts.judgement.samples import Standing
from backend.alerts.judgement.tracks import Step
from backend.alerts.models import Blindness, Cause, Incident, Member, Resolution, Rule, RuleKind
from backend.alerts.states import TABLE, State
from backend.alerts.turns import Apart
from backend.fleet.listening import listening_since
from backend.fleet.models import Region
from backend.instants import to_us
from backend.runs.models import Schedule

log = logging.getLogger(__name__)

_KNOWN = ("rule", "incident__region", "facts")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A region that an agent was ever heard of in, when last, and why nothing is seen from there although it is."""

    region: Region
    seen_at: datetime
    blind: Blindness | None = None

    def silent_at(self, since: datetime | None) -> datetime:
        """From when on nothing came of it, as far as the service itself was `since` then listening and looking."""
        last_at = self.seen_at if self.blind is None else min(self.seen_at, self.blind.noted_at)
        return max(last_at, since) if since else last_at

    @property
    def since(self) -> datetime:
        """When something came of it last."""
        return self.seen_at if self.blind is None else self.blind.since


def watch_regions(now: datetime) -> int:
    """Opens and ends incidents of silent regions; how many changed. While no web process listens, nobody is silent."""
    since = listening_since(now)
    rules = list(Rule.objects.filter(kind=RuleKind.AGENT, enabled=True).order_by("pk"))
    places = list(_places(now)) if rules else []
    opened = Member.objects.filter(incident__cause=Cause.AGENT, incident__resolved_at=None, ended_at=None)
    known = {(rule, region): facts for rule, region, facts in opened.values_list(*_KNOWN)}
    return sum(
        _judged(rule, place, now, since, known.get((rule.pk, place.region.pk)))
        for rule in rules
        for place in places
        if place.region.organisation_id in (None, rule.organisation_id)
    ) + _forget_regions(now)


def _places(now: datetime) -> Iterator[_Place]:
    blind = blindnesses(now).regions
    regions = Region.objects.filter(enabled=True).annotate(seen_at=Max("agents__last_seen_at"))
    for region in regions.exclude(seen_at=None).order_by("pk"):
        yield _Place(region=region, seen_at=region.seen_at, blind=blind.get(region.code))


def _judged(rule: Rule, place: _Place, now: datetime, since: datetime | None, facts: Mapping[str, Any] | None) -> int:
    """A rule that cannot be judged keeps no other organisation from being told."""
    with Apart(log, "rule %s cannot be judged for region %s", rule.public_id, place.region.code):
        return _judge(rule, place, now, since, facts=facts)
    return 0


def _judge(rule: Rule, place: _Place, now: datetime, since: datetime | None, *, facts: Mapping[str, Any] | None) -> int:
    """`facts` are what the rule tells of the region already, None where it tells nothing."""
    limit = timedelta(seconds=rule.params["silent_s"])
    is_heard = now - place.seen_at <= limit
    if facts is None:
        is_due = since is not None and now - place.silent_at(since) > limit + timedelta(seconds=rule.delay_s)
        return _open(rule, place, now) if is_due else 0
    if is_heard and place.blind is None:
        return _end(rule, place, now, Resolution.RECOVERED)
    if is_heard and place.blind is not None and facts.get("why") != place.blind.why:
        return _correct(rule, place, now)
    return 0


@transaction.atomic
def _open(rule: Rule, place: _Place, now: datetime) -> int:
    monitors = _monitors(rule.organisation_id, place.region)
    if not monitors or _closed_by_a_person(rule, place):
        return 0
    apply(_change(rule, place, _standing(place, monitors), State.OK, now), now=now)
    return 1


@transaction.atomic
def _correct(rule: Rule, place: _Place, now: datetime) -> int:
    """Agents are heard of again, and see nothing: what was told has another reason now."""
    standing = _standing(place, _monitors(rule.organisation_id, place.region))
    change = replace(_change(rule, place, standing, State.NO_DATA, now), step=None)
    return int(apply(change, now=now) is not None)


def _standing(place: _Place, monitors: int) -> Standing:
    facts = {"monitors": monitors} if place.blind is None else {"monitors": monitors, "why": place.blind.why}
    return Standing(state=State.NO_DATA, since_us=to_us(place.since), regions=(place.region.code,), facts=facts)


@transaction.atomic
def _end(rule: Rule, place: _Place, now: datetime, resolution: Resolution) -> int:
    if lock_open(rule.organisation_id, f"agent/{place.region.code}") is None:
        return 0
    standing = Standing(state=State.OK, since_us=to_us(place.seen_at))
    change = replace(_change(rule, place, standing, State.NO_DATA, now), resolution=resolution)
    return int(apply(change, now=now) is not None)


def _change(rule: Rule, place: _Place, standing: Standing, before: State, now: datetime) -> Change:
    step = Step(TABLE[before, standing.state].code, before, standing, to_us(now))
    scene = Scene(organisation_id=rule.organisation_id, key=place.region.code, region_id=place.region.pk)
    return Change(rule=rule, scene=scene, standing=standing, step=step)


def _monitors(organisation_id: int, region: Region) -> int:
    """How many monitors of the organisation are measured there."""
    schedules = Schedule.objects.filter(region=region, enabled=True, monitor__site__organisation=organisation_id)
    return int(schedules.aggregate(count=Count("monitor"))["count"])


def _closed_by_a_person(rule: Rule, place: _Place) -> bool:
    """Somebody knows, and does not want to hear of this silence again."""
    closed = Incident.objects.filter(organisation=rule.organisation_id, key=f"agent/{place.region.code}")
    return closed.filter(resolution=Resolution.RESOLVED, resolved_at__gt=place.since).exists()


def _forget_regions(now: datetime) -> int:
    """A region that was removed is no longer silent, and not back either."""
    gone = Incident.objects.filter(Q(region__enabled=False), key__startswith="agent/", resolved_at=None)
    count = 0
    for rule_id, region in gone.values_list("members__rule", "region"):
        rule = Rule.objects.filter(pk=rule_id).first()
        place = _Place(region=Region.objects.get(pk=region), seen_at=now)
        count += _end(rule, place, now, Resolution.REMOVED) if rule else 0
    return count
