"""A network of two ends, a client's and another's, with a delay link between them and nothing else on it.

    client namespace      junction namespace        the other end
    eth0 ───────────────  near ▷ link ▷ far  ──────  eth0

The link is a process on two packet sockets, not a TUN device: it sees when the kernel had a packet, and needs no device
node. Both `eth0` have the same hardware address and ask nobody for one, so that frames pass as they are.
"""

from dataclasses import dataclass
from ipaddress import ip_interface
from itertools import count

from workers.shaping import netlink, offloads
from workers.shaping.links import Links, wire
from workers.shaping.namespace import Namespace
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


class Cable:
    """A delay link between the `eth0` of two namespaces, until it is closed or the namespaces end."""

    def __init__(self, links: Links, junction: Namespace) -> None:
        self.key = f"{next(_ORDER)}"
        self._links = links
        self._junction = junction

    def join(self, client: Namespace, other: Namespace, settings: LinkSettings) -> None:
        """Raises ShapingError, and NotPermittedError without the rights for it."""
        near, far = f"n{self.key}", f"f{self.key}"
        for namespace, end in ((client, near), (other, far)):
            namespace.call(lambda end=end: _plug(self._junction, end))  # type: ignore[misc]  # mypy loses the default
        self._links.add(self.key, wire(self._junction, near), wire(self._junction, far), settings)

    def change(self, settings: LinkSettings) -> None:
        self._links.change(self.key, settings)

    def report(self) -> dict[str, int]:
        """See `Link.report`."""
        return self._links.report(self.key)

    def close(self) -> None:
        self._links.remove(self.key)


def _plug(junction: Namespace, end: str) -> None:
    netlink.add_veth(INTERFACE, end_in=junction.fd, end_name=end, mac=_MAC, end_mac=_JUNCTION_MAC)
    offloads.switch_off(INTERFACE)
    netlink.set_up(INTERFACE)


def furnish(namespace: Namespace, end: End) -> None:
    """Gives a plugged end its addresses, the routes to its neighbours, a loopback, and a TCP that learns nothing.

    What TCP remembers of earlier connections (`tcp_no_metrics_save`) would make each measurement depend on the last.
    """
    namespace.call(lambda: _furnish(end))
    namespace.sysctl("net.ipv4.tcp_no_metrics_save", 1)


def _furnish(end: End) -> None:
    netlink.set_up("lo", quiet=False)
    for address in map(ip_interface, end.addresses):
        netlink.add_address(INTERFACE, address)
        netlink.add_route(INTERFACE, str(address.network), metrics=end.metrics)
