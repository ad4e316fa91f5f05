"""Whether an address may be registered: said while it is typed, before any packet is sent. Names are not resolved here:
the agents judge every address at the moment they use it."""

from ipaddress import ip_address

from django.conf import settings

from backend.config import is_loopback
from workers.measurement.addresses import may_measure
from workers.measurement.messages import Kind
from workers.measurement.page_options import PageOptions
from workers.measurement.page_rules import mapped_ports_fault
from workers.measurement.pair import DialAddress, PairTarget, parse_dial_address
from workers.measurement.target import CredentialsError, PortError, Target, TargetError, parse_target

_INSIDE = (
    "This address is inside your network; an admin must allow it: the setting is FIRSTBYTE_PRIVATE_TARGETS, "
    "a list of address ranges"
)
_MORE_PORTS = "An operator adds others with FIRSTBYTE_EXTRA_PORTS"
_AGENTS_TOO = "for the service and for the agents that measure it."


class _InsideError(TargetError):
    """An address of the operator's own network that is not allowed; in words for who wants it measured."""

    def __init__(self) -> None:
        super().__init__(f"{_INSIDE}, {_AGENTS_TOO}")


def check_target(text: str) -> Target:
    """The address in its canonical form; https:// is put before what names no scheme. Raises TargetError."""
    try:
        return _checked(text)
    except PortError as error:
        raise TargetError(f"{error} {_MORE_PORTS}, {_AGENTS_TOO}") from error


def canonical_url(text: str, kind: Kind) -> str:
    """The address as a monitor of that kind asks for it: by a fragment only pages choose what they show.

    Raises TargetError.
    """
    target = check_target(text)
    return target.page_url if kind is Kind.PAGE else target.url


def check_called(text: str) -> Target:
    """The same of an address that the service itself is to call, in words that fit that. Raises TargetError."""
    try:
        return _checked(text)
    except PortError as error:
        refused = f"Port {error.port} may not be called; allowed are {error.allowed}. {_MORE_PORTS}."
        raise TargetError(refused) from error
    except CredentialsError as error:
        raise TargetError("The address must not hold a user name or password.") from error
    except _InsideError as error:
        raise TargetError(f"{_INSIDE}.") from error


def _checked(text: str) -> Target:
    text = text.strip()
    target = parse_target(text if "://" in text else f"https://{text}", extra_ports=settings.EXTRA_PORTS)
    if _is_inside(target.host):
        raise _InsideError
    return target


def check_dial_address(text: str) -> DialAddress:
    """An address to dial in place of what a name says, "IP" or "IP:port". Raises TargetError."""
    dial = parse_dial_address(text, extra_ports=settings.EXTRA_PORTS)
    if _is_inside(dial.address):
        raise _InsideError
    return dial


def mapped_fault(options: PageOptions) -> str | None:
    """A sentence where a host is mapped to a port that may not be measured."""
    fault = mapped_ports_fault(options, settings.EXTRA_PORTS)
    return None if fault is None else f"{fault} {_MORE_PORTS}, {_AGENTS_TOO}"


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
