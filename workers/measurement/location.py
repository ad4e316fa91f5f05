"""Where a redirect leads, read as browsers read it (WHATWG URL, 4.4): what they forgive breaks no site for visitors."""

import re
from urllib.parse import urljoin, urlsplit

_AROUND = "".join(map(chr, range(33)))
_WITHIN = re.compile(r"[\t\r\n]")
_PATH_END = re.compile(r"[?#]")


def location_url(base: str, location: str) -> str:
    """The address that a Location header leads to from `base`. Raises ValueError for what is none.

    Tabs and line breaks are left out, a backslash of the path is a slash, a space is escaped, and a user name and
    password are not sent on.
    """
    text = _WITHIN.sub("", location.strip(_AROUND))
    end = _PATH_END.search(text)
    cut = len(text) if end is None else end.start()
    url = urlsplit(urljoin(base, text[:cut].replace("\\", "/") + text[cut:]))
    return url._replace(netloc=url.netloc.rpartition("@")[2]).geturl().replace(" ", "%20")
