"""Whether an address may be registered: said while it is typed, before any packet is sent. Names are not resolved here:
the agents judge every address at the moment they use it."""

from ipaddress import ip_address

from django.conf import settings

from backend.config import is_loopback
from workers.measurement.addresses import may_measure
from workers.measurement.pair import DialAddress, PairTarget, parse_dial_address
from workers.measurement.target import Target, TargetError, parse_target

INSIDE = (
    "This address is inside your network; an admin must allow it: the setting is FIRSTBYTE_PRIVATE_TARGETS, "
    "a list of address ranges, for the service and for the agents that measure it."
)


def check_target(text: str) -> Target:
    """The address in its canonical form; https:// is put before what names no scheme. Raises TargetError."""
    text = text.strip()
    target = parse_target(text if "://" in text else f"https://{text}", extra_ports=settings.EXTRA_PORTS)
    if _is_inside(target.host):
        raise TargetError(INSIDE)
    return target


def check_dial_address(text: str) -> DialAddress:
    """An address to dial in place of what a name says, "IP" or "IP:port". Raises TargetError."""
    dial = parse_dial_address(text, extra_ports=settings.EXTRA_PORTS)
    if _is_inside(dial.address):
        raise TargetError(INSIDE)
    return dial


def check_pair_target(other: PairTarget) -> PairTarget:
    """The other leg of a pair in its canonical form. Raises TargetError."""
    url = check_target(other.url).url
    if other.address is None:
        return PairTarget(url=url)
    dial = check_dial_address(other.address)
    host = f"[{dial.address}]" if ":" in dial.address and dial.port is not None else dial.address
    return PairTarget(url=url, address=host if dial.port is None else f"{host}:{dial.port}")


def _is_inside(host: str) -> bool:
    try:
        address = str(ip_address(host))
    except ValueError:
        return is_loopback(host) and not may_measure("127.0.0.1", allowed=settings.PRIVATE_TARGETS)
    return not may_measure(address, allowed=settings.PRIVATE_TARGETS)
