"""Which names belong together. Pure, and no list of public suffixes: a guess that says so, and a person corrects it."""

from ipaddress import ip_address

# Second labels that registries of countries use where others have .com or .org (example.co.uk).
_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gob", "gov", "gv", "ltd", "ne", "net", "nom", "or", "org"})
# Under these every name has an owner of its own: those of CDNs are also evidence (see `evidence`).
CDN_NAMES = {
    "akamaized.net": "Akamai",
    "akamaihd.net": "Akamai",
    "edgekey.net": "Akamai",
    "edgesuite.net": "Akamai",
    "cloudfront.net": "Amazon CloudFront",
    "azureedge.net": "Azure CDN",
    "azurefd.net": "Azure Front Door",
    "b-cdn.net": "bunny.net",
    "cdn77.org": "CDN77",
    "fastly.net": "Fastly",
    "fastlylb.net": "Fastly",
    "gcdn.co": "Gcore",
    "kxcdn.com": "KeyCDN",
}
_SHARED = frozenset(
    {"appspot.com", "github.io", "gitlab.io", "herokuapp.com", "netlify.app", "pages.dev", "vercel.app", "workers.dev"}
)


def registrable(host: str) -> str:
    """The part of a name that somebody registered: `shop.example.co.uk` gives `example.co.uk`, an address itself."""
    if _is_address(host):
        return host
    labels = host.lower().rstrip(".").split(".")
    return ".".join(labels[-(_suffix_labels(labels) + 1) :])


def cdn_of_name(host: str) -> str | None:
    """The CDN whose customers get names like this one."""
    return next((provider for name, provider in CDN_NAMES.items() if host.endswith(f".{name}")), None)


def _suffix_labels(labels: list[str]) -> int:
    if ".".join(labels[-2:]) in CDN_NAMES.keys() | _SHARED:
        return 2
    is_country = len(labels) > 2 and len(labels[-1]) == 2
    return 2 if is_country and labels[-2] in _SECOND_LEVEL else 1


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
