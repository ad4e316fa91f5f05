"""What a host is to a site, proposed from what was seen of it, with the reasons as sentences. Pure.

Headers are those that CDNs document as their own; a name alone is weak and says so. Who owns the site decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from backend.sites.hosts import ProposedRole
from backend.sites.models import HostRole
from workers.measurement.cdn_marks import MARK_NAMES, marks_in
from workers.measurement.domains import cdn_of_name, registrable

# What any cache says; an origin may have one of its own.
_CACHES = (
    ("x-cache", ""),
    ("x-cache-status", ""),
    ("x-cache-hits", ""),
    ("x-varnish", ""),
    ("cache-status", ""),
    ("age", ""),
    ("server-timing", "cdn-cache"),
)
TELLING = MARK_NAMES | {name for name, _ in _CACHES} | {"server-timing", "via", "server"}
_CDN_LABELS = ("cdn", "edge")
_STATIC_LABELS = frozenset({"assets", "images", "img", "media", "static"})
_ORIGIN_LABELS = frozenset({"backend", "origin"})
_MAX_VALUE_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSeen:
    """A host as page loads saw it. `headers` are of its answers, names in lower case, one value each."""

    name: str
    requests: int = 0
    documents: int = 0
    addresses: frozenset[str] = frozenset()
    headers: tuple[tuple[str, str], ...] = ()


def propose(site_host: str, hosts: Sequence[HostSeen]) -> tuple[ProposedRole, ...]:
    """A role for each host, the strongest reason first; `site_host` is the host of the site's own address."""
    seen = {host.name: host for host in hosts}
    return tuple(_propose(host, site_host, seen) for host in hosts)


def _propose(host: HostSeen, site_host: str, seen: Mapping[str, HostSeen]) -> ProposedRole:
    if host.name == site_host:
        role, reasons = _own_host(host)
    elif (link := _link(host, site_host, seen)) is not None:
        role, reasons = _linked(host, link)
    else:
        role, reasons = _foreign(host, site_host)
    return ProposedRole(name=host.name, role=role, evidence=tuple(reasons))


def _own_host(host: HostSeen) -> tuple[HostRole, list[str]]:
    provider = _provider(host)
    if provider is None:
        return HostRole.ORIGIN, ["The site's own address leads here.", *_cache(host)]
    reasons = [provider, "The site's own address leads here, so the whole site is behind the CDN."]
    return HostRole.CDN, [*reasons, "Where the origin is cannot be seen from outside."]


def _linked(host: HostSeen, link: str) -> tuple[HostRole, list[str]]:
    """A host that belongs to the site."""
    strong = [*_named(_provider(host)), *_cache(host)]
    labels = host.name.split(".")[:-1]
    if strong:
        return HostRole.CDN, [*strong, link, *_pattern(labels)]
    if any(label in _ORIGIN_LABELS for label in labels):
        return HostRole.ORIGIN, [f"Its name says that it is the origin, and no cache answers there. {link}"]
    pattern = _pattern(labels)
    is_named_so = any(part in label for label in labels for part in _CDN_LABELS)
    return HostRole.CDN if is_named_so else HostRole.OWN, [*pattern, link] if is_named_so else [link, *pattern]


def _foreign(host: HostSeen, site_host: str) -> tuple[HostRole, list[str]]:
    outside = f"Its name does not belong to the site's domain {registrable(site_host)}."
    customer = cdn_of_name(host.name)
    if customer is not None and host.requests > host.documents == 0:
        reason = f"{customer} gives names like this to one customer each; whether that is you, it does not say (weak)."
        return HostRole.CDN, [reason, outside]
    return HostRole.THIRD_PARTY, [outside, *_named(_provider(host))]


def _link(host: HostSeen, site_host: str, seen: Mapping[str, HostSeen]) -> str | None:
    """Why a host is one of the site's; None when nothing says so."""
    if registrable(host.name) == registrable(site_host):
        return f"Its name belongs to the site's domain {registrable(site_host)}."
    home = seen.get(site_host)
    # At a CDN strangers share addresses.
    if home is not None and _provider(home) is None and host.addresses & home.addresses:
        return f"It answers from the same address as {site_host}."
    return None


def _provider(host: HostSeen) -> str | None:
    """That a certain CDN answers, by the header that gives it away."""
    mark = next(marks_in(host.headers), None)
    return None if mark is None else f"{mark.cdn} answers there ({_quoted(mark.name, mark.value)})."


def _cache(host: HostSeen) -> Iterator[str]:
    headers = dict(host.headers)
    for name, part in _CACHES:
        if name in headers and part in headers[name].lower():
            yield f"A cache answers there ({_quoted(name, headers[name])})."
            return


def _pattern(labels: Sequence[str]) -> list[str]:
    telling = [label for label in labels if label in _STATIC_LABELS or any(part in label for part in _CDN_LABELS)]
    return [f"“{telling[0][:_MAX_VALUE_CHARS]}” in its name is usual for a CDN (weak)."] if telling else []


def _named(sentence: str | None) -> list[str]:
    return [] if sentence is None else [sentence]


def _quoted(name: str, value: str) -> str:
    shown = value if len(value) <= _MAX_VALUE_CHARS else value[: _MAX_VALUE_CHARS - 1] + "…"
    return f"{name}: {shown}"
