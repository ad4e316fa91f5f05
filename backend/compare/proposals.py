"""Assets worth comparing, from what pages loaded of their CDN. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from backend.compare.seen import host_name
from backend.sites.models import HostRole
from workers.measurement.target import MAX_URL_CHARS
from workers.measurement.waterfall import Request, ResourceType, ServedFrom, Waterfall

MAX_PROPOSALS = 5
# A pair fetches its asset four times: what is larger costs the site more than it tells.
MAX_BYTES = 1_000_000
_STATIC = frozenset(
    {ResourceType.STYLESHEET, ResourceType.SCRIPT, ResourceType.IMAGE, ResourceType.FONT, ResourceType.MEDIA}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPair:
    """An asset of the CDN, and the origin's scheme and host that probably have it, too; None when none was seen."""

    cdn_url: str
    origin: str | None
    bytes: int

    @property
    def name(self) -> str:
        return urlsplit(self.cdn_url).path


def propose_pairs(
    waterfalls: Sequence[Waterfall], roles: Mapping[str, HostRole], known: Collection[str]
) -> tuple[ProposedPair, ...]:
    """The biggest static assets of each kind on CDN hosts, at most 5; `known` are URLs that are compared already."""
    requests = [request for waterfall in waterfalls for request in waterfall.requests]
    origin = next((_base(request.url) for request in requests if _is_home(request, roles)), None)
    assets = {
        request.url: request
        for request in sorted(requests, key=lambda request: (_size(request), request.url))
        if _is_asset(request, roles) and request.url not in known
    }
    biggest = sorted(assets.values(), key=lambda request: (-_size(request), request.url))
    return tuple(
        ProposedPair(cdn_url=request.url, origin=origin, bytes=_size(request))
        for request in _of_each_kind(biggest)[:MAX_PROPOSALS]
    )


def _of_each_kind(biggest: Sequence[Request]) -> list[Request]:
    """The biggest of each kind first, then the rest: a style sheet and a picture tell more than two pictures."""
    firsts = list({request.resource_type: request for request in reversed(biggest)}.values())
    ordered = [request for request in biggest if request in firsts]
    return ordered + [request for request in biggest if request not in firsts]


def _is_asset(request: Request, roles: Mapping[str, HostRole]) -> bool:
    return (
        request.resource_type in _STATIC
        and request.served_from is ServedFrom.NETWORK
        and request.method == "GET"
        and request.status == 200
        and 0 < _size(request) <= MAX_BYTES
        and len(request.url) <= MAX_URL_CHARS
        and request.url.startswith(("http://", "https://"))
        and roles.get(host_name(request.url) or "") is HostRole.CDN
    )


def _is_home(request: Request, roles: Mapping[str, HostRole]) -> bool:
    is_page = request.resource_type is ResourceType.DOCUMENT and request.status is not None
    return is_page and roles.get(host_name(request.url) or "") is HostRole.ORIGIN


def _base(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _size(request: Request) -> int:
    return request.transferred_bytes or 0
