"""Instants in the headers of HTTP."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def http_date(text: str) -> datetime | None:
    """The instant that a Date, Expires, Last-Modified or Retry-After names (RFC 9110, 5.6.7), in UTC.

    None for what is no date, and for one beyond the years that there are: any server may send anything.
    """
    try:
        instant = parsedate_to_datetime(text)
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
