"""Two networks joined by a delay link.

    client          junction          another network
    eth0 ────────── n0 ▷ link ▷ f0 ────────── eth0

The link is a process on two packet sockets, not a TUN device: it sees when the kernel had a packet, and needs no device
node. Both `eth0` have the same hardware address and ask nobody for one, so that frames pass as they are.
"""

import socket
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_interface
from itertools import count

from workers.shaping import netlink, offloads
from workers.shaping.faults import ShapingError
from workers.shaping.links import Links, wire
from workers.shaping.namespace import Namespace, Network
from workers.shaping.netlink import NO_METRICS, RouteMetrics
from workers.shaping.settings import LinkSettings

INTERFACE = "eth0"
_MAC = bytes.fromhex("020000000001")
_JUNCTION_MAC = bytes.fromhex("020000000002")
_ORDER = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end's addresses with their prefix (`10.77.0.1/24`), and what its TCP does towards the other end."""

    addresses: tuple[str, ...]
    metrics: RouteMetrics = NO_METRICS


@dataclass(frozen=True, slots=True, kw_only=True)
class Plug:
    """Where a cable ends: an interface to be made in a namespace."""

    network: Network
    interface: str = INTERFACE


class Cable:
    """A delay link between two interfaces of two namespaces, until it is closed."""

    def __init__(self, links: Links, junction: Namespace) -> None:
        self.key = f"{next(_ORDER)}"
        self._links = links
        self._junction = junction

    def join(self, client: Plug, other: Plug, settings: LinkSettings) -> None:
        """Raises ShapingError, and NotPermittedError without the rights for it."""
        near, far = f"n{self.key}", f"f{self.key}"
        _plug(client, near, self._junction, _JUNCTION_MAC)
        try:
            _plug(other, far, self._junction, _JUNCTION_MAC)
            self._links.add(self.key, _wire(self._junction, near), _wire(self._junction, far), settings)
        except BaseException:
            self._junction.call(lambda: netlink.remove_link(near))
            raise

    def change(self, settings: LinkSettings) -> None:
        self._links.change(self.key, settings)

    def report(self) -> dict[str, int]:
        """See `Link.report`."""
        return self._links.report(self.key)

    def close(self) -> None:
        """Removes the link and both interfaces, also where the process of links has ended."""
        with suppress(ShapingError):
            self._links.remove(self.key)
        self._junction.call(self._unplug)

    def _unplug(self) -> None:
        for end in (f"n{self.key}", f"f{self.key}"):
            with suppress(OSError):
                netlink.remove_link(end)


def join_directly(client: Plug, other: Plug) -> None:
    """A cable without a link of ours: whoever shapes it does it on the interfaces."""
    _plug(client, other.interface, other.network, _MAC)
    other.network.call(lambda: _ready(other.interface))


def _plug(plug: Plug, end: str, junction: Network, end_mac: bytes) -> None:
    plug.network.call(
        lambda: netlink.add_veth(plug.interface, end_in=junction.fd, end_name=end, mac=_MAC, end_mac=end_mac)
    )
    plug.network.call(lambda: _ready(plug.interface))


def _ready(interface: str) -> None:
    offloads.switch_off(interface)
    netlink.set_up(interface)


def _wire(junction: Namespace, end: str) -> socket.socket:
    return junction.call(lambda: wire(end))


def furnish(plug: Plug, end: End) -> None:
    """Gives an interface its addresses and the routes to its neighbours."""
    plug.network.call(lambda: _furnish(plug.interface, end))


def _furnish(interface: str, end: End) -> None:
    for address in map(ip_interface, end.addresses):
        netlink.add_address(interface, address)
        netlink.add_route(interface, str(address.network), metrics=end.metrics)


def make_home(namespace: Namespace) -> None:
    """A loopback, and a TCP that learns nothing from one connection for the next."""
    namespace.call(lambda: netlink.set_up("lo", quiet=False))
    namespace.sysctl("net.ipv4.tcp_no_metrics_save", 1)
