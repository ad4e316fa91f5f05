"""Plain SQL on Django's connection, for statements in bulk that the ORM cannot say."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

# Runs of which somebody can say what they measured: see `models.Run`.
COMPARABLE = "profile_verified IS NOT FALSE AND contended IS NOT TRUE"

Row = tuple[Any, ...]
Element = UUID | datetime | int | None


def array(values: Iterable[Element]) -> str:
    """An array's text, to be cast (`%s::uuid[]`). The driver's own way costs 10 us an element, this a twentieth.

    Of UUIDs, aware datetimes, numbers and None only: their texts need no quotes, whatever they are.
    """
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Element) -> str:
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, datetime):
        return value.isoformat()
    return "NULL" if value is None else str(int(value))


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
