"""From waterfalls to what they show of each host. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from backend.compare.evidence import TELLING, HostSeen
from workers.measurement.connection import Header
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, Waterfall

# A page that speaks to more is a directory of trackers; the busiest are kept.
MAX_HOSTS = 200
MAX_NAME_CHARS = 253
_MAX_VALUE_CHARS = 200


@dataclass(slots=True)
class _Sum:
    requests: int = 0
    documents: int = 0
    addresses: set[str] = field(default_factory=set)
    headers: dict[str, str] = field(default_factory=dict)


def hosts_seen(waterfalls: Iterable[Waterfall]) -> list[HostSeen]:
    """Every host that was asked over the network, the busiest first, at most 200."""
    sums: dict[str, _Sum] = {}
    for waterfall in waterfalls:
        for request in waterfall.requests:
            if request.served_from is ServedFrom.NETWORK and (name := host_name(request.url)):
                _add(sums.setdefault(name, _Sum()), request)
    busiest = sorted(sums.items(), key=lambda item: (-item[1].requests, item[0]))[:MAX_HOSTS]
    return [
        HostSeen(
            name=name,
            requests=one.requests,
            documents=one.documents,
            addresses=frozenset(one.addresses),
            headers=tuple(sorted(one.headers.items())),
        )
        for name, one in busiest
    ]


def host_name(url: str) -> str | None:
    """The host of a web address in lower case; None for what is none."""
    try:
        parts = urlsplit(url)
        name = parts.hostname
    except ValueError:
        return None
    is_web = parts.scheme in ("http", "https", "ws", "wss")
    return name if is_web and name and len(name) <= MAX_NAME_CHARS and name.isprintable() else None


def _add(one: _Sum, request: Request) -> None:
    one.requests += 1
    one.documents += request.resource_type is ResourceType.DOCUMENT
    if request.address:
        one.addresses.add(request.address)
    for header in request.response_headers:
        _keep(one.headers, header)


def _keep(headers: dict[str, str], header: Header) -> None:
    """The first of each; of what caches say a hit, which proves more than a miss."""
    name = header.name.lower()
    if name not in TELLING:
        return
    value = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in header.value)
    if name not in headers or ("hit" in value.lower() and "hit" not in headers[name].lower()):
        headers[name] = value[:_MAX_VALUE_CHARS]
