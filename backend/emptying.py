"""Empties the database behind a test that commits.

Django's own way truncates every table, with its indexes and partitions, and makes all permissions anew. Here what has
rows loses them, and what Django fills by itself stays as it is.
"""

from django.db import OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected

_OF_DJANGO = frozenset({"auth_permission", "django_content_type"})


def empty_database() -> None:
    """Waits for whoever still writes, as truncating does. Foreign keys are held at the commit: no order matters.

    Of a process that was killed the database carries out the last words, and for its foreign keys it may ask for tables
    that we hold, while we wait for others: then it ends first.
    """
    while not _is_emptied():
        pass


def _is_emptied() -> bool:
    try:
        _empty()
    except OperationalError as error:
        if not isinstance(error.__cause__, DeadlockDetected):
            raise
        return False
    return True


def _empty() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = [connection.ops.quote_name(name) for name in sorted(set(names) - _OF_DJANGO)]
        cursor.execute(f"LOCK TABLE {', '.join(tables)}")
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in tables))
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {table}")


def alone_in_the_database() -> bool:
    """Whether nobody else is connected to it any more."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return bool(cursor.fetchone() == (0,))
