"""What is forgotten once retention has passed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic

from django.conf import settings
from django.core.files.storage import default_storage

from backend.accounts.actions import forget_sessions
from backend.accounts.audit import forget_acts
from backend.fleet.actions import forget_agents
from backend.kept import retention_start
from backend.runs.models import DeadLetter
from backend.runs.partitions import drop_partitions
from backend.runs.sharing import forget_links
from backend.runs.sql import execute
from backend.runs.uploads import forget_uploads
from workers.measurement.routes import PictureKind

log = logging.getLogger(__name__)

# A day may hold a million pictures, and their storage be far away; the sweeper has other duties between.
PICTURES_AT_ONCE, PICTURES_S = 2_000, 5.0
_DEAD_LETTERS_AT_ONCE = 10_000
_ACTS_AT_ONCE = 10_000
_LINKS_AT_ONCE = 10_000


def forget(now: datetime) -> list[str]:
    """Drops old partitions, dead letters, imports, agents not seen since, sessions, acts and links; the partitions'
    names.
    """
    forget_agents(before=retention_start(now))
    forget_sessions(now=now)
    forget_acts(before=now - timedelta(days=settings.AUDIT_RETENTION_DAYS), limit=_ACTS_AT_ONCE)
    forget_uploads(before=retention_start(now))
    forget_links(before=now, limit=_LINKS_AT_ONCE)
    execute(
        f"DELETE FROM {DeadLetter._meta.db_table} WHERE id IN (SELECT id FROM {DeadLetter._meta.db_table}"
        " WHERE received_at < %s LIMIT %s)",
        [retention_start(now), _DEAD_LETTERS_AT_ONCE],
    )
    return drop_partitions(now)


def forget_pictures(now: datetime, limit: int = PICTURES_AT_ONCE, clock_s: Callable[[], float] = monotonic) -> int:
    """Deletes at most so many pictures of days that are over, and begins none after PICTURES_S; how many.

    What cannot be deleted is told, and keeps nothing behind it. 0 when nothing is left that can be.
    """
    turn = _Turn(limit=limit, until_s=clock_s() + PICTURES_S, clock_s=clock_s)
    for folder in _expired_folders(now):
        if turn.is_over:
            break
        turn.empty(folder)
    if turn.failures:
        log.warning(
            "old pictures and folders that cannot be deleted: %d, such as %s", len(turn.failures), turn.failures[0]
        )
    return turn.deleted


@dataclass(slots=True, kw_only=True)
class _Turn:
    """What one turn of the sweeper deletes."""

    limit: int
    until_s: float
    clock_s: Callable[[], float]
    deleted: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.deleted >= self.limit or self.clock_s() >= self.until_s

    def empty(self, folder: str) -> None:
        """Deletes its pictures, and itself with the last."""
        with self._noting(folder):
            for name in default_storage.listdir(folder)[1]:
                if self.is_over:
                    return
                self._delete(f"{folder}/{name}")
            default_storage.delete(folder)

    def _delete(self, name: str) -> None:
        with self._noting(name):
            default_storage.delete(name)
            self.deleted += 1

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        """Goes on after any failure: each storage has errors of its own."""
        try:
            yield
        except Exception as error:
            self.failures.append(f"{name}: {error}")


def _expired_folders(now: datetime) -> list[str]:
    oldest = f"{retention_start(now).astimezone(UTC):%Y%m%d}"
    return [f"{kind}/{day}" for kind in PictureKind for day in _days(kind) if day < oldest]


def _days(kind: PictureKind) -> list[str]:
    try:
        days, _ = default_storage.listdir(kind)
    except FileNotFoundError:
        return []
    return sorted(day for day in days if day.isdigit())
