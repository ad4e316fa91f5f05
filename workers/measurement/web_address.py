"""Of an address on the web what several sides ask."""

from urllib.parse import urlsplit


def host_of(url: str) -> str:
    """The host in lower case; empty for what has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
