"""Plain SQL on Django's connection, for statements in bulk that the ORM cannot say."""

from typing import Any

from django.db import connection

Row = tuple[Any, ...]


def fetch(statement: str, parameters: Any = None) -> list[Row]:
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def execute(statement: str, parameters: Any = None) -> int:
    """Carries a statement out; how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
