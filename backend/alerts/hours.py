"""At which hours of the week a channel may be told. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)
# From yesterday's window, which may not have ended, to that of a week behind a day that a calendar left out, as Samoa's
# did once.
_FROM, _TO = -1, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """Days of the week, in their order, and from when to when on them, by the clock of a time zone.

    What ends no later than it begins ends on the next day, so the same time twice is a whole day. Of a time that the
    clock shows twice the beginning is the first and the end the second; one that it leaves out is where it goes on.
    """

    days: tuple[str, ...]
    begins: time
    ends: time
    time_zone: str
    critical_at_any_time: bool = True

    def next_at(self, at: datetime) -> datetime:
        """The first instant from `at` on that lies in them."""
        return next(max(at, begin) for begin, end in self._windows(at) if end > max(at, begin))

    def __str__(self) -> str:
        """`Mon-Fri 08:00-18:00 Europe/Berlin`."""
        days = "every day" if len(self.days) == len(DAYS) else ", ".join(_spans(self.days))
        return f"{days} {self.begins:%H:%M}-{self.ends:%H:%M} {self.time_zone}"

    def to_json(self) -> dict[str, Any]:
        """As they are stored."""
        return {
            "days": list(self.days),
            "begins": f"{self.begins:%H:%M}",
            "ends": f"{self.ends:%H:%M}",
            "time_zone": self.time_zone,
            "critical_at_any_time": self.critical_at_any_time,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Hours":
        """What `to_json` wrote."""
        return cls(
            days=tuple(stored["days"]),
            begins=time.fromisoformat(stored["begins"]),
            ends=time.fromisoformat(stored["ends"]),
            time_zone=stored["time_zone"],
            critical_at_any_time=stored["critical_at_any_time"],
        )

    def _windows(self, at: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Those around an instant, in their order."""
        zone = _zone(self.time_zone)
        today = at.astimezone(zone).date()
        for day in (today + days * _DAY for days in range(_FROM, _TO)):
            if DAYS[day.weekday()] in self.days:
                last = day if self.ends > self.begins else day + _DAY
                begins, ends = datetime.combine(day, self.begins), datetime.combine(last, self.ends)
                yield _shown(begins, zone, fold=0), _shown(ends, zone, fold=1)


def _zone(name: str) -> ZoneInfo:
    """A zone that this machine does not know any more must cost no alert."""
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        return ZoneInfo("UTC")


def _shown(wall: datetime, zone: ZoneInfo, *, fold: int) -> datetime:
    """When a clock shows that, the first or the second time; where it never does, when it goes on behind it."""

    def at_clock(at: datetime) -> datetime:
        return at.astimezone(zone).replace(tzinfo=None)

    at = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    if at_clock(at) != wall:
        at = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
        while at_clock(at - _MINUTE) >= wall:
            at -= _MINUTE
    return at


def _spans(days: tuple[str, ...]) -> Iterator[str]:
    """`Mon-Fri`, `Sun`: days that follow each other as one."""
    places = enumerate(DAYS.index(day) for day in days)
    for _, run in groupby(places, lambda pair: pair[1] - pair[0]):
        names = [DAYS[place].capitalize() for _, place in run]
        yield names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"
