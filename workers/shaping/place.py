"""A shaped network with a way out: where probes and browsers measure through a profile.

    place = ShapedPlace(PROFILES["3g"])
    engine = Engine(settings, enter=place.enter)     # its thread makes all its sockets inside
    BrowserPool(settings, enter=place.enter)         # or what else starts its processes in a thread that has entered
    place.close()

    place           this machine's network
    eth0 ── link ── fbshape0 ─ masquerade ─▶ the uplink

Needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, as root has them. It switches forwarding on where it must and leaves
it on, since others may have come to depend on it. All that it makes goes with this process, however that ends.
"""

from contextlib import ExitStack
from functools import cache
from ipaddress import ip_interface

from workers.closing import Closing
from workers.measurement.profile import Profile
from workers.shaping import netem, netlink, uplink
from workers.shaping.cable import INTERFACE, Cable, End, Plug, furnish, join_directly, make_home
from workers.shaping.faults import ShapingError
from workers.shaping.links import Links
from workers.shaping.namespace import Here, Namespace
from workers.shaping.nat import Masquerade
from workers.shaping.netlink import TakenError
from workers.shaping.relay import Relay, is_loopback
from workers.shaping.settings import SHAPED_INTERFACE, LinkSettings

# Of the addresses kept for measuring networks (RFC 2544, C.2.2) and of a random unique local prefix (RFC 4193).
_IPV4 = "198.18.{number}.{end}/30"
_IPV6 = "fd5f:62e1:7a0c:{number:x}::{end}/64"
_MOST = 250
_OURS, _INSIDE = 1, 2


class ShapedPlace(Closing):
    """A network whose way out has the numbers of a profile. Made, used and closed in this machine's network.

    `resolvers` are the name servers that this machine asks; those on its own loopback are made to answer inside too.
    Raises ShapingError, and NotPermittedError without the rights for it.
    """

    def __init__(self, profile: Profile, *, resolvers: tuple[str, ...] = ()) -> None:
        self._settings = LinkSettings.of_profile(profile)
        self._stack = ExitStack()
        self._links: Links | None = None
        with self._stack:
            self.namespace = self._stack.enter_context(Namespace(f"profile {profile.name}"))
            make_home(self.namespace)
            self._here = Here()
            self._stack.callback(self._here.close)
            self._interface = self._join()
            self._lead_out(int(self._interface.removeprefix(SHAPED_INTERFACE)))
            self._lead_to(tuple(filter(is_loopback, resolvers)))
            self._stack = self._stack.pop_all()

    def enter(self) -> None:
        """Moves the calling thread, and what it starts from now on, into this network."""
        self.namespace.enter()

    @property
    def stands(self) -> bool:
        """Whether what is sent from inside reaches anybody: its link has not ended by itself."""
        return self._links is None or self._links.stands

    def check(self) -> None:
        """Raises ShapingError once it stands no more."""
        if not self.stands:
            raise ShapingError("the process of its link has ended meanwhile")

    def close(self) -> None:
        """Ends the network: sockets that are still open reach nobody."""
        self._stack.close()

    def _join(self) -> str:
        """The interface of this machine at the other end. The kernel's own link shapes where there is one."""
        inside = Plug(network=self.namespace)
        join = self._join_by_netem if has_netem() else self._join_by_process
        for number in range(_MOST):
            outside = Plug(network=self._here, interface=f"{SHAPED_INTERFACE}{number}")
            try:
                with ExitStack() as attempt:
                    join(inside, outside, attempt)
                    self._stack.push(attempt.pop_all())
                    return outside.interface
            except TakenError:
                continue
        raise ShapingError(f"there are {_MOST} shaped networks on this machine already")

    def _join_by_netem(self, inside: Plug, outside: Plug, stack: ExitStack) -> None:
        join_directly(inside, outside)
        stack.callback(netlink.remove_link, outside.interface)
        netem.shape(inside, outside, self._settings)

    def _join_by_process(self, inside: Plug, outside: Plug, stack: ExitStack) -> None:
        junction = stack.enter_context(Namespace("junction"))
        self._links = stack.enter_context(Links())
        cable = Cable(self._links, junction)
        cable.join(inside, outside, self._settings)
        stack.callback(cable.close)

    def _lead_out(self, number: int) -> None:
        """Addresses, routes, and this machine's own address for what leaves it. IPv6 only where this machine has it."""
        ways6 = uplink.default_interfaces6()
        forms = (_IPV4, _IPV6) if ways6 else (_IPV4,)
        ours, theirs = (_addresses(forms, number, end) for end in (_OURS, _INSIDE))
        furnish(Plug(network=self._here, interface=self._interface), End(addresses=ours))
        furnish(Plug(network=self.namespace), End(addresses=theirs))
        self.namespace.call(lambda: _route_out(ours))
        uplink.forward4([self._interface, *uplink.default_interfaces4()])
        if ways6:
            uplink.forward6()
        leaving = Masquerade(self._interface, tuple(ip_interface(text).ip for text in theirs))
        self._stack.callback(leaving.close)

    def _lead_to(self, resolvers: tuple[str, ...]) -> None:
        if resolvers:
            self.namespace.sysctl("net.ipv4.ip_unprivileged_port_start", 0)
            relay = Relay(self.namespace, resolvers, delay_us=self._settings.rtt_us)
            self._stack.callback(relay.close)


def _route_out(gateways: tuple[str, ...]) -> None:
    for gateway in map(ip_interface, gateways):
        netlink.add_route(INTERFACE, "0.0.0.0/0" if gateway.version == 4 else "::/0", via=str(gateway.ip))


def _addresses(forms: tuple[str, ...], number: int, end: int) -> tuple[str, ...]:
    return tuple(form.format(number=number, end=end) for form in forms)


@cache
def has_netem() -> bool:
    """Whether this kernel has a delay link of its own."""
    with Namespace("trial") as trial:
        try:
            trial.call(lambda: netem.delay("lo", delay_us=0, kbit_s=None, settings=LinkSettings()))
        except ShapingError:
            return False
    return True
