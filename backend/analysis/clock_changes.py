"""Nights on which clocks are set: what comes at one hour of people's day comes an hour off in ours from then on."""

from datetime import UTC, date, datetime, timedelta

from backend.analysis.settings import DAY_S, HOUR_S

_SUNDAY = 6
# Month and which Sunday of it, 0 the last: Europe, North America, Australia, New Zealand and Chile. Whose clock a site
# goes by nobody says, so any of them counts.
_NIGHTS = frozenset({(3, 0), (10, 0), (3, 2), (11, 1), (4, 1), (10, 1), (9, 0), (9, 1), (9, 2)})
# Somewhere it is Sunday from half a day before until half a day after it is in UTC.
_BESIDE_S = DAY_S / 2


def same_hour(at: float, days: int) -> tuple[float, ...]:
    """How many seconds ago it was the same hour so many days before; where clocks were set since, also an hour off."""
    ago = days * DAY_S
    return (ago, ago - HOUR_S, ago + HOUR_S) if _were_set(at - ago - HOUR_S, at) else (ago,)


def _were_set(since: float, until: float) -> bool:
    first = datetime.fromtimestamp(since - DAY_S - _BESIDE_S, UTC).date()
    last = datetime.fromtimestamp(until + _BESIDE_S, UTC).date()
    return any(_is_night(first + timedelta(days=day)) for day in range((last - first).days + 1))


def _is_night(day: date) -> bool:
    which = 0 if (day + timedelta(days=7)).month != day.month else (day.day + 6) // 7
    return day.weekday() == _SUNDAY and (day.month, which) in _NIGHTS
