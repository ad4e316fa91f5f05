"""What gives a CDN away: headers that only it sends, names and networks that only it has. Pure.

A cache proves nobody: `x-cache`, `age` and `via: 1.1 varnish` are what anybody's own proxy says.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from workers.measurement.domains import cdn_of_name

CLOUDFLARE, CLOUDFRONT, FASTLY, AKAMAI = "Cloudflare", "Amazon CloudFront", "Fastly", "Akamai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A header, in lower case, that gives a CDN away by a part of its value."""

    name: str
    value: str
    cdn: str


# As each documents its own, those first that are the same for every answer.
_MARKS = (
    ("server", r"^cloudflare(-nginx)?$", CLOUDFLARE),
    ("cf-cache-status", "", CLOUDFLARE),
    ("cf-ray", "", CLOUDFLARE),
    ("x-amz-cf-pop", "", CLOUDFRONT),
    ("via", r"\.cloudfront\.net \(cloudfront\)", CLOUDFRONT),
    ("x-amz-cf-id", "", CLOUDFRONT),
    # "cache-fra-eddf8230059-FRA"; "cache-01" is somebody's own.
    ("x-served-by", r"(^|[ ,])cache-[a-z]{3}[a-z0-9-]*\d-[a-z]{3}\b", FASTLY),
    ("x-fastly-request-id", "", FASTLY),
    ("server", r"^akamai", AKAMAI),
    ("akamai-cache-status", "", AKAMAI),
    ("x-akamai-transformed", "", AKAMAI),
    ("akamai-grn", "", AKAMAI),
    ("x-azure-ref", "", "Azure Front Door"),
    ("x-msedge-ref", "", "Azure Front Door"),
    ("server", r"^bunnycdn", "bunny.net"),
    ("cdn-pullzone", "", "bunny.net"),
    ("server", r"^keycdn", "KeyCDN"),
    ("server", r"^cdn77", "CDN77"),
    ("x-77-pop", "", "CDN77"),
    ("server", r"^vercel$", "Vercel"),
    ("x-vercel-cache", "", "Vercel"),
    ("x-nf-request-id", "", "Netlify"),
    ("server", r"^gcore", "Gcore"),
    ("x-cdn", r"^(imperva|incapsula)$", "Imperva"),
    ("x-sucuri-id", "", "Sucuri"),
)
_COMPILED = tuple((name, re.compile(part), cdn) for name, part, cdn in _MARKS)
MARK_NAMES = frozenset(name for name, _, _ in _MARKS)

# Where a name may lead that no customer is given: what a CDN's own names end with.
_ALIASES = {
    "akamai.net": AKAMAI,
    "akamaiedge.net": AKAMAI,
    "cdn.cloudflare.net": CLOUDFLARE,
    "incapdns.net": "Imperva",
    "impervadns.net": "Imperva",
    "t-msedge.net": "Azure Front Door",
    "vercel-dns.com": "Vercel",
}
# Networks from which nothing but the CDN answers, as published at www.cloudflare.com/ips and
# api.fastly.com/public-ip-list; the others' are too many, or shared with customers' own machines.
_NETWORKS = {
    CLOUDFLARE: (
        "103.21.244.0/22 103.22.200.0/22 103.31.4.0/22 104.16.0.0/13 104.24.0.0/14 108.162.192.0/18 131.0.72.0/22 "
        "141.101.64.0/18 162.158.0.0/15 172.64.0.0/13 173.245.48.0/20 188.114.96.0/20 190.93.240.0/20 "
        "197.234.240.0/22 198.41.128.0/17 2400:cb00::/32 2405:8100::/32 2405:b500::/32 2606:4700::/32 "
        "2803:f800::/32 2a06:98c0::/29 2c0f:f248::/32"
    ),
    FASTLY: (
        "23.235.32.0/20 43.249.72.0/22 103.244.50.0/24 103.245.222.0/23 103.245.224.0/24 104.156.80.0/20 "
        "146.75.0.0/17 151.101.0.0/16 157.52.64.0/18 167.82.0.0/17 172.111.64.0/18 185.31.16.0/22 199.27.72.0/21 "
        "199.232.0.0/16 2a04:4e40::/32 2a04:4e42::/32"
    ),
}
_PLACES = tuple((ip_network(text), cdn) for cdn, texts in _NETWORKS.items() for text in texts.split())
# Whoever has none of these and sends their headers has them from behind.
PLACED = frozenset(_NETWORKS)


def marks_in(headers: Iterable[tuple[str, str]]) -> Iterator[Mark]:
    """What an answer's headers, in any case of letters, give away."""
    sent = [(name.lower(), value) for name, value in headers]
    for name, part, cdn in _COMPILED:
        for other, value in sent:
            if other == name and part.search(value.strip().lower()):
                yield Mark(name=name, value=value.strip(), cdn=cdn)


def cdn_of_alias(name: str) -> str | None:
    """The CDN to which a name belongs that others lead to."""
    own = name.lower().rstrip(".")
    return cdn_of_name(own) or next((cdn for end, cdn in _ALIASES.items() if own.endswith(f".{end}")), None)


def cdn_of_address(address: str) -> str | None:
    """The CDN that answers at an address, where it says itself which are its own."""
    try:
        known = ip_address(address)
    except ValueError:
        return None
    return next((cdn for network, cdn in _PLACES if known.version == network.version and known in network), None)


def is_public(address: str) -> bool:
    try:
        return ip_address(address).is_global
    except ValueError:
        return False
