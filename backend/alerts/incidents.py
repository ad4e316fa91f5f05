"""From what rules say to incidents and what is told, in the transaction of whoever judged.

One incident of a site and cause is open at a time: its row is locked, and a unique index holds against races. What
begins within twenty minutes of another of the same cause joins it without a word; what recovers and begins again within
that time is the same incident. The time line has every change, told or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Max, QuerySet

from backend.alerts.flapping import flip
from backend.alerts.judgement.samples import Standing
from backend.alerts.judgement.tracks import Step
from backend.alerts.message import Event, Severity
from backend.alerts.models import (
    BY_ITSELF,
    Cause,
    EventKind,
    Incident,
    IncidentEvent,
    Member,
    Notice,
    Resolution,
    Rule,
    Silence,
)
from backend.alerts.models.incidents import MAX_TEXT_CHARS, MAX_TITLE_CHARS
from backend.alerts.parameters import KINDS
from backend.alerts.recurring import begin_again, end_again, recognise, times_told
from backend.alerts.states import RANK, State, worst
from backend.alerts.stories import going_on, is_said_by_others, more_severe, severity_of, story_of
from backend.alerts.telling import newcomers, next_reminder, tell_if_loud, was_told_as_bad
from backend.alerts.wording import title_of
from backend.instants import from_us

# As long as chromeperf waits before it looks through what belongs together.
JOIN = timedelta(minutes=20)
_AGAIN = "It was over for less than twenty minutes: this is the same incident."
_AT_ANOTHER_TIME = "It came by the clock, and this was not its time."
# What the lines of time say goes to a column of this length.
_TEXT = slice(MAX_TEXT_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a rule says something: a site, or a region for the rule about agents."""

    organisation_id: int
    key: str
    site_id: int | None = None
    region_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a rule says of a monitor. Without a step it only corrects what is known of a member."""

    rule: Rule
    scene: Scene
    standing: Standing
    step: Step | None
    monitor_id: int | None = None
    metric: str = ""
    resolution: Resolution = Resolution.RECOVERED
    # What was told as soon as it was seen has lasted by now.
    confirms: bool = False
    # It is called as before, and much more than was told.
    grows: bool = False

    @property
    def cause(self) -> Cause:
        return Cause(KINDS[self.rule.kind].cause)

    @property
    def order(self) -> tuple[str, int]:
        """All locks are taken in one order, so that two judges wait for each other and never in a circle."""
        return f"{self.scene.organisation_id} {self.key}", self.step.at_us if self.step else 0

    @property
    def key(self) -> str:
        return f"{self.cause}/{self.scene.key}"


def apply(change: Change, *, now: datetime) -> Incident | None:
    """Makes of a change what it means: an incident opened, joined, worse, better or over. Inside a transaction.

    Gives the incident, locked; None when there was nothing to change.
    """
    if change.standing.state is State.OK:
        incident = lock_open(change.scene.organisation_id, change.key)
        return incident and _leave(incident, change, now)
    if change.step is None:
        return _correct(change, now)
    return _enter(change, now)


def lock_open(organisation_id: int, key: str) -> Incident | None:
    """The open incident of a key, locked until the transaction ends."""
    return locked(Incident.objects.filter(organisation=organisation_id, key=key, resolved_at=None)).first()


def lock(incident_pk: int) -> Incident:
    """An incident, locked until the transaction ends."""
    return locked(Incident.objects.all()).get(pk=incident_pk)


def locked(incidents: "QuerySet[Incident]", *, skip_locked: bool = False) -> "QuerySet[Incident]":
    """The same, each locked once it is read, with all that telling of it needs."""
    rows = incidents.select_for_update(of=("self",), skip_locked=skip_locked)
    return rows.select_related("site", "region", "organisation")


def close(incident: Incident, resolution: Resolution, *, at: datetime) -> None:
    """Ends a locked incident with all its members, as of when the last of them was over; nothing is told here."""
    members = Member.objects.filter(incident=incident)
    members.filter(ended_at=None).update(ended_at=at)
    over_at = members.aggregate(at=Max("ended_at"))["at"] or at
    incident.resolved_at, incident.resolution = max(over_at, incident.opened_at), resolution
    incident.changed_at = at
    incident.flapping, incident.quiet_since, incident.remind_at = False, None, None
    incident.every = incident.longest = None
    incident.muted_until_recovery = False
    incident.save()


def note(
    incident: Incident,
    kind: EventKind,
    text: str,
    *,
    at: datetime,
    silenced: Silence | None = None,
    notice: Notice | None = None,
) -> IncidentEvent:
    """An entry of the judge's own in the time line."""
    return IncidentEvent.objects.create(
        incident=incident, kind=kind, at=at, text=text[_TEXT], silenced=silenced or "", notice=notice
    )


def event_of(resolution: str) -> Event:
    """How an end is told: what a person, a pause or another setting ended has not recovered."""
    return Event.RECOVERED if resolution in BY_ITSELF else Event.RESOLVED


def reason_of(resolution: str) -> str:
    """Why something is over that nobody saw become better, as a sentence."""
    return "" if resolution in BY_ITSELF else f"{Resolution(resolution).label}."


def recover(
    incident: Incident, members: Sequence[Member], *, at: datetime, now: datetime, resolution: Resolution
) -> None:
    """Ends a locked incident by itself; told if anything bad was. `members` are those that were part of it last."""
    event = event_of(resolution)
    kind = EventKind.RECOVERED if event is Event.RECOVERED else EventKind.RESOLVED
    incident.muted_until_recovery = False
    notice, silence = None, None
    if incident.told:
        why = reason_of(resolution)
        notice, silence = tell_if_loud(incident, event, members, now=now, seen_at=now, text=why)
    else:
        incident.owed = False
    close(incident, resolution, at=at)
    note(incident, kind, Resolution(resolution).label, at=at, silenced=silence, notice=notice)


def _correct(change: Change, now: datetime) -> Incident | None:
    """More is known of what was told already."""
    incident = lock_open(change.scene.organisation_id, change.key)
    if incident is None or not _put_member(incident, change, correct=True)[0].pk:
        return None
    members = going_on(incident)
    if members:
        sum_up(incident, members, at=incident.changed_at)
        incident.save()
    if change.confirms:
        note(incident, EventKind.CONFIRMED, incident.title, at=now)
    return incident


def _enter(change: Change, now: datetime) -> Incident:
    """Something is bad."""
    step = change.step
    assert step is not None
    incident, entry, text = _incident_for(change)
    before, was = State(incident.state), Severity(incident.severity)
    is_again = entry is None and _ended_lately(incident, change, from_us(step.at_us))
    member, is_first = _put_member(incident, change)
    members = going_on(incident)
    sum_up(incident, members, at=from_us(step.at_us))
    if entry is None:
        is_worse = change.grows or more_severe([was, Severity(incident.severity)]) is not was
        entry = EventKind.WORSE if is_worse else _what_happened(before, State(incident.state), step)
        entry = EventKind.JOINED if is_said_by_others(member, members) else entry
        loud = entry is not EventKind.JOINED or _is_news(incident, member, members, is_first=is_first)
        if loud and is_again and flip(incident, from_us(step.at_us)):
            entry = EventKind.FLAPPING
    else:
        loud = True
    _announce(incident, entry, [member], loud=loud, now=now, seen_at=from_us(step.at_us), text=text)
    return incident


def _ended_lately(incident: Incident, change: Change, at: datetime) -> bool:
    """Whether the same was bad already in this incident, and was over for a moment only."""
    return _same(incident, change).filter(ended_at__gt=at - JOIN).exists()


def _same(incident: Incident, change: Change) -> "QuerySet[Member]":
    """The member that a change is about, which is one at most."""
    return Member.objects.filter(incident=incident, rule=change.rule, monitor=change.monitor_id, metric=change.metric)


def _is_news(incident: Incident, member: Member, members: Sequence[Member], *, is_first: bool) -> bool:
    """Whether what makes nothing worse is told all the same: what is bad in one way more, long after it began. A site
    that is down is no more so by another rule or monitor."""
    began = incident.flips[-1] if incident.flips else incident.opened_at
    if member.since - began <= JOIN or is_said_by_others(member, members):
        return False
    return is_first or incident.cause == Cause.AVAILABILITY


def _announce(
    incident: Incident,
    entry: EventKind,
    members: Sequence[Member],
    *,
    loud: bool,
    now: datetime,
    seen_at: datetime,
    text: str,
) -> None:
    notice: Notice | None = None
    silence: Silence | None = None
    if incident.flapping and entry is not EventKind.FLAPPING and was_told_as_bad(incident):
        silence = Silence.FLAPPING
    elif loud:
        event = {EventKind.OPENED: Event.OPENED, EventKind.REOPENED: Event.OPENED, EventKind.BETTER: Event.BETTER}
        notice, silence = tell_if_loud(
            incident, event.get(entry, Event.WORSE), members, now=now, seen_at=seen_at, text=text
        )
    if new := newcomers(incident, members):
        first, silence = tell_if_loud(incident, Event.OPENED, members, now=now, seen_at=seen_at, channels=new)
        notice = notice or first
    if incident.told:
        # A rule that joins without a word may ask for reminders, or for sooner ones.
        asked = (incident.remind_at, next_reminder(members, now))
        incident.remind_at = min((at for at in asked if at is not None), default=None)
    incident.save()
    note(incident, entry, _line(incident, members[0]), at=seen_at, silenced=silence, notice=notice)


def _leave(incident: Incident, change: Change, now: datetime) -> Incident | None:
    """Something is no longer bad."""
    at = from_us(change.step.at_us) if change.step else now
    mine = _same(incident, change).filter(ended_at=None).first()
    if mine is None:
        return None
    mine.ended_at = max(min(from_us(change.standing.since_us), at), mine.since)
    _widen(mine, incident, change.standing)
    if "end" in change.standing.facts:
        mine.facts = mine.facts | {"end": change.standing.facts["end"]}
    mine.save(update_fields=["ended_at", "regions", "facts", "state"])
    if rest := going_on(incident):
        sum_up(incident, rest, at=at)
        incident.save()
        note(incident, EventKind.BETTER, f"Over: {_line(incident, mine)}", at=at)
    elif incident.flapping and change.resolution in BY_ITSELF:
        incident.quiet_since = at
        end_again(incident, at)
        incident.save()
        note(incident, EventKind.RECOVERED, _line(incident, mine), at=at, silenced=Silence.FLAPPING)
    else:
        sum_up(incident, [mine], at=at)
        recover(incident, [mine], at=at, now=now, resolution=change.resolution)
    return incident


def _widen(member: Member, incident: Incident, standing: Standing) -> None:
    """What is over was bad in all of its regions, and not only in the last of them to be well again."""
    if set(standing.regions) > set(member.regions):
        member.regions, member.facts = list(standing.regions), member.facts | dict(standing.facts)
        member.state = incident.worst_state


def _incident_for(change: Change) -> tuple[Incident, EventKind | None, str]:
    """The open incident, the one that was over a moment ago, or a new one; which of the latter two it was, and what is
    to be said of that."""
    step, scene = change.step, change.scene
    assert step is not None
    at = from_us(step.at_us)
    incident = lock_open(scene.organisation_id, change.key)
    if incident is None:
        incident = _reopened(change, at)
        if incident:
            return (incident, EventKind.FLAPPING, "") if incident.flapping else (incident, EventKind.REOPENED, _AGAIN)
        incident, created = _opened(change, at)
        if created:
            recognise(incident)
            return incident, EventKind.OPENED, times_told(incident)
    if incident.flapping and incident.quiet_since is not None:
        incident.quiet_since = None
        is_usual = begin_again(incident, min(at, from_us(change.standing.since_us)))
        return incident, EventKind.REOPENED, times_told(incident) if is_usual else _AT_ANOTHER_TIME
    return incident, None, ""


def _reopened(change: Change, at: datetime) -> Incident | None:
    """What was seen to end by itself less than twenty minutes ago has not ended."""
    recent = Incident.objects.filter(
        organisation=change.scene.organisation_id,
        key=change.key,
        resolution__in=BY_ITSELF,
        changed_at__gt=at - JOIN,
    )
    incident = locked(recent).order_by("-resolved_at").first()
    if incident is None:
        return None
    incident.resolved_at, incident.resolution = None, ""
    flip(incident, at)
    incident.state = State.OK
    return incident


def _opened(change: Change, at: datetime) -> tuple[Incident, bool]:
    """A new incident, unless another judge opened it at this moment."""
    scene, standing = change.scene, change.standing
    fresh = Incident(
        organisation_id=scene.organisation_id,
        site_id=scene.site_id,
        region_id=scene.region_id,
        cause=change.cause,
        key=change.key,
        state=State.OK,
        worst_state=State.OK,
        severity=change.rule.severity,
        opened_at=min(at, from_us(standing.since_us)),
        changed_at=at,
    )
    Incident.objects.bulk_create([fresh], ignore_conflicts=True)
    incident = lock_open(scene.organisation_id, change.key)
    assert incident is not None, "the unique index keeps one open"
    return incident, incident.public_id == fresh.public_id


def _put_member(incident: Incident, change: Change, *, correct: bool = False) -> tuple[Member, bool]:
    """The member as the standing has it, and whether it is of the incident for the first time."""
    standing = change.standing
    found = _same(incident, change).first()
    is_new = found is None or found.ended_at is not None
    if correct and is_new:
        return found or Member(), found is None
    member = found or Member(
        incident=incident, rule=change.rule, kind=change.rule.kind, monitor_id=change.monitor_id, metric=change.metric
    )
    if is_new:
        member.since, member.ended_at = from_us(standing.since_us), None
    if is_new or member.regions[:1] != list(standing.regions[:1]):
        # Both runs are of the first region.
        member.before_run = UUID(standing.before) if standing.before else None
    member.state, member.regions, member.facts = standing.state, list(standing.regions), dict(standing.facts)
    member.after_run = UUID(standing.after) if standing.after else member.after_run
    member.save()
    return member, found is None


def sum_up(incident: Incident, members: Sequence[Member], *, at: datetime) -> None:
    """State, severity and title of a locked incident follow from the members that go on, which are at least one."""
    incident.state = worst([State(member.state) for member in members])
    incident.worst_state = worst([State(incident.state), State(incident.worst_state)])
    incident.severity = more_severe(
        severity_of(member.rule.severity, State(member.state)) for member in members if member.rule
    )
    incident.title = _line(incident, members[0])[:MAX_TITLE_CHARS]
    incident.changed_at = at


def _what_happened(before: State, after: State, step: Step) -> EventKind:
    if RANK[after] > RANK[before]:
        return EventKind.WORSE
    # Another member that ends or eases leaves the rest as bad as it was.
    is_easing = RANK[after] < RANK[before] and step.before is not State.OK
    return EventKind.BETTER if is_easing else EventKind.JOINED


def _line(incident: Incident, member: Member) -> str:
    story = story_of(incident, [member])
    return title_of(story.name, story.accounts[0])


def apply_all(changes: Sequence[Change], *, now: datetime) -> None:
    """All changes of a batch, in the order in which locks are taken. Inside a transaction."""
    for change in sorted(changes, key=lambda change: change.order):
        apply(change, now=now)
