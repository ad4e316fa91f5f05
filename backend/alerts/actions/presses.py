"""What people do about incidents by the buttons of a message in Slack.

Whoever may press them in Slack may do so here: that is what the channel's secret was given for.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from backend.alerts.actions.incidents import IncidentError, acknowledge, mute
from backend.alerts.channels.slack_buttons import Deed, Press
from backend.alerts.models import Channel, Incident

MUTED_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Reply:
    """What Slack is to be told: a sentence, and whether all may read it or who pressed alone."""

    text: str
    for_all: bool


def do_what_was_pressed(*, channel: Channel, press: Press) -> Reply:
    """The channel's call was verified to be Slack's; its incidents are those of its organisation."""
    incident = Incident.objects.filter(organisation=channel.organisation_id, public_id=press.incident).first()
    if incident is None:
        return Reply("There is no such incident any more.", for_all=False)
    if not channel.enabled:
        return Reply("This channel is switched off in Firstbyte: nothing was done.", for_all=False)
    by = f"by {press.who} in Slack"
    try:
        return _acknowledge(incident, by) if press.deed is Deed.ACKNOWLEDGE else _mute(incident, by)
    except IncidentError as error:
        return Reply(str(error), for_all=False)


def _acknowledge(incident: Incident, by: str) -> Reply:
    if incident.acknowledged_at is not None and incident.is_open:
        return Reply("It is acknowledged already.", for_all=False)
    acknowledge(actor=None, incident=incident, by=by)
    return Reply(f"Acknowledged {by}: no reminders from now on.", for_all=True)


def _mute(incident: Incident, by: str) -> Reply:
    until = timezone.now() + MUTED_FOR
    if incident.is_open and (incident.muted_until_recovery or (incident.muted_until or until) > until):
        # Nobody who presses this wants to hear of it sooner.
        return Reply("It is muted for longer already.", for_all=False)
    mute(actor=None, incident=incident, until=until, by=by)
    return Reply(f"Muted for an hour {by}.", for_all=True)
