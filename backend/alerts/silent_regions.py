"""Regions whose agents are all silent: one incident for the organisation, instead of one for every site."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Max, Q

from backend.alerts.incidents import Change, Scene, apply, lock_open
from backend.alerts.judgement.samples import Standing, to_us
from backend.alerts.judgement.tracks import Step
from backend.alerts.models import Cause, Incident, Resolution, Rule, RuleKind
from backend.alerts.states import TABLE, State
from backend.fleet.listening import listening_since
from backend.fleet.models import Region
from backend.runs.models import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A region that an agent was ever heard of in, and when last."""

    region: Region
    seen_at: datetime


def watch_regions(now: datetime) -> int:
    """Opens and ends incidents of silent regions; how many changed. While no web process listens, nobody is silent."""
    since = listening_since(now)
    rules = list(Rule.objects.filter(kind=RuleKind.AGENT, enabled=True).order_by("pk"))
    places = list(_places()) if rules else []
    opened = Incident.objects.filter(cause=Cause.AGENT, resolved_at=None)
    known = set(opened.values_list("organisation", "key"))
    return sum(
        _judge(rule, place, now, since, is_open=(rule.organisation_id, f"agent/{place.region.code}") in known)
        for rule in rules
        for place in places
        if place.region.organisation_id in (None, rule.organisation_id)
    ) + _forget_regions(now)


def _places() -> Iterator[_Place]:
    regions = Region.objects.filter(enabled=True).annotate(seen_at=Max("agents__last_seen_at"))
    for region in regions.exclude(seen_at=None).order_by("pk"):
        yield _Place(region=region, seen_at=region.seen_at)


def _judge(rule: Rule, place: _Place, now: datetime, since: datetime | None, *, is_open: bool) -> int:
    heard_at = max(place.seen_at, since) if since else place.seen_at
    limit = timedelta(seconds=rule.params["silent_s"] + rule.delay_s)
    if since is not None and now - heard_at > limit and not is_open:
        return _open(rule, place, now)
    if is_open and now - place.seen_at <= timedelta(seconds=rule.params["silent_s"]):
        return _end(rule, place, now)
    return 0


@transaction.atomic
def _open(rule: Rule, place: _Place, now: datetime) -> int:
    monitors = _monitors(rule.organisation_id, place.region)
    if not monitors or _closed_by_a_person(rule, place):
        return 0
    standing = Standing(
        state=State.NO_DATA,
        since_us=to_us(place.seen_at),
        regions=(place.region.code,),
        facts={"monitors": monitors},
    )
    apply(_change(rule, place, standing, State.OK, now), now=now)
    return 1


@transaction.atomic
def _end(rule: Rule, place: _Place, now: datetime) -> int:
    if lock_open(rule.organisation_id, f"agent/{place.region.code}") is None:
        return 0
    standing = Standing(state=State.OK, since_us=to_us(place.seen_at))
    return int(apply(_change(rule, place, standing, State.NO_DATA, now), now=now) is not None)


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
    return closed.filter(resolution=Resolution.RESOLVED, resolved_at__gt=place.seen_at).exists()


def _forget_regions(now: datetime) -> int:
    """A region that was switched off is no longer silent."""
    gone = Incident.objects.filter(Q(region__enabled=False), key__startswith="agent/", resolved_at=None)
    count = 0
    for rule_id, region in gone.values_list("members__rule", "region"):
        rule = Rule.objects.filter(pk=rule_id).first()
        place = _Place(region=Region.objects.get(pk=region), seen_at=now)
        count += _end(rule, place, now) if rule else 0
    return count
