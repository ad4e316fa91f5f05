"""What Strict-Transport-Security spares a journey: the steps from http:// to https:// of one host."""

from collections.abc import Sequence
from ipaddress import ip_address
from itertools import pairwise
from urllib.parse import SplitResult, urlsplit

from workers.diagnosis.probe.headers import hsts_max_age_s
from workers.measurement.connection import Header
from workers.measurement.target import DEFAULT_PORTS

# 180 days: below, a visitor who comes twice a year is redirected each time.
MIN_HSTS_S = 180 * 86_400
Step = tuple[str, tuple[Header, ...]]


def hsts_word(max_age_s: int | None) -> str:
    """Whether it holds for as long as it should."""
    if max_age_s is None:
        return "absent"
    return "short" if max_age_s < MIN_HSTS_S else "present"


def hsts_of_journey(steps: Sequence[Step]) -> str | None:
    """What the host says over https:// to which its own http:// led; None where nothing led there. `steps` are URLs
    with the headers of their answers."""
    hosts = {_host_led_to_tls(one[0], later[0]) for one, later in pairwise(steps)} - {None}
    over_tls = (headers for url, headers in steps if origin(url)[0] == "https" and origin(url)[1] in hosts)
    known = [max_age_s for headers in over_tls if (max_age_s := hsts_max_age_s(headers)) is not None]
    return hsts_word(max(known, default=None)) if hosts else None


def _host_led_to_tls(url: str, later: str) -> str | None:
    """The host that browsers would take to https:// by themselves; they do so for names only (RFC 6797, 8.3)."""
    (scheme, host, port), to = origin(url), origin(later)
    plain = scheme == "http" and port == DEFAULT_PORTS["http"]
    return host if plain and to == ("https", host, DEFAULT_PORTS["https"]) and not is_address(host) else None


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port, of what is no URL as well."""
    parts = _split(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    return parts.scheme, parts.hostname or "", port or DEFAULT_PORTS.get(parts.scheme)


def is_address(host: str) -> bool:
    """Whether it is an IP address: browsers keep HSTS for names only (RFC 6797, 8.3)."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
