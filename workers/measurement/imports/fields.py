"""Single values out of documents that anybody may have written."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from workers.measurement.compute.texts import plain

Fields = Mapping[str, Any]

# Ten days: no load takes longer, and microseconds of it are far from what a database can hold.
MAX_MS = 864_000_000.0
MAX_COUNT = 2**53
# Between the year 1, where .NET's empty instant lies, and any day from 2000 to 2100.
_SINCE_YEAR_ONE_MS = (63_082_281_600_000, 66_238_041_600_000)
_MAX_DIGITS = 30
_MAX_WORD_CHARS = 100
# What is stored of an address is cut later, when it is known what it is.
_MAX_URL_CHARS = 100_000
_FIRST_YEAR, _LAST_YEAR = 2000, 2100


class UnreadableError(ValueError):
    """One entry cannot be read; the text names the field and what is wrong with it."""


def milliseconds(fields: Fields, name: str, place: str = "") -> float | None:
    """Milliseconds that may be absent, null, -1 or since an instant that was empty, which all mean "not known".

    Raises UnreadableError.
    """
    value = _number(fields.get(name))
    if value is None:
        if fields.get(name) is None:
            return None
        raise UnreadableError(f"{place}{name} is not a number")
    if _SINCE_YEAR_ONE_MS[0] <= abs(value) <= _SINCE_YEAR_ONE_MS[1]:
        return None
    if not -MAX_MS < value < MAX_MS:
        raise UnreadableError(f"{place}{name} is {value:g} ms, longer than any page load")
    return None if value == -1 else value


def duration(fields: Fields, name: str, place: str = "") -> float | None:
    """The same, of which nothing less than zero is known."""
    value = milliseconds(fields, name, place)
    return None if value is None or value < 0 else value


def us_or_none(fields: Fields, name: str) -> int | None:
    """A metric in milliseconds as microseconds; None for what is not there or no instant."""
    try:
        value = duration(fields, name)
    except UnreadableError:
        return None
    return None if value is None else round(value * 1000)


def count_or_none(fields: Fields, name: str) -> int | None:
    """A count or size; None for what is unknown (-1) or no number."""
    value = _number(fields.get(name))
    return None if value is None or not 0 <= value < MAX_COUNT else int(value)


def number_or_none(fields: Fields, name: str) -> float | None:
    """Any number, also one in quotes."""
    return _number(fields.get(name))


def text_or_none(fields: Fields, name: str, limit: int) -> str | None:
    """A text on one line, cut; None for what is none or empty."""
    value = fields.get(name)
    return plain(value, limit) if isinstance(value, str) and value else None


def word_or_none(fields: Fields, name: str) -> str | None:
    """A short text, such as a type's name."""
    return text_or_none(fields, name, _MAX_WORD_CHARS)


def url_or_none(fields: Fields, name: str) -> str | None:
    """An address as the file has it."""
    return text_or_none(fields, name, _MAX_URL_CHARS)


def object_of(fields: Fields, name: str) -> Fields:
    """An object inside, an empty one where there is none."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def list_of(fields: Fields, name: str) -> list[Any]:
    value = fields.get(name)
    return value if isinstance(value, list) else []


def instant(fields: Fields, name: str) -> datetime:
    """A point in time, UTC where the text names no zone. Raises UnreadableError."""
    value = fields.get(name)
    try:
        at = datetime.fromisoformat(value if isinstance(value, str) and len(value) <= 40 else "")
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UnreadableError(f"{name} is not a date and time") from error
    if not _FIRST_YEAR <= at.year < _LAST_YEAR:
        raise UnreadableError(f"{name} lies in the year {at.year}")
    return at


def address_or_none(value: object) -> str | None:
    """An IP address, without the brackets that some put around one of IPv6."""
    if not isinstance(value, str) or len(value) > 60:
        return None
    try:
        return str(ip_address(value.strip("[]").partition("%")[0]))
    except ValueError:
        return None


def _number(value: object) -> float | None:
    """Also of a number in quotes, as some tools write it."""
    if isinstance(value, str) and len(value) <= _MAX_DIGITS:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.inf
    return None if math.isnan(number) else number
