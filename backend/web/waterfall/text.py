"""Texts that a measured site wrote, made fit for a page: no control characters, no tricks with direction, bounded."""

import re
import unicodedata
from urllib.parse import unquote_to_bytes, urlsplit

from backend.texts import is_one_line, joins
from workers.measurement.idn import readable

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# What stands for letters beyond ASCII: those of ASCII are encoded since they would mean something else.
_ENCODED = re.compile("(?:%[89A-Fa-f][0-9A-Fa-f])+")


def as_said(text: str, limit: int = 2_000) -> str:
    """The text with each control, format and unassigned character shown as a replacement, cut at `limit` characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    if is_one_line(cut):
        return cut
    return "".join(REPLACEMENT if _is_hidden(cut, place) else char for place, char in enumerate(cut))


def printable(text: str, limit: int = 2_000) -> str:
    """The same with the names of hosts as people write them."""
    return as_said(readable(text), limit)


def host_of(url: str) -> str:
    """The host and port of a URL, empty for one that has none."""
    try:
        return printable(urlsplit(url).netloc.rpartition("@")[2], 120)
    except ValueError:
        return ""


def hostname_of(url: str) -> str:
    """The host of a URL alone, of an address of IPv6 without its brackets; empty for one that has none."""
    try:
        return printable(urlsplit(url).hostname or "", 120)
    except ValueError:
        return ""


def authority(host: str, port: int) -> str:
    """Host and port as a URL has them: an address of IPv6 in brackets (RFC 3986, 3.2.2)."""
    return printable(f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}")


def name_of(url: str) -> str:
    """What a person calls a resource: its file name with its query, the last folder, or the slash."""
    if url.startswith("data:"):
        return printable(url, 40)
    try:
        parts = urlsplit(url)
    except ValueError:
        return printable(url, 120)
    folder, _, file = parts.path.rpartition("/")
    name = file or f"{folder.rpartition('/')[2]}/"
    return printable(_ENCODED.sub(_letters, f"{name}?{parts.query}" if parts.query else name), 120)


def _letters(encoded: re.Match[str]) -> str:
    """As people write them, where they are letters that can be seen; else as they were."""
    try:
        text = unquote_to_bytes(encoded[0]).decode()
    except UnicodeDecodeError:
        return encoded[0]
    return text if is_one_line(text) else encoded[0]


def _is_hidden(text: str, place: int) -> bool:
    return unicodedata.category(text[place]).startswith("C") and not joins(text, place)
