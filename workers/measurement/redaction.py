"""What leaves the house in an export, by level. Pure.

`full` is what is stored. Cookies, Authorization and the like are not stored with their values, and where a file from
elsewhere brought them they are masked all the same; user names and passwords in addresses too.

`standard` is for colleagues and vendors. Hosts, paths and names of parameters stay, so that every request can be
recognised; values of parameters, and of headers and parameters whose names speak of keys, tokens or sessions, do not.
Addresses in other headers and among words are masked alike.

`strict` is for strangers: reports of bugs, public forums. It keeps what a question of speed needs: hosts, times, sizes,
types, the order, who asked for what, and the headers by which caches, compression and protocols are told. Paths become
numbers (the same path the same number, its ending kept). All other headers, the page's title and the addresses of
servers, which may give away an origin behind a CDN, go.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import SplitResult, urlsplit, urlunsplit

from workers.measurement.connection import Header


class Redaction(StrEnum):
    """How much of a measurement an export shows."""

    FULL = "full"
    STANDARD = "standard"
    STRICT = "strict"


REDACTED = "(redacted)"
# Their values are neither stored nor exported, at no level.
SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
# Names of headers and parameters by which people call what opens something. "api_key", "X-Auth-Token" and "sessionid"
# are such; "keyboard" and "design" are not, so short words must stand alone.
_SECRET = re.compile(
    r"auth|authorization|.*(?:token|secret|passw(?:or)?d|passphrase|passcode|credential|signature|api-?key|private-?key|jwt).*|"
    r"(?:.*-)?(?:auth|key|pwd|pass|session|sessionid|session-id|sid|sig|otp|pin|cookie2?)|"
    r".*sess(?:ion)?-?id|(?:.*-)?(?:authorization|authentication-info)|code|state|nonce",
    re.I,
)
_HOLDS_URL = frozenset({"location", "content-location", "referer", "refresh", "link", "origin"})
_URL_IN_TEXT = re.compile(r"(?:https?|wss?)://[^\s<>\"',;]+", re.I)
# An address on the same host, such as in a policy: it begins a word. One without a query is found too, so that a long
# text is read once, and not from each of its slashes again.
_PATH_IN_TEXT = re.compile(r"(?<![^\s<\"'=])/[^\s<>\"',;?]*(?:;[^\s<>\"',?]*)?(\?[^\s<>\"',;]+)?")
# Parameters of a path's own, as Java keeps sessions in.
_IN_PATH = re.compile(r"(;[^;/=\s]+=)[^;/\s>]+")
# A query without the address before it; of what stands behind # only that which has a name and a value.
_QUERY_IN_TEXT = re.compile(r"(\?|#(?=[^\s<>\"'#=]*=))([^\s<>\"'#]+)")
_SCHEMES = frozenset({"http", "https", "ws", "wss"})
# A parameter without a name is a value when it is longer than a word.
_MAX_WORD_CHARS = 16
# What says how an answer was cached, compressed and carried, and nothing of whose it was.
_OF_SPEED = frozenset(
    {"accept-encoding", "accept-ranges", "age", "alt-svc", "cache-control", "cache-status", "cf-cache-status",
     "connection", "content-encoding", "content-length", "content-type", "date", "expires", "keep-alive",
     "last-modified", "pragma", "priority", "server", "strict-transport-security", "timing-allow-origin",
     "transfer-encoding", "upgrade", "vary", "via", "x-cache", "x-cache-hits"}
)  # fmt: skip
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,5}")


class Masks:
    """One level, for one document: strict numbers stand for the same path throughout it."""

    def __init__(self, level: Redaction) -> None:
        self.level = level
        self._numbers: dict[str, int] = {}

    @property
    def is_strict(self) -> bool:
        return self.level is Redaction.STRICT

    def url(self, url: str) -> str:
        """An address, also a relative one."""
        try:
            parts = urlsplit(url)
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        except ValueError:
            return REDACTED
        if parts.scheme and parts.scheme.lower() not in _SCHEMES:
            return f"{parts.scheme}:" if self.is_strict else url
        if self.level is Redaction.STANDARD:
            path = _IN_PATH.sub(rf"\1{REDACTED}", parts.path)
            parts = parts._replace(path=path, query=_masked(parts.query), fragment=_masked(parts.fragment))
        return urlunsplit(self._origin(parts) if self.is_strict else parts)

    def headers(self, headers: Iterable[Header]) -> list[Header]:
        """Headers in their order; at the strict level only those that speak of speed."""
        if self.is_strict:
            return [header for header in headers if header.name.lower() in _OF_SPEED]
        return [self.header(header) for header in headers]

    def only_below_strict(self, text: str | None) -> str | None:
        """A text that tells of more than speed."""
        return None if self.is_strict or text is None else self.words(text)

    def words(self, text: str) -> str:
        """A text with the addresses in it masked."""
        return _URL_IN_TEXT.sub(lambda found: self.url(found[0]), text)

    def bare(self, text: str) -> str:
        """The same of a text in which addresses may have lost their beginning, as the names of files have."""
        if self.level is not Redaction.STANDARD:
            return self.words(text)
        masked = _IN_PATH.sub(rf"\1{REDACTED}", self.words(text))
        return _QUERY_IN_TEXT.sub(lambda found: f"{found[1]}{_masked(found[2])}", masked)

    def header(self, header: Header) -> Header:
        if header.name.lower() in SECRET_HEADERS or (self.level is Redaction.STANDARD and is_secret_name(header.name)):
            return Header(name=header.name, value=REDACTED)
        value = _PATH_IN_TEXT.sub(lambda found: self.url(found[0]) if found[1] else found[0], self.words(header.value))
        is_path = header.value.startswith("/") and "?" in header.value
        if value == header.value and (is_path or header.name.lower() in _HOLDS_URL):
            value = self.url(value)
        return Header(name=header.name, value=value)

    def _origin(self, parts: SplitResult) -> SplitResult:
        """The path as a number: told apart are also the queries, which themselves go."""
        if parts.path in ("", "/") and not parts.query:
            return parts._replace(fragment="")
        number = self._numbers.setdefault(f"{parts.netloc} {parts.path}?{parts.query}", len(self._numbers) + 1)
        ending = PurePosixPath(parts.path).suffix
        return parts._replace(path=f"/{number}{ending if _ENDING.fullmatch(ending) else ''}", query="", fragment="")


def is_secret_name(name: str) -> bool:
    """Whether a header or a parameter of this name holds what opens something."""
    return _SECRET.fullmatch(name.strip().replace("_", "-").replace(".", "-")[:200]) is not None


def _masked(query: str) -> str:
    return "&".join(_masked_pair(pair) for pair in query.split("&"))


def _masked_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not equals:
        return pair if len(pair) <= _MAX_WORD_CHARS else REDACTED
    return f"{name}={REDACTED}" if value else pair
