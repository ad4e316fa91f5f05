"""The words of other tools in ours."""

from urllib.parse import SplitResult, urljoin, urlsplit

from workers.measurement.compute.page.blocking import blocking_of, blocks_rendering
from workers.measurement.compute.texts import short_url, stored_header
from workers.measurement.connection import Header
from workers.measurement.waterfall import Blocking, ResourceType, RowFlag, ServedFrom

_TYPES = {
    "document": ResourceType.DOCUMENT,
    "stylesheet": ResourceType.STYLESHEET,
    "css": ResourceType.STYLESHEET,
    "script": ResourceType.SCRIPT,
    "image": ResourceType.IMAGE,
    "img": ResourceType.IMAGE,
    "font": ResourceType.FONT,
    "media": ResourceType.MEDIA,
    "xhr": ResourceType.FETCH,
    "fetch": ResourceType.FETCH,
    "eventsource": ResourceType.FETCH,
    "websocket": ResourceType.WEBSOCKET,
    "other": ResourceType.OTHER,
}
# By what the media type holds; the order matters: "text/javascript", "application/xhtml+xml".
_MEDIA = (
    ("html", ResourceType.DOCUMENT),
    ("javascript", ResourceType.SCRIPT),
    ("ecmascript", ResourceType.SCRIPT),
    ("text/css", ResourceType.STYLESHEET),
    ("font", ResourceType.FONT),
    ("image/", ResourceType.IMAGE),
    ("video/", ResourceType.MEDIA),
    ("audio/", ResourceType.MEDIA),
    ("json", ResourceType.FETCH),
)
_CACHES = {
    "memory": ServedFrom.MEMORY_CACHE,
    "memory cache": ServedFrom.MEMORY_CACHE,
    "disk": ServedFrom.DISK_CACHE,
    "disk cache": ServedFrom.DISK_CACHE,
    "service worker": ServedFrom.SERVICE_WORKER,
}
_FLAGS = {str(flag): flag for flag in RowFlag}


def protocol_of(value: object) -> str | None:
    """The ALPN name: "HTTP/2.0", "h2" and "http/2.0+quic/39" are protocols of the same field in different tools."""
    text = value.strip().lower() if isinstance(value, str) else ""
    if text.startswith(("h3", "http/3")) or "quic" in text:
        return "h3"
    if text.startswith(("h2", "http/2")):
        return "h2"
    return text if text in ("http/1.0", "http/1.1", "http/0.9") else None


def type_of(word: str | None, mime_type: str | None, url: SplitResult | None) -> ResourceType:
    """What a request was for: by the tool's word, else by the answer's media type."""
    if word is not None and word.lower() in _TYPES:
        return _TYPES[word.lower()]
    if url is not None and url.scheme in ("ws", "wss"):
        return ResourceType.WEBSOCKET
    mime = (mime_type or "").lower()
    return next((kind for part, kind in _MEDIA if part in mime), ResourceType.OTHER)


def cache_of(word: str | None) -> ServedFrom | None:
    return None if word is None else _CACHES.get(word.lower())


def flags_of(words: object) -> tuple[RowFlag, ...]:
    """Our own, out of our own archives."""
    if not isinstance(words, list):
        return ()
    return tuple(_FLAGS[word] for word in words[: len(_FLAGS)] if isinstance(word, str) and word in _FLAGS)


def blocks_of(word: object) -> tuple[Blocking | None, bool | None]:
    """What waits for a row, and whether every paint does, which is all that some tools tell."""
    blocking = blocking_of(word)
    return blocking, word if isinstance(word, bool) else blocks_rendering(blocking)


def header_of(name: object, value: object) -> Header | None:
    """A header that may be stored; None for what is none."""
    return stored_header(name, value) if isinstance(name, str) and isinstance(value, str) else None


def url_of(text: str) -> str:
    """An address as it may be stored: without user name and password, and as it was asked for, without its fragment.
    Some tools keep that in one place and not in another, as Chrome in where a redirect leads."""
    asked = text if text.startswith("data:") else text.partition("#")[0]
    try:
        netloc = urlsplit(asked).netloc
    except ValueError:
        return short_url(asked)
    return short_url(asked.replace(netloc, netloc.rpartition("@")[2], 1) if "@" in netloc else asked)


def parts_of(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def joined(base: str, target: str) -> str | None:
    """Where a redirect leads."""
    try:
        return url_of(urljoin(base, target))
    except ValueError:
        return None
