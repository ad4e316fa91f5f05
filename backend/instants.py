"""Instants as whole microseconds since 1970, as messages, memories and arithmetic hold them."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    """Microseconds since 1970 of an instant (aware)."""
    return (at - EPOCH) // _MICROSECOND


def from_us(at_us: int) -> datetime:
    """The instant that lies so many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=at_us)
