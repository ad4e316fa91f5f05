"""Instants as whole microseconds since 1970, as messages, memories and arithmetic hold them; and time zones."""

from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    """Microseconds since 1970 of an instant (aware)."""
    return (at - EPOCH) // _MICROSECOND


def from_us(at_us: int) -> datetime:
    """The instant that lies so many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=at_us)


def time_zones() -> list[str]:
    """The names of the zones that this machine knows, by the IANA; "localtime" is its own, which nobody else knows."""
    return sorted({"UTC"} | available_timezones() - {"localtime"})
