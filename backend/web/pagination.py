"""Where the next page of a long list begins: behind the last row shown, so that new rows shift nothing."""

from datetime import UTC, datetime

from django.http import HttpRequest
from django.utils.dateparse import parse_datetime

_MAX_DIGITS = 18


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
