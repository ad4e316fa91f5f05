"""A clock that was ahead and has been set back: what was remembered then keeps no judge from what comes now."""

from datetime import datetime, timedelta
from typing import Any

from backend.alerts.judgement.samples import Memory
from backend.instants import to_us
from backend.runs.sql import execute

# No look is due later than this, however it went.
LONGEST = timedelta(minutes=15)
# Judges of several machines may be apart by so much.
_APART_US = 60_000_000

_BRING_BACK = "UPDATE {table} SET due_at = %(now)s WHERE due_at > %(latest)s"
_TABLES = ("alerts_watch", "alerts_trend", "alerts_scrutiny")


def bring_back(now: datetime) -> int:
    """Makes looks due that are due too late to be true; how many."""
    parameters = {"now": now, "latest": now + LONGEST}
    return sum(execute(_BRING_BACK.format(table=table), parameters) for table in _TABLES)


def set_right(memory: Memory, now: datetime) -> Memory:
    """The same without instants that are still to come, where it was written in the future."""
    now_us, looked_us = to_us(now), int(memory.get("looked_us", 0))
    if looked_us <= now_us + _APART_US:
        return memory
    right: Memory = _set_right(memory, now_us, looked_us)
    return right


def mark_of(memory: Memory, now: datetime) -> int | None:
    """Up to when a memory was judged, if it ever was: now, where that is still to come."""
    mark_us, now_us = memory.get("mark"), to_us(now)
    return now_us if mark_us is not None and mark_us > now_us + _APART_US else mark_us


def _set_right(value: Any, now_us: int, looked_us: int) -> Any:
    """Of instants, which are larger than all else that is counted, those of the time that was taken back are now."""
    match value:
        case dict():
            return {key: _set_right(each, now_us, looked_us) for key, each in value.items()}
        case list():
            return [_set_right(each, now_us, looked_us) for each in value]
        case int() if now_us < value <= looked_us:
            return now_us
    return value
