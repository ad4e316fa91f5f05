"""What redirects of one probe ask to be told again: kept to its end, as by a browser that comes for the first time.

Some sites set a cookie and send visitors once more to the same address. Who keeps none goes round for ever.
"""

import re
from collections.abc import Iterable
from email.message import Message
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.request import Request

from workers.probes.http1 import Head

# No site needs more to send a visitor on; reading each takes some 50 us from all probes under way.
_MOST = 50
# On the whole way: looking through these takes some 1.5 ms, several times a hop. Chrome keeps 180 of a site.
_MOST_KEPT = 150
# Servers take no longer lines (nginx 8 KiB, Apache 8190 bytes): what would be refused is not sent.
_MAX_CHARS = 8000
# What browsers know of a cookie, and which values they heed (RFC 6265, 5.2): all else they ignore, not the cookie.
_HEEDED = {
    "domain": re.compile(r".+"),
    "path": re.compile(r"/.{0,1023}"),
    "max-age": re.compile(r"-?\d{1,15}", re.ASCII),
    "expires": re.compile(r"\S.{0,63}"),
    "secure": re.compile(r".{0,64}"),
}


class Cookies:
    """By host, path, scheme and age, as `http.cookiejar` has them of Netscape's kind; those of one way only."""

    def __init__(self) -> None:
        # Strict: none for all of a country's companies (co.uk).
        self._jar = CookieJar(DefaultCookiePolicy(strict_domain=True))

    def take(self, url: str, head: Head) -> None:
        """What this answer sets, one after the other: a later one may take back an earlier one."""
        for value in head.values("set-cookie")[:_MOST]:
            if len(self._jar) >= _MOST_KEPT:
                return
            self._jar.extract_cookies(_Answer(_heeded(value)), Request(url))  # type: ignore[arg-type]

    def sent_to(self, url: str) -> str:
        """The value of the header that goes to this address; empty for none."""
        request = Request(url)
        self._jar.add_cookie_header(request)
        pairs = (request.get_header("Cookie", "") or "").split("; ")
        # One that does not fit a line of ours must not keep the others back.
        value = "; ".join(pair for pair in pairs if pair.isascii() and pair.isprintable())
        return value if len(value) <= _MAX_CHARS else ""

    def sent_beside(self, own: Iterable[str], url: str) -> str:
        """The same with a monitor's own (values of its header), of which those are replaced that were set anew."""
        value = self.sent_to(url)
        anew = {_name(pair) for pair in value.split(";")}
        kept = [pair.strip() for text in own for pair in text.split(";") if _name(pair) not in anew]
        return "; ".join(filter(None, [*kept, value]))


def _heeded(value: str) -> str:
    """A cookie with those attributes alone that browsers heed, the last of each name."""
    pair, *others = value.split(";", _MOST)[:_MOST]
    heeded: dict[str, str] = {}
    for attribute in others:
        name, _, said = (part.strip() for part in attribute.partition("="))
        known = _HEEDED.get(name.lower())
        if known is not None and known.fullmatch(said):
            heeded[name.lower()] = name if name.lower() == "secure" else f"{name}={said}"
    return ";".join([pair, *heeded.values()])


def _name(pair: str) -> str:
    return pair.partition("=")[0].strip()


class _Answer:
    """As `http.cookiejar` wants it."""

    def __init__(self, value: str) -> None:
        self._headers = Message()
        self._headers["Set-Cookie"] = value

    def info(self) -> Message:
        return self._headers
