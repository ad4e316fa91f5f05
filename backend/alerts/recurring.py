"""What comes again by the clock, such as with a job each hour: from the third time on it is one incident, and quiet.

It is told where it comes at another time or lasts longer than before, and its end once it has stayed away.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import DateTimeField, ExpressionWrapper, F, Q, Value

from backend.alerts.flapping import FLIP_WINDOW, flip
from backend.alerts.models import BY_ITSELF, Incident
from backend.alerts.wording import length

# What comes less often is told each time: its end is worth more than the quiet.
LONGEST_PERIOD = timedelta(hours=6)
# So far from its time it may begin, and no more than a part of the time between.
SLACK, _SLACK_PART = timedelta(minutes=5), 10
# After so many times in a row at which it did not come it is over.
_TIMES_AWAY = 2
# How much longer than each time before it may last, at least and as a part of that, until it is another matter.
_LONGER, _LONGER_PART = timedelta(minutes=2), 0.5
_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)


def rhythm(begins: Sequence[datetime]) -> timedelta | None:
    """How far apart the last three of these are, where that is evenly. Pure."""
    if len(begins) < 3:
        return None
    first, second, third = begins[-3:]
    every = (third - first) / 2
    return every if every <= LONGEST_PERIOD and abs(second - first - every) <= _slack(every) else None


def is_on_time(last: datetime, every: timedelta, at: datetime) -> bool:
    """Whether what began last at an instant was to begin now; it may have stayed away once. Pure."""
    rounds = round((at - last) / every)
    return 0 < rounds <= _TIMES_AWAY and abs(at - last - rounds * every) <= _slack(every)


def recognise(incident: Incident) -> None:
    """Notes in a new, locked incident that it is the third that comes by the clock, if it is. One statement."""
    since = incident.opened_at - 2 * (LONGEST_PERIOD + SLACK)
    same = Incident.objects.filter(organisation=incident.organisation_id, key=incident.key, opened_at__gte=since)
    before = list(reversed(same.exclude(pk=incident.pk).order_by("-opened_at")[:2]))
    begins = [*(one.opened_at for one in before), incident.opened_at]
    every = rhythm(begins)
    if every is not None and all(one.resolution in BY_ITSELF for one in before):
        incident.flapping, incident.flips, incident.every = True, begins, every
        incident.longest = max(one.changed_at - one.opened_at for one in before)


def begin_again(incident: Incident, at: datetime) -> bool:
    """Notes in a locked incident that it began again; False where it comes by the clock, and this was not its time."""
    if incident.every is None:
        flip(incident, at)
        return True
    if not is_on_time(incident.flips[-1], incident.every, at):
        let_go(incident, at)
        return False
    incident.flips = [*(flip for flip in incident.flips if at - flip < _DAY), at]
    return True


def end_again(incident: Incident, at: datetime) -> None:
    """Notes in a locked incident when it was known to be over this time."""
    if incident.longest is not None:
        incident.longest = max(incident.longest, at - incident.flips[-1])


def let_go(incident: Incident, began: datetime) -> None:
    """It comes and goes no longer: from when it began it is like anything else."""
    incident.flapping, incident.flips, incident.every, incident.longest = False, [began], None, None


def outlasts(incident: Incident, now: datetime) -> bool:
    """Whether what comes by the clock lasts longer by now than each time before, and what only came and went so long
    that it does so no more."""
    if incident.longest is None:
        return now - incident.flips[-1] >= FLIP_WINDOW
    return now - incident.flips[-1] > incident.longest + max(_LONGER, _LONGER_PART * incident.longest)


def stayed_away(now: datetime) -> Q:
    """Of quiet incidents that come by the clock those that did not come for so many times, and all others."""
    last_at = ExpressionWrapper(Value(now - SLACK) - _TIMES_AWAY * F("every"), output_field=DateTimeField())
    return Q(every=None) | Q(quiet_since__lte=last_at)


def times_told(incident: Incident) -> str:
    """How often it came, as a sentence; empty for what does not come by the clock."""
    if incident.every is None or incident.longest is None:
        return ""
    every, longest = length(_MINUTE * round(incident.every / _MINUTE)), length(incident.longest)
    return (
        f"It has come {len(incident.flips)} times within a day, every {every}, and was over within {longest} each"
        " time. Until it comes at another time or lasts longer, only its end is told."
    )


def _slack(every: timedelta) -> timedelta:
    return min(SLACK, every / _SLACK_PART)
