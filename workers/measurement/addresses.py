"""Which IP addresses a measurement may touch.

Python's own `is_private` and `is_global` give other answers from one patch level to the next and call several ranges
public that lead inside (6to4, NAT64, SIIT), so the list is ours: the special-purpose registries of IANA (RFC 6890) and
what embeds an IPv4 address (RFC 4291, 6052, 3056, 4380, 5214). Probes, browsers and the service's own dials share it.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_DENIED_V4 = tuple(
    IPv4Network(cidr)
    for cidr in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        # Azure's host: metadata and credentials behind an address that looks public.
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# All that is handed out as global unicast (RFC 3513, IANA); whatever is outside leads nowhere, or inside: unspecified,
# loopback, compatible, translated (SIIT), local NAT64 (64:ff9b:1::/48), discard, SRv6, unique local, multicast.
_GLOBAL_V6 = IPv6Network("2000::/3")
# Protocol assignments (Teredo, ORCHID, benchmarking) and documentation.
_DENIED_V6 = tuple(IPv6Network(cidr) for cidr in ("2001::/23", "2001:db8::/32", "3fff::/20"))
# What embeds an IPv4 address and is judged by it: mapped, NAT64, 6to4. Their bit offsets from the left.
_EMBEDDING = ((IPv6Network("::ffff:0:0/96"), 96), (IPv6Network("64:ff9b::/96"), 96), (IPv6Network("2002::/16"), 16))
# ISATAP (RFC 5214): an interface identifier that ends in an IPv4 address, in any prefix. Its bits, and what they are.
ISATAP_MASK, ISATAP_BITS = IPv6Address("::fdff:ffff:0:0"), IPv6Address("::5efe:0:0")


def parse_networks(text: str) -> tuple[Network, ...]:
    """Comma-separated CIDR ranges. Raises ValueError naming the range that is none."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


@lru_cache(maxsize=4096)
def may_measure(address: str, *, allowed: tuple[Network, ...] = ()) -> bool:
    """Whether an address is on the public Internet, or within ranges that the operator of this agent allowed.

    False for what is no address. A zone (fe80::1%eth0) is local by its nature.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
        return False
    return any(_contains(network, parsed) for network in allowed) or not _is_denied(parsed)


def forbidden_networks() -> tuple[Network, ...]:
    """Every range that `may_measure` refuses, for firewalls. ISATAP is none: `ISATAP_MASK` finds all of it, also what
    ends in a public address, which `may_measure` allows."""
    embedding = [
        IPv6Network(
            (int(outer.network_address) | int(inner.network_address) << (96 - offset), offset + inner.prefixlen)
        )
        for outer, offset in _EMBEDDING
        for inner in _DENIED_V4
    ]
    rest = [IPv6Network("::/0")]
    for judged in (_GLOBAL_V6, *(outer for outer, _ in _EMBEDDING)):
        rest = [part for one in rest for part in (one.address_exclude(judged) if judged.subnet_of(one) else (one,))]
    return (*_DENIED_V4, *_DENIED_V6, *rest, *embedding)


def _is_denied(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return any(address in network for network in _DENIED_V4)
    for network, offset in _EMBEDDING:
        if address in network:
            return _is_denied(IPv4Address(int(address) >> (96 - offset) & 0xFFFFFFFF))
    is_isatap = int(address) & int(ISATAP_MASK) == int(ISATAP_BITS)
    if is_isatap and _is_denied(IPv4Address(int(address) & 0xFFFFFFFF)):
        return True
    return address not in _GLOBAL_V6 or any(address in network for network in _DENIED_V6)


def _contains(network: Network, address: Address) -> bool:
    return network.version == address.version and address in network
