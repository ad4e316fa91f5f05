"""The same asset from two places: what is asked of a pair, and what came over each of its two legs.

Leg `a` is the CDN, leg `b` the origin, or any two addresses that are compared. One run asks both back to back, first
over fresh connections ("cold"), then once more over the same two ("reused").
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

from workers.measurement.connection import Header
from workers.measurement.target import Ports, TargetError, is_allowed
from workers.measurement.timing import Timing

_BRACKETED = re.compile(r"\[([^\[\]]*:[^\[\]]*)\](?::(.*))?")


class Leg(StrEnum):
    A = "a"
    B = "b"


class CacheState(StrEnum):
    """What a cache on the way said of its answer. `hit`: it gave out what it had, even if that had run out. `stale`:
    that had run out, and it asked the origin first. `dynamic`: it never keeps such answers."""

    HIT = "hit"
    MISS = "miss"
    STALE = "stale"
    BYPASS = "bypass"
    DYNAMIC = "dynamic"
    UNKNOWN = "unknown"


class Protocols(StrEnum):
    """Whether both legs were asked in the same protocol of HTTP. Each is asked in its own where none is common."""

    SAME = "same"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTarget:
    """The other leg of a pair. `address` ("IP", "IP:port", "[IPv6]:port") is dialled instead of resolving the host.

    So the origin can be asked under the CDN's own host name: Host header, TLS name and path stay equal.
    """

    url: str
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DialAddress:
    """Where to connect to instead of what the host's name says; no `port` means the port of the URL."""

    address: str
    port: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport:
    """`evidence` is the header that decided; None with `unknown`. `age_s` is how long a cache has kept the answer."""

    state: CacheState = CacheState.UNKNOWN
    evidence: Header | None = None
    age_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LegExchange:
    """One request of a pair and its answer. `connection` is a `Connection.number`; `order` counts from 1 in the run.

    A reused exchange has no `dns`, `connect` and `tls`. `body_bytes` are those that came over the wire, without the
    framing of HTTP. An exchange that did not come to its end has no `timing.end_us`. Its wait ends with the first byte
    of the answer on the wire: how soon that can be read is a matter of TLS records, and not of the server's speed.
    """

    leg: Leg
    reused: bool
    order: int
    url: str
    connection: int
    timing: Timing
    status: int | None = None
    protocol: str | None = None
    content_encoding: str | None = None
    head_bytes: int | None = None
    body_bytes: int | None = None
    cache: CacheReport = CacheReport()
    etag: str | None = None
    response_headers: tuple[Header, ...] = ()


def parse_dial_address(text: str, *, extra_ports: Ports = frozenset()) -> DialAddress:
    """ "192.0.2.1", "192.0.2.1:8443", "2001:db8::1" or "[2001:db8::1]:443" taken apart.

    Raises TargetError for a name, for an address that is written in another way, and for a port that may not be
    measured. Whether the address itself may be dialled is judged by who dials.
    """
    host, port = _parted(text.strip())
    try:
        address = ip_address(host)
    except ValueError as error:
        raise TargetError(f"{text[:60]!r} is not an IP address, or one with a port such as 192.0.2.1:443.") from error
    if getattr(address, "scope_id", None) is not None:
        raise TargetError("The address must not name a network interface (the part after %).")
    if port is None:
        return DialAddress(address=str(address))
    if not (port.isascii() and port.isdecimal()) or not is_allowed(int(port[:6]), extra_ports):
        raise TargetError(f"Port {port[:6]} may not be measured.")
    return DialAddress(address=str(address), port=int(port))


def _parted(text: str) -> tuple[str, str | None]:
    bracketed = _BRACKETED.fullmatch(text)
    if bracketed is not None:
        return bracketed[1], bracketed[2]
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, port
    return text, None
