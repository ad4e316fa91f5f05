"""What must not leave the house in an export: credentials in headers, and in addresses. Pure."""

import re
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from workers.measurement.connection import Header

REDACTED = "(redacted)"
# Names of headers and parameters by which people call what opens something. "api_key", "X-Auth-Token" and "sessionid"
# are such; "keyboard" and "design" are not, so short words must stand alone.
_SECRET = re.compile(
    r"auth|authorization|.*(?:token|secret|passw(?:or)?d|passphrase|credential|signature|api-?key|private-?key|jwt).*|"
    r"(?:.*-)?(?:auth|key|pwd|pass|session|sessionid|session-id|sid|sig|otp|cookie2?)|(?:.*-)?authorization|code|state|nonce",
    re.I,
)
_HOLDS_URL = frozenset({"location", "content-location", "referer", "refresh", "link", "origin"})
_URL_IN_TEXT = re.compile(r"(?:https?|wss?)://[^\s<>\"',;]+", re.I)
_SCHEMES = frozenset({"http", "https", "ws", "wss"})


def is_secret_name(name: str) -> bool:
    """Whether a header or a parameter of this name holds what opens something."""
    return _SECRET.fullmatch(name.strip().replace("_", "-").replace(".", "-")[:200]) is not None


def redacted_header(header: Header) -> Header:
    """The header, without its value where that is a secret, and with addresses in it redacted."""
    if is_secret_name(header.name):
        return Header(name=header.name, value=REDACTED)
    if header.name.lower() not in _HOLDS_URL:
        return header
    value = _URL_IN_TEXT.sub(lambda found: redacted_url(found[0]), header.value)
    return Header(name=header.name, value=redacted_url(value) if value == header.value else value)


def redacted_url(url: str) -> str:
    """The address, also a relative one, without user name, password and the values of parameters that are secrets."""
    try:
        parts = urlsplit(url)
        netloc = parts.netloc.rpartition("@")[2]
    except ValueError:
        return REDACTED
    if parts.scheme and parts.scheme.lower() not in _SCHEMES:
        return url
    return urlunsplit(
        parts._replace(netloc=netloc, query=_redacted_query(parts.query), fragment=_redacted_query(parts.fragment))
    )


def _redacted_query(query: str) -> str:
    return "&".join(_redacted_pair(pair) for pair in query.split("&"))


def _redacted_pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={REDACTED}" if equals and is_secret_name(unquote_plus(name)) else pair
