"""Where the origin's leg goes, from what a person typed. Pure, but for the one rule of targets."""

from ipaddress import ip_address

from backend.sites.targets import check_dial_address, check_pair_target, check_target
from workers.measurement.pair import PairTarget
from workers.measurement.target import Target, TargetError


def other_leg(cdn: Target, origin: str) -> PairTarget:
    """The same asset at the origin. Raises TargetError.

    An address (192.0.2.1, 192.0.2.1:8443, [2001:db8::1]:443) is dialled in place of the CDN's: name, TLS and path stay
    the CDN's own. A host, or a URL that ends in a slash, is put before the asset's path. Any other URL is the asset.
    """
    origin = origin.strip()
    target = check_origin(origin, cdn.scheme)
    if target is None:
        return check_pair_target(PairTarget(url=cdn.url, address=origin))
    is_prefix = target.path.endswith("/") and "?" not in target.path
    url = target.url + cdn.path[1:] if is_prefix else target.url
    if url == cdn.url:
        raise TargetError("The origin must be another address than the CDN's.")
    return check_pair_target(PairTarget(url=url))


def check_origin(origin: str, scheme: str = "https") -> Target | None:
    """What can be said against an origin without knowing the asset; None for an address. Raises TargetError."""
    origin = origin.strip()
    if _is_address(origin):
        check_dial_address(origin)
        return None
    return check_target(origin if "://" in origin else f"{scheme}://{origin}")


def _is_address(text: str) -> bool:
    """Whether it is an IP address, with or without a port; brackets alone are how URLs write one."""
    host = text[1:].partition("]")[0] if text.startswith("[") else text
    if text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
