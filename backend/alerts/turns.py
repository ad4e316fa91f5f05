"""Monitors looked at when their turn has come: many at once, and one by one where a batch fails.

`Apart` is how anything that is due fails: by itself, heard in the log, and in nobody else's way.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from django.db import InterfaceError, OperationalError

from backend.runs.sql import fetch

log = logging.getLogger(__name__)

# The database is gone, or two were in each other's way. What it refuses to store is the fault of one monitor's look.
AWAY = (OperationalError, InterfaceError)


class Apart:
    """A block whose failure is logged, with these words, and then over. Raises django.db.Error where the database is
    gone, or somebody was in the way: then all that is due waits, and nothing of it is at fault.
    """

    def __init__(self, log: logging.Logger, words: str, *parts: object) -> None:
        self._log, self._words, self._parts = log, words, parts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, AWAY) or not isinstance(error, Exception):
            return False
        self._log.error(self._words, *self._parts, exc_info=error)
        return True


_PUT_OFF = """
UPDATE {table} SET due_at = %(later)s WHERE monitor_id = (
    SELECT monitor_id FROM {table} WHERE due_at <= %(now)s ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING monitor_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The turns of one table, whose rows have `monitor_id` and `due_at`.

    `look(now, limit)` looks at rows that are due, in one transaction, and gives how many they were. `put_off` is how
    long a monitor that cannot be looked at waits for its next turn.
    """

    table: str
    look: Callable[[datetime, int], int]
    batch: int
    put_off: timedelta

    def work(self, clock: Callable[[], datetime], batches: int) -> bool:
        """So many batches at most; whether nothing is due any more. Raises django.db.Error."""
        return any(self.next(clock()) < self.batch for _ in range(batches))

    def next(self, now: datetime) -> int:
        """Looks at a batch; how many monitors. One that cannot be looked at keeps no other from its turn."""
        with Apart(log, "a batch of %s failed; its monitors are taken one by one", self.table):
            return self.look(now, self.batch)
        return sum(self._one(now) for _ in range(self.batch))

    def _one(self, now: datetime) -> int:
        try:
            return self.look(now, 1)
        except AWAY:
            raise
        except Exception:
            put_off = fetch(_PUT_OFF.format(table=self.table), {"now": now, "later": now + self.put_off})
            monitors = [monitor for (monitor,) in put_off]
            log.exception("%s of monitors %s failed; tried again in %s", self.table, monitors, self.put_off)
        return 1
