"""Rules for nftables around a region's agent: what a page may ask for that Chromium itself would let it reach.

Refused connections are answered with TCP's reset. Dropped ones, or those answered by ICMP, Chrome would try again and
again: measured, 248 packets in 12 s, and the page's own times spoilt.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address, ip_network

from workers.measurement.addresses import ISATAP_BITS, ISATAP_MASK, Network, forbidden_networks, may_measure
from workers.shaping.settings import SHAPED_INTERFACE

_TABLE = "firstbyte"
_DNS_PORT = 53


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """Where something of ours listens."""

    address: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceptions:
    """What stays open although it is private. `own_port_from` is the first of the ports that the kernel hands out
    itself: our own page for the canary has one on loopback, services of a machine have lower ones."""

    targets: tuple[Network, ...]
    endpoints: tuple[Endpoint, ...]
    name_servers: tuple[str, ...]
    own_port_from: int


def ruleset(exceptions: Exceptions, *, user: int | None = None) -> str:
    """A file for `nft -f`, which replaces what was there of ours; `user` (uid) is whom alone it holds.

    Who is in a shaped network is held in any case: its packets come to this machine as a stranger's, and are nobody's.
    """
    # Said in this way and not as an exception for the others: a reset that nftables makes belongs to nobody.
    whose = "" if user is None else f"meta skuid {user} "
    lines = [
        f"table inet {_TABLE}",
        f"delete table inet {_TABLE}",
        f"table inet {_TABLE} {{",
        "  chain output {",
        "    type filter hook output priority filter; policy accept;",
        f"    {whose}ct state new jump judge",
        "  }",
        *_from_shaped("input"),
        *_from_shaped("forward"),
        "  chain judge {",
        *(f"    {rule}" for rule in (*_open(exceptions), *_closed())),
        "  }",
        "  chain refuse {",
        "    meta l4proto tcp reject with tcp reset",
        "    reject",
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _from_shaped(hook: str) -> Iterable[str]:
    yield f"  chain {hook} {{"
    yield f"    type filter hook {hook} priority filter; policy accept;"
    yield f'    iifname "{SHAPED_INTERFACE}*" ct state new jump judge'
    yield "  }"


def _open(exceptions: Exceptions) -> Iterable[str]:
    yield f"ip daddr 127.0.0.0/8 meta l4proto {{ tcp, udp }} th dport {exceptions.own_port_from}-65535 accept"
    for network in exceptions.targets:
        yield f"{_destination(network)} accept"
    for server in exceptions.name_servers:
        yield f"{_destination(ip_network(server))} meta l4proto {{ tcp, udp }} th dport {_DNS_PORT} accept"
    for one in sorted(set(exceptions.endpoints)):
        if not may_measure(one.address):
            yield f"{_destination(ip_network(one.address))} tcp dport {one.port} accept"


def _closed() -> Iterable[str]:
    for network in forbidden_networks():
        yield f"{_destination(network)} jump refuse"
    yield f"ip6 daddr & {ISATAP_MASK} == {ISATAP_BITS} jump refuse"


def _destination(network: Network) -> str:
    return f"{'ip' if isinstance(network, IPv4Network) else 'ip6'} daddr {network}"


def without_zone(address: str) -> str:
    """As firewalls take it: fe80::1%eth0 is fe80::1 to them."""
    return str(ip_address(address.partition("%")[0]))
