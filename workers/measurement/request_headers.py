"""Which request headers a raw probe can send: judged before it does. What may be stored is `header_rules`' to say."""

import re

from workers.measurement.connection import Header

MAX_HEADERS = 32
MAX_VALUE_CHARS = 4096
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
# What decides where the request goes or where it ends is ours to say (RFC 9110, 7.6.1 and 8.6).
_OURS = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
# Controls would end the line, lone surrogates cannot be encoded.
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")


def header_fault(headers: tuple[Header, ...]) -> str | None:
    """A sentence on the first header that cannot be sent, or None when all can."""
    if len(headers) > MAX_HEADERS:
        return f"There are {len(headers)} request headers; at most {MAX_HEADERS} can be sent."
    return next((fault for fault in map(_fault, headers) if fault), None)


def _fault(header: Header) -> str | None:
    if not _NAME.fullmatch(header.name):
        return f"The header name {header.name[:64]!r} is not one; use letters, digits and hyphens."
    if header.name.lower() in _OURS:
        return f"The header {header.name} is set by the measurement itself; leave it out."
    if len(header.value) > MAX_VALUE_CHARS:
        return f"Header {header.name} has {len(header.value)} characters; at most {MAX_VALUE_CHARS} can be sent."
    if _UNSENDABLE.search(header.value):
        return f"The value of header {header.name} holds a control character or line break; remove it."
    return None
