"""Where the next page of a long list begins: behind the last row shown, so that new rows shift nothing.

What stands in the order of what is worst now has no such place, since rows change theirs: such pages are numbered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from django.http import HttpRequest
from django.utils.dateparse import parse_datetime

_MAX_DIGITS = 18
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[Row]):
    """Page `number` of `pages`, both from 1 on; `first` is the place of its first row among all `total`."""

    rows: Sequence[Row]
    number: int
    pages: int
    first: int
    total: int

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def part_of(request: HttpRequest, rows: Sequence[Row], *, size: int) -> Part[Row]:
    """The page of so many rows that the address names (`?page=2`), whatever it holds."""
    pages = max(1, -(-len(rows) // size))
    text = request.GET.get("page", "")
    wanted = int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 1
    number = max(1, min(wanted, pages))
    begin = (number - 1) * size
    return Part(rows=rows[begin : begin + size], number=number, pages=pages, first=begin + 1, total=len(rows))


def position_of(created_at: datetime, pk: int) -> str:
    """The row as `?before=` names it."""
    return f"{created_at.isoformat()},{pk}"


def position_before(request: HttpRequest) -> tuple[datetime, int] | None:
    """The row that the address names, whatever it holds."""
    text, _, number = request.GET.get("before", "").partition(",")
    time = _time(text)
    if time is None or not number.isascii() or not number.isdigit() or len(number) > _MAX_DIGITS:
        return None
    return time, int(number)


def time_before(request: HttpRequest) -> datetime | None:
    """The moment that the address names, whatever it holds; one without a zone is none."""
    return _time(request.GET.get("before", ""))


def _time(text: str) -> datetime | None:
    """In UTC, since PostgreSQL reads no zones that are further off than any on Earth."""
    try:
        time = parse_datetime(text)
        return None if time is None or time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
