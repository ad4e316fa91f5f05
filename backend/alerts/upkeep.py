"""What becomes due by itself: silences that end, reminders, flapping that has settled, what came and went and
stays, rules that were switched off.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet

from backend.alerts.dependencies import is_put_off, put_off
from backend.alerts.explanations import explanation_of
from backend.alerts.flapping import QUIET
from backend.alerts.incidents import event_of, locked, note, reason_of, recover, sum_up
from backend.alerts.message import Event
from backend.alerts.models import Channel, EventKind, Incident, Member, Resolution
from backend.alerts.recurring import let_go, outlasts, stayed_away
from backend.alerts.silences import loud
from backend.alerts.states import RANK, State
from backend.alerts.stories import going_on, last_of
from backend.alerts.telling import newcomers, next_reminder, tell_if_loud, was_told_as_bad
from backend.alerts.turns import Apart
from backend.runs.models import ELSEWHERE, Outcome, Run

log = logging.getLogger(__name__)

# Each in a transaction of its own; the rest follows at the next turn.
AT_ONCE = 100
_OUTLASTS = "It came by the clock, and has lasted longer by now than each time before."
_STAYS = "It kept coming and going, and has stayed for an hour now."
_BEGUN_AGAIN = "It was over, and has begun again since: that is another incident."


def tidy(now: datetime) -> int:
    """Does all of it; how many incidents were touched. Several processes may do it at the same time."""
    return end_silences(now) + remind(now) + settle_flapping(now) + tell_what_stays(now) + release_rules(now)


def end_silences(now: datetime) -> int:
    """Tells what still holds of what happened in silence."""
    return _each(loud(Incident.objects.filter(~is_put_off(now), owed=True), now), _pay, now)


def remind(now: datetime) -> int:
    """Tells again of what nobody has acknowledged, where a rule asks for it."""
    due = Incident.objects.filter(remind_at__lte=now, resolved_at=None, acknowledged_at=None, quiet_since=None)
    return _each(loud(due, now), _remind, now)


def settle_flapping(now: datetime) -> int:
    """Ends flapping incidents that were quiet for long enough."""
    quiet = Incident.objects.filter(stayed_away(now), flapping=True, quiet_since__lte=now - QUIET, resolved_at=None)
    return _each(quiet, _settle, now)


def tell_what_stays(now: datetime) -> int:
    """Tells what comes and goes and lasts longer than before."""
    bad = Incident.objects.filter(flapping=True, quiet_since=None, resolved_at=None)
    return _each(loud(bad, now), _tell_that_it_stays, now)


def release_rules(now: datetime) -> int:
    """Members whose rule was switched off or deleted are over: nobody looks any more."""
    orphans = Member.objects.filter(Q(rule=None) | Q(rule__enabled=False), ended_at=None, incident__resolved_at=None)
    return _each(Incident.objects.filter(pk__in=orphans.values("incident")), _release_orphans, now)


def release(incident: Incident, members: "QuerySet[Member]", *, now: datetime) -> None:
    """Ends members of a locked incident because their rule is no longer what it was, and the incident with its last."""
    leaving = list(members.select_related("rule"))
    Member.objects.filter(pk__in=[member.pk for member in leaving]).update(ended_at=now)
    rest = going_on(incident)
    if leaving and rest:
        sum_up(incident, rest, at=now)
        incident.save()
    elif leaving:
        recover(incident, leaving[:1], at=now, now=now, resolution=Resolution.RULE_OFF)


def _pay(incident: Incident, now: datetime) -> int:
    if not incident.is_open:
        return _pay_recovery(incident, now)
    members = going_on(incident)
    if members and explanation_of(incident, members, now=now):
        put_off(incident, now)
        incident.save()
        return 1
    incident.owed, incident.ask_again_at = False, None
    if members and incident.told != incident.state and not (incident.flapping and was_told_as_bad(incident)):
        _tell_after_silence(incident, _owed(incident), members, now)
    if members and (new := newcomers(incident, members)):
        _tell_after_silence(incident, Event.OPENED, members, now, new)
    incident.save()
    return 1


def _owed(incident: Incident) -> Event:
    if not incident.told:
        return Event.OPENED
    return Event.WORSE if RANK[State(incident.state)] > RANK[State(incident.told)] else Event.BETTER


def _tell_after_silence(
    incident: Incident,
    event: Event,
    members: Sequence[Member],
    now: datetime,
    channels: Sequence[Channel] | None = None,
) -> None:
    notice, silence = tell_if_loud(incident, event, members, now=now, seen_at=now, channels=channels)
    note(incident, EventKind.SILENCE_ENDED, incident.title, at=now, notice=notice, silenced=silence)


def _pay_recovery(incident: Incident, now: datetime) -> int:
    incident.owed = False
    if incident.told:
        last = last_of(incident)
        event, why = event_of(incident.resolution), reason_of(incident.resolution)
        open_now = Incident.objects.filter(organisation=incident.organisation_id, key=incident.key, resolved_at=None)
        if open_now.exists():
            # That a site can be reached again is wrong by now.
            event, why = Event.RESOLVED, _BEGUN_AGAIN
        notice, silence = tell_if_loud(incident, event, last, now=now, seen_at=now, text=why)
        note(incident, EventKind.SILENCE_ENDED, "It is over.", at=now, notice=notice, silenced=silence)
    incident.save()
    return 1


def _remind(incident: Incident, now: datetime) -> int:
    members = going_on(incident)
    if not members:
        return 0
    # None where nobody is left to be reminded, or asks for it any more.
    incident.remind_at = next_reminder(members, now)
    if incident.remind_at is not None:
        notice, _ = tell_if_loud(incident, Event.REMINDER, members, now=now, seen_at=now)
        if notice is not None:
            note(incident, EventKind.REMINDED, incident.title, at=now, notice=notice)
    incident.save()
    return 1


def _settle(incident: Incident, now: datetime) -> int:
    at = incident.quiet_since or now
    incident.flapping = False
    resolution = Resolution.RECOVERED if _was_measured(incident, now) else Resolution.UNMEASURED
    recover(incident, last_of(incident), at=at, now=now, resolution=resolution)
    return 1


def _was_measured(incident: Incident, now: datetime) -> bool:
    """Whether the site was, of what comes by the clock, when it was to come the last time: that it stayed away is not
    known of what rests. What only came and went was well for a while before it is asked here."""
    if incident.every is None or incident.site is None:
        return True
    monitors = list(incident.site.monitors.values_list("pk", flat=True))
    since_then = Run.objects.filter(monitor_id__in=monitors, scheduled_for__gt=now - incident.every)
    return since_then.filter(outcome=Outcome.MEASURED).exclude(trigger__in=ELSEWHERE).exists()


def _tell_that_it_stays(incident: Incident, now: datetime) -> int:
    members = going_on(incident)
    if not members or not outlasts(incident, now) or explanation_of(incident, members, now=now):
        return 0
    text = _STAYS if incident.every is None else _OUTLASTS
    let_go(incident, incident.flips[-1])
    notice, silence = tell_if_loud(incident, Event.WORSE, members, now=now, seen_at=now, text=text)
    incident.save()
    note(incident, EventKind.WORSE, incident.title, at=now, notice=notice, silenced=silence)
    return 1


def _release_orphans(incident: Incident, now: datetime) -> int:
    orphans = Member.objects.filter(Q(rule=None) | Q(rule__enabled=False), incident=incident, ended_at=None)
    release(incident, orphans, now=now)
    return 1


def _each(incidents: "QuerySet[Incident]", tend: Callable[[Incident, datetime], int], now: datetime) -> int:
    """Tends each locked in a transaction of its own, those that somebody else holds left out; how many were touched.

    One that cannot be tended keeps no other, and no judge, from its turn.
    """
    count = 0
    # Those that were asked about before come behind: many that are explained keep no other from being told.
    turns = incidents.order_by(F("ask_again_at").asc(nulls_first=True), "pk")
    for pk in list(turns.values_list("pk", flat=True)[:AT_ONCE]):
        with Apart(log, "incident %s cannot be tended", pk), transaction.atomic():
            incident = locked(incidents.filter(pk=pk), skip_locked=True).first()
            count += tend(incident, now) if incident is not None else 0
    return count
