"""Work that needs tables for itself for a moment, beside a service that goes on, and beside backups that take hours."""

from collections.abc import Callable
from time import sleep

from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected, LockNotAvailable

from backend.runs.partitions import LOCK_TIMEOUT

# Those behind us are served meanwhile.
_PAUSE_S = 10
_OLDEST = """
SELECT coalesce(nullif(application_name, ''), 'a session'), pid, date_trunc('second', now() - xact_start)::text
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < now()
ORDER BY xact_start LIMIT 1
"""


def until_locked(work: Callable[[], object], tell: Callable[[str], object]) -> None:
    """Does `work` again for as long as others hold what it locks: who waited for a table would keep all others from it.

    All that `work` did before it must stay, or be undone, as it does in transactions.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
    try:
        while not _is_done(work):
            tell(f"A table is in use{_by_whom()}. The service goes on; asking again in {_PAUSE_S} s.")
            sleep(_PAUSE_S)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def _is_done(work: Callable[[], object]) -> bool:
    try:
        work()
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
            return False
        raise
    return True


def _by_whom() -> str:
    """The oldest transaction of others: of several that hold a table, it is the one that is waited for."""
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST)
        oldest = cursor.fetchone()
    return ", it seems by {} (process {} of the database, for {} by now)".format(*oldest) if oldest else ""
