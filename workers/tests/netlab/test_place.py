"""A shaped network with a way out: through a made-up machine to a made-up Internet that knows that machine alone."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_interface
from threading import Event, Thread
from time import monotonic_ns

import dns.message
import dns.query
import pytest
from dns.message import Message

from workers.measurement.addresses import parse_networks
from workers.measurement.compute.shaping import Passage, keeps_profile
from workers.measurement.messages import Measured, ProbeMeasurement
from workers.measurement.profile import PROFILES, Profile, parse_profile
from workers.probes.engine import Engine
from workers.probes.settings import ProbeSettings
from workers.probes.stamps import receive, stamp_arrivals
from workers.shaping import netlink, place
from workers.shaping.faults import NotPermittedError
from workers.shaping.namespace import Namespace
from workers.shaping.place import ShapedPlace
from workers.tests.builders import build_request
from workers.tests.netlab.programs import start_inside
from workers.tests.servers import DnsServer, Server, Zone, keeping, response
from workers.tests.waiting import undisturbed

_MAC = bytes.fromhex("020000000003")
_WORLD = ("192.0.2.1/24", "2001:db8::1/64")
_MACHINE = ("192.0.2.2/24", "2001:db8::2/64")
SERVER4, SERVER6 = (str(ip_interface(text).ip) for text in _WORLD)
MACHINE4, MACHINE6 = (str(ip_interface(text).ip) for text in _MACHINE)
SIZE = 60_000


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with an uplink, and who was seen from the other side of it."""

    network: Namespace
    world: Namespace
    callers: list[str]

    @contextmanager
    def shaped(self, profile: Profile, *resolvers: str) -> Iterator[ShapedPlace]:
        place = self.network.call(lambda: ShapedPlace(profile, resolvers=resolvers))
        try:
            yield place
        finally:
            self.network.call(place.close)


def _connect(families: int) -> None:
    netlink.set_up("lo", quiet=False)
    netlink.set_up("uplink")
    for text, gateway in tuple(zip(_MACHINE, (SERVER4, SERVER6), strict=True))[:families]:
        netlink.add_address("uplink", ip_interface(text))
        netlink.add_route("uplink", str(ip_interface(text).network))
        netlink.add_route("uplink", "::/0" if ":" in text else "0.0.0.0/0", via=gateway)


def _open_world() -> socket.socket:
    netlink.set_up("lo", quiet=False)
    netlink.set_up("eth0")
    for text in _WORLD:
        netlink.add_address("eth0", ip_interface(text))
        netlink.add_route("eth0", str(ip_interface(text).network))
    return socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True)


def _serve(listener: socket.socket, callers: list[str], gone: Event) -> None:
    listener.settimeout(0.05)
    while not gone.is_set():
        try:
            sock, address = listener.accept()
        except TimeoutError:
            continue
        with sock:
            callers.append(address[0].removeprefix("::ffff:"))
            sock.sendall(bytes(SIZE))


@contextmanager
def machine(families: int = 2) -> Iterator[Machine]:
    with ExitStack() as stack:
        network, world = (stack.enter_context(Namespace(name)) for name in ("machine", "world"))
        world.sysctl("net.ipv4.ip_unprivileged_port_start", 0)
        network.call(lambda: netlink.add_veth("uplink", end_in=world.fd, end_name="eth0", mac=_MAC, end_mac=_MAC))
        listener = stack.enter_context(world.call(_open_world))
        network.call(lambda: _connect(families))
        gone, callers = Event(), list[str]()
        thread = Thread(target=_serve, args=(listener, callers, gone))
        thread.start()
        stack.callback(thread.join)
        stack.callback(gone.set)
        yield Machine(network, world, callers)


def fetch(place: ShapedPlace, address: str) -> Passage:
    """What one download through the place shows of it."""

    def download() -> Passage:
        before_ns = monotonic_ns()
        with socket.create_connection((address, 80), timeout=60) as sock:
            syn_rtt_us = (monotonic_ns() - before_ns) // 1000
            stamp_arrivals(sock)
            arrivals = []
            while (read := receive(sock, 2000))[0]:
                arrivals.append(((read[1].kernel_ns or 0) // 1000, len(read[0])))
        assert sum(size for _, size in arrivals) == SIZE
        return Passage(syn_rtt_us=syn_rtt_us, arrivals=tuple(arrivals))

    return place.namespace.call(download)


@undisturbed
def test_what_leaves_goes_through_the_profile_under_the_machines_own_address_in_both_families() -> None:
    with machine() as here, here.shaped(PROFILES["3gfast"]) as shaped:
        passages = [fetch(shaped, address) for address in (SERVER4, SERVER6)]
        assert here.callers == [MACHINE4, MACHINE6]
    assert all(150_000 <= (passage.syn_rtt_us or 0) < 190_000 for passage in passages)
    assert keeps_profile(PROFILES["3gfast"], passages) is True


@undisturbed
def test_a_network_that_does_not_keep_its_numbers_is_not_verified() -> None:
    with machine() as here, here.shaped(parse_profile("9000/9000/20")) as shaped:
        passage = fetch(shaped, SERVER4)
    assert keeps_profile(parse_profile("9000/9000/40"), [passage]) is False
    assert keeps_profile(parse_profile("1600/768/20"), [passage]) is False
    assert keeps_profile(parse_profile("9000/9000/20"), [passage]) is True


def test_a_machine_without_a_route_of_version_6_gives_none() -> None:
    with machine(families=1) as here, here.shaped(parse_profile("-/-/10")) as shaped:
        assert fetch(shaped, SERVER4).syn_rtt_us
        with pytest.raises(OSError, match="unreachable"):
            fetch(shaped, SERVER6)


@undisturbed
def test_places_side_by_side_have_numbers_of_their_own() -> None:
    with machine() as here, here.shaped(parse_profile("-/-/30")) as one, here.shaped(parse_profile("-/-/90")) as other:
        for shaped, rtt_us in ((one, 30_000), (other, 90_000)):
            assert rtt_us <= (fetch(shaped, SERVER4).syn_rtt_us or 0) < rtt_us + 40_000


@undisturbed
def test_an_engine_measures_from_inside() -> None:
    profile = parse_profile("-/-/50")
    settings = ProbeSettings(allowed=parse_networks("192.0.2.0/24"), extra_ports=frozenset(range(1024, 65536)))
    with machine() as here, here.shaped(profile) as shaped:
        server = here.world.call(lambda: Server(keeping(response()), host=SERVER4))
        with server, Engine(settings, enter=shaped.enter) as engine:
            outcome = engine.probe(build_request(url=server.url(host=SERVER4), timeout_us=20_000_000))
    assert isinstance(outcome, Measured)
    assert isinstance(outcome.measurement, ProbeMeasurement)
    assert 50_000 <= (outcome.measurement.connections[0].rtt_us or 0) < 90_000


def test_a_resolver_on_the_machines_own_loopback_answers_inside_after_the_round_trip() -> None:
    zone, resolver = Zone(a={"www.example.test": [SERVER4]}), "127.0.0.53"
    with machine() as here:
        here.network.sysctl("net.ipv4.ip_unprivileged_port_start", 0)
        names = here.network.call(lambda: DnsServer(zone.answer, host=resolver, port=53))
        with names, here.shaped(parse_profile("-/-/80"), resolver, SERVER4) as shaped:
            for by_tcp in (False, True):
                before_ns = monotonic_ns()
                answer = shaped.namespace.call(lambda by_tcp=by_tcp: _look_up(resolver, by_tcp=by_tcp))  # type: ignore[misc]  # mypy loses the default
                assert (monotonic_ns() - before_ns) // 1_000_000 >= 80
                assert str(answer.answer[0][0]) == SERVER4


def _look_up(resolver: str, *, by_tcp: bool) -> Message:
    ask = dns.query.tcp if by_tcp else dns.query.udp
    return ask(dns.message.make_query("www.example.test", "A"), resolver, timeout=60)


def test_a_program_can_be_started_inside() -> None:
    script = f"import socket; print(len(socket.create_connection(('{SERVER4}', 80)).recv(10)))"
    with machine() as here, here.shaped(parse_profile("-/-/10")) as shaped:
        process = start_inside(shaped.namespace, [sys.executable, "-c", script], stdout=subprocess.PIPE)
        assert process.communicate(timeout=60)[0] == b"10\n"


def test_a_closed_place_leaves_nothing_on_the_machine() -> None:
    with machine() as here:
        before = here.network.call(socket.if_nameindex)
        with here.shaped(parse_profile("-/-/10")):
            assert len(here.network.call(socket.if_nameindex)) == len(before) + 1
        assert here.network.call(socket.if_nameindex) == before
        with here.shaped(parse_profile("-/-/10")) as again:
            assert fetch(again, SERVER4).syn_rtt_us


def test_a_place_that_cannot_be_made_leaves_nothing_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, addresses: object) -> None:
        raise NotPermittedError("no way out")

    with machine() as here:
        before = here.network.call(socket.if_nameindex)
        with monkeypatch.context() as patched:
            patched.setattr(place, "Masquerade", refuse)
            with pytest.raises(NotPermittedError, match="no way out"):
                here.network.call(lambda: ShapedPlace(parse_profile("-/-/10")))
        assert here.network.call(socket.if_nameindex) == before
