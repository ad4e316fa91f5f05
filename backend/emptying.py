"""Empties the database behind a test that commits.

Django's own way truncates every table, with its indexes and partitions, and makes all permissions anew. Here what has
rows loses them, and what Django fills by itself stays as it is.
"""

from django.db import connection, transaction

_OF_DJANGO = frozenset({"auth_permission", "django_content_type"})


def empty_database() -> None:
    """Foreign keys are held at the commit, so that the order does not matter."""
    with transaction.atomic(), connection.cursor() as cursor:
        tables = sorted(set(connection.introspection.django_table_names(only_existing=True)) - _OF_DJANGO)
        asked = (f"SELECT '{table}' WHERE EXISTS (SELECT FROM {connection.ops.quote_name(table)})" for table in tables)
        cursor.execute(" UNION ALL ".join(asked))
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
