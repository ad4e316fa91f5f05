"""What is forgotten once retention has passed."""

from datetime import UTC, datetime, timedelta

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

# A day may hold a million pictures; the sweeper has other duties between.
PICTURES_AT_ONCE = 2_000
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


def forget_pictures(now: datetime, limit: int = PICTURES_AT_ONCE) -> int:
    """Deletes at most so many pictures of days that are over; how many. 0 when nothing is left to delete."""
    deleted = 0
    for folder in _expired_folders(now):
        _, names = default_storage.listdir(folder)
        for name in names[: limit - deleted]:
            default_storage.delete(f"{folder}/{name}")
        deleted += min(len(names), limit - deleted)
        if deleted >= limit:
            break
        default_storage.delete(folder)
    return deleted


def _expired_folders(now: datetime) -> list[str]:
    oldest = f"{retention_start(now).astimezone(UTC):%Y%m%d}"
    return [f"{kind}/{day}" for kind in PictureKind for day in _days(kind) if day < oldest]


def _days(kind: PictureKind) -> list[str]:
    try:
        days, _ = default_storage.listdir(kind)
    except FileNotFoundError:
        return []
    return sorted(day for day in days if day.isdigit())
