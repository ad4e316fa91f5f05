"""When a monitor is due in a region: arithmetic on the clock alone, so that every scheduler finds the same slots.

A slot is an instant that lies `offset_us` after a multiple of the interval since 1970. It never depends on when the
last run was, so that nothing drifts, and a slot that was skipped can be named afterwards.
"""

from datetime import datetime, timedelta
from uuid import UUID, uuid5

from backend.instants import to_us

# A namespace of its own: an id that decides several things makes them hang together.
_SLOT = UUID("b8f5a8f2-6f0c-4b83-9d5e-3f6d1f0b7c55")
# Another one for what is done once a day, so that it does not follow from the slot.
_DAILY = UUID("5d0e2a6c-0b57-4c7e-9c26-6f1b7a5e9d31")
_DAY_S = 86_400
# A run that begins later than this says little about its slot, however long the interval is.
MAX_WINDOW_S = 3600


def offset_us(monitor_id: UUID, interval_s: int, *, position: int = 0, regions: int = 1) -> int:
    """How long after each multiple of the interval the slot of the `position`-th of `regions` regions lies.

    Monitors are spread over the whole interval, and the regions of one monitor stand evenly between each other.
    """
    interval_us = interval_s * 1_000_000
    first_us = uuid5(_SLOT, str(monitor_id)).int % interval_us
    return (first_us + position * interval_us // regions) % interval_us


def newest_slot(at: datetime, interval_s: int, offset_us: int) -> datetime:
    """The latest slot that is not after `at` (aware)."""
    interval_us = interval_s * 1_000_000
    return at - timedelta(microseconds=(to_us(at) - offset_us) % interval_us)


def next_slot(after: datetime, interval_s: int, offset_us: int) -> datetime:
    """The earliest slot that is later than `after` (aware)."""
    return newest_slot(after, interval_s, offset_us) + timedelta(seconds=interval_s)


def is_first_of_day(monitor_id: UUID, region: str, *, since: datetime, slot: datetime, interval_s: int) -> bool:
    """Whether what a monitor does once a day in a region is due in this slot: there is one such slot a day.

    `since` is the oldest slot that comes to nothing since an older one ran, or the slot itself: what was due in one
    that nobody ran is due now. The instants are spread over the whole day.
    """
    due_us = uuid5(_DAILY, f"{monitor_id} {region}").int % (_DAY_S * 1_000_000)
    return newest_slot(slot, _DAY_S, due_us) > since - timedelta(seconds=interval_s)


def window_end(slot: datetime, interval_s: int) -> datetime:
    """Until when a run of this slot may begin: the next slot makes it worthless, and an hour makes it too late."""
    return slot + timedelta(seconds=min(interval_s, MAX_WINDOW_S))
