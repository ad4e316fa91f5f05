"""Bounds on text that pages and servers chose: lengths, control characters, secrets."""

from collections.abc import Mapping

from workers.measurement.connection import Header
from workers.measurement.redaction import REDACTED, SECRET_HEADERS

MAX_URL_CHARS = 2048
MAX_DATA_URL_CHARS = 80
MAX_HEADERS = 64
_MAX_NAME_CHARS = 128
_MAX_VALUE_CHARS = 1024
MAX_TITLE_CHARS = 300


def plain(text: object, limit: int) -> str:
    """At most `limit` characters on one line; what cannot be printed becomes the replacement character."""
    cut = str(text)[:limit]
    return cut if cut.isprintable() else "".join(char if char.isprintable() else "\ufffd" for char in cut)


def plain_or_none(text: object, limit: int) -> str | None:
    """The same, or None for what is no text or an empty one."""
    return plain(text, limit) if isinstance(text, str) and text else None


def short_url(url: object) -> str:
    """A URL that may be stored. Of a data: URL only its beginning is told: the rest is content, not an address."""
    text = without_login(str(url))
    return plain(text, MAX_DATA_URL_CHARS if text.startswith("data:") else MAX_URL_CHARS)


def without_login(url: str) -> str:
    """A URL without the name and password that may stand before its host."""
    scheme, mark, rest = url.partition("://")
    authority = rest[: min((rest.find(char) % (len(rest) + 1) for char in "/?#"), default=0)]
    if not mark or "@" not in authority:
        return url
    return f"{scheme}://{authority.rpartition('@')[2]}{rest[len(authority) :]}"


def headers_of(raw: object, *, secret: frozenset[str] = frozenset()) -> tuple[Header, ...]:
    """Header lines from DevTools' name-to-value object.

    Credentials and cookies keep their names and lose their values.
    """
    if not isinstance(raw, Mapping):
        return ()
    hidden = SECRET_HEADERS | secret
    return tuple(stored_header(name, value, hidden) for name, value in list(raw.items())[:MAX_HEADERS])


def stored_header(name: object, value: object, hidden: frozenset[str] = SECRET_HEADERS) -> Header:
    """A header that may be stored: without the value of what opens doors."""
    label = plain(name, _MAX_NAME_CHARS)
    return Header(name=label, value=REDACTED if label.strip().lower() in hidden else plain(value, _MAX_VALUE_CHARS))
