"""Request headers that a person adds to a measurement: read, and judged before they are stored or a page is loaded."""

import re
from collections.abc import Sequence

from workers.measurement.connection import Header

MAX_HEADERS = 20
MAX_HEADER_VALUE_CHARS = 4096
# RFC 9110, 5.6.2 (token).
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
# What frames the message or is the connection's own: a measurement that sets them measures a broken request.
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive", "expect"}
)


def parse_header(text: str) -> Header:
    """NAME: VALUE, unjudged. Raises ValueError, which does not repeat the value."""
    name, colon, value = text.partition(":")
    if not name.strip() or not colon:
        raise ValueError("Write headers as “Name: value”.")
    return Header(name=name.strip(), value=value.strip())


def headers_fault(headers: Sequence[Header]) -> str | None:
    """What is wrong with them, in a sentence that repeats no value; None when nothing is."""
    if len(headers) > MAX_HEADERS:
        return f"At most {MAX_HEADERS} request headers can be sent."
    return next((fault for fault in map(_fault, headers) if fault is not None), None)


def _fault(header: Header) -> str | None:
    if not _TOKEN.fullmatch(header.name):
        return f"{header.name[:40]!r} is not a header name."
    if header.name.lower() in _OURS:
        return f"{header.name} belongs to the connection itself and cannot be set."
    if len(header.value) > MAX_HEADER_VALUE_CHARS:
        return f"The value of {header.name} may have at most {MAX_HEADER_VALUE_CHARS} characters."
    if not header.value.isascii() or not header.value.isprintable():
        return f"The value of {header.name} must be printable ASCII on one line."
    return None
