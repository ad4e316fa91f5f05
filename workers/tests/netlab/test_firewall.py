"""The rules of `firstbyte firewall` in a real kernel: what they refuse, and that a page behind them gets nowhere."""

import errno
import ipaddress
import os
import random
import select
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from workers.browser.guard import Guard
from workers.browser.pool import BrowserPool
from workers.firewall import Endpoint, Exceptions, ruleset
from workers.measurement.addresses import forbidden_networks, may_measure, parse_networks
from workers.measurement.failure import FailureKind
from workers.measurement.messages import Failed, Measured
from workers.measurement.profile import parse_profile
from workers.shaping import netlink
from workers.shaping.cable import INTERFACE
from workers.shaping.namespace import Namespace
from workers.tests.browser.conftest import browser_settings, page_request
from workers.tests.netlab.network import NETWORKS, LabNetwork
from workers.tests.netlab.programs import start_inside
from workers.tests.netlab.test_place import MACHINE4, SERVER4, SERVER6, machine
from workers.tests.waiting import wait_for

SITE = parse_networks(NETWORKS)
NOTHING_OPEN = Exceptions(targets=(), endpoints=(), name_servers=(), own_port_from=32768)
ONLY_SITE = replace(NOTHING_OPEN, targets=SITE)
# Beside the lab's own networks, behind the same cable.
INSIDE = "10.9.9.9"
_PORT = 8080
# Whoever refuses does so before the call returns; this is for a machine that is busy.
_PATIENCE_MS = 300


@pytest.fixture
def lab() -> Iterator[LabNetwork]:
    with LabNetwork(rtt_ms=1) as network:
        for everything, via in (("0.0.0.0/0", network.server_address4), ("::/0", network.server_address6)):
            network.client.call(lambda to=everything, via=via: netlink.add_route(INTERFACE, to, via=via))  # type: ignore[misc]  # mypy loses the defaults
        network.server.call(lambda: netlink.add_address(INTERFACE, ipaddress.ip_interface(f"{INSIDE}/32")))
        yield network


def hold(network: Namespace, folder: Path, rules: str) -> None:
    file = folder / "rules.nft"
    file.write_text(rules)
    process = start_inside(network, ["nft", "-f", str(file)], stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said


def refused(network: Namespace, places: Sequence[tuple[str, int]]) -> list[bool]:
    """Of each address whether a connection is refused at once, or cannot even be begun. What is answered by the way
    that it leads nowhere has left."""
    return network.call(lambda: _refused(places))


def _refused(places: Sequence[tuple[str, int]]) -> list[bool]:
    with ExitStack() as stack:
        socks = [stack.enter_context(_socket(address)) for address, _ in places]
        codes = [sock.connect_ex(place) for sock, place in zip(socks, places, strict=True)]
        begun = {sock.fileno(): sock for sock, code in zip(socks, codes, strict=True) if code == errno.EINPROGRESS}
        poll = select.poll()
        for fd in begun:
            poll.register(fd, select.POLLOUT)
        told: dict[int, int] = {}
        while news := poll.poll(_PATIENCE_MS):
            for fd, _ in news:
                told[fd] = begun[fd].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                poll.unregister(fd)
        return [sock.fileno() not in begun or told.get(sock.fileno()) == errno.ECONNREFUSED for sock in socks]


def _socket(address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)


def edges_and_middles() -> list[str]:
    """Of each forbidden range its ends, its neighbours and something in between; and public addresses anywhere."""
    chance = random.Random(20)
    found: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = []
    for network in forbidden_networks():
        first, last = int(network.network_address), int(network.broadcast_address)
        most = 2**network.max_prefixlen - 1
        kind = ipaddress.IPv4Address if network.version == 4 else ipaddress.IPv6Address
        found += [kind(max(0, min(most, at))) for at in (first - 1, first, chance.randint(first, last), last, last + 1)]
    found += [ipaddress.IPv4Address(chance.getrandbits(32)) for _ in range(200)]
    found += [ipaddress.IPv6Address(0x2000 << 112 | chance.getrandbits(125)) for _ in range(200)]
    return [str(address) for address in found]


def test_what_may_not_be_measured_is_refused_and_nothing_else(lab: LabNetwork, tmp_path: Path) -> None:
    addresses = edges_and_middles()
    hold(lab.client, tmp_path, ruleset(NOTHING_OPEN))
    told = refused(lab.client, [(address, 443) for address in addresses])
    wrong = [one for one, no in zip(addresses, told, strict=True) if no is may_measure(one)]
    assert wrong == []


def test_isatap_and_its_kin_are_refused_whatever_is_in_them(lab: LabNetwork, tmp_path: Path) -> None:
    hold(lab.client, tmp_path, ruleset(NOTHING_OPEN))
    inside = ["2600::5efe:10.0.0.1", "2600::200:5efe:127.0.0.1", "2600:1::5efe:a9fe:a9fe"]
    assert refused(lab.client, [(address, 80) for address in inside]) == [True] * 3
    assert refused(lab.client, [("2600::5eff:10.0.0.1", 80)]) == [False]


def test_what_a_region_needs_stays_open_at_its_port_alone(lab: LabNetwork, tmp_path: Path) -> None:
    exceptions = Exceptions(
        targets=parse_networks("10.77.0.0/24"),
        endpoints=(Endpoint("10.1.2.3", 6379), Endpoint("fd00::7", 443), Endpoint("1.1.1.1", 443)),
        name_servers=("10.5.5.5", "fe80::1"),
        own_port_from=40_000,
    )
    hold(lab.client, tmp_path, ruleset(exceptions))
    free = [("10.77.0.9", 80), ("10.1.2.3", 6379), ("fd00::7", 443), ("10.5.5.5", 53), ("1.1.1.1", 80)]
    shut = [("10.78.0.9", 80), ("10.1.2.3", 80), ("fd00::7", 80), ("10.5.5.5", 80), ("127.0.0.1", 39_999)]
    assert refused(lab.client, free) == [False] * 5
    assert refused(lab.client, shut) == [True] * 5
    with lab.client.call(lambda: socket.create_server(("127.0.0.1", 40_001))):
        assert refused(lab.client, [("127.0.0.1", 40_001)]) == [False]


def test_rules_for_a_user_hold_nobody_else(lab: LabNetwork, tmp_path: Path) -> None:
    with lab.server.call(lambda: socket.create_server((INSIDE, 9))):
        hold(lab.client, tmp_path, ruleset(NOTHING_OPEN, user=os.geteuid() + 1))
        assert refused(lab.client, [(INSIDE, 9)]) == [False]
        hold(lab.client, tmp_path, ruleset(NOTHING_OPEN, user=os.geteuid()))
        assert refused(lab.client, [(INSIDE, 9)]) == [True]


def test_new_rules_take_the_place_of_old_ones(lab: LabNetwork, tmp_path: Path) -> None:
    hold(lab.client, tmp_path, ruleset(NOTHING_OPEN))
    hold(lab.client, tmp_path, ruleset(ONLY_SITE))
    with lab.server.call(lambda: socket.create_server((lab.server_address4, 9))):
        assert refused(lab.client, [(lab.server_address4, 9)]) == [False]


def test_a_shaped_network_leads_no_further_than_its_machine_may_go(tmp_path: Path) -> None:
    places = [(SERVER4, 80), (MACHINE4, 9009), (SERVER6, 80)]
    with (
        machine() as here,
        here.shaped(parse_profile("-/-/1")) as shaped,
        here.network.call(lambda: socket.create_server(("", 9009))),
    ):
        assert refused(shaped.namespace, places) == [False] * 3
        hold(here.network, tmp_path, ruleset(NOTHING_OPEN, user=os.geteuid() + 1))
        assert refused(shaped.namespace, places) == [True] * 3
        hold(here.network, tmp_path, ruleset(replace(NOTHING_OPEN, targets=parse_networks(f"{SERVER4}/32"))))
        assert refused(shaped.namespace, places) == [False, True, True]


class _Web:
    """A server in a network, which says the same to everybody and counts who came."""

    def __init__(self, network: Namespace, address: str, answer: bytes) -> None:
        self.visits = 0
        self._answer = answer
        self._listener = network.call(lambda: socket.create_server((address, _PORT)))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.visits += 1
                with sock, suppress(OSError):
                    sock.recv(65536)
                    sock.sendall(self._answer)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()


def _page(body: str) -> bytes:
    text = body.encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    return head.encode() + text


def _redirect(to: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()


_INSIDE_URL = f"http://{INSIDE}:{_PORT}/"
_CURIOUS = f"""<!doctype html><title>Curious</title><img src="{_INSIDE_URL}a"><script src="http://127.0.0.1:{_PORT}/b"></script>
<iframe src="{_INSIDE_URL}c"></iframe><link rel=stylesheet href="http://[::ffff:{INSIDE}]:{_PORT}/d">
<script>fetch("{_INSIDE_URL}e", {{mode: "no-cors"}}).catch(() => 0); new WebSocket("ws://{INSIDE}:{_PORT}/f");
navigator.sendBeacon("http://any.localhost:{_PORT}/g"); new EventSource("{_INSIDE_URL}h")</script>"""


@contextmanager
def browsing(lab: LabNetwork) -> Iterator[BrowserPool]:
    """Chromium at the near end, with a guard that lets everything begin: the rules are what is looked at."""
    ports = frozenset({_PORT})
    settings = browser_settings(allowed=SITE, extra_ports=ports, quiet_s=0.5, settle_s=5.0)
    with BrowserPool(settings, guard=Guard(allowed=SITE, extra_ports=ports), enter=lab.client.enter) as pool:
        yield pool


@pytest.mark.parametrize(
    "answer",
    [_page(_CURIOUS), _redirect(_INSIDE_URL), _redirect(f"http://127.0.0.1:{_PORT}/")],
    ids=["page", "302", "302 home"],
)
def test_a_page_reaches_nothing_inside_and_is_told_as_one_that_leads_there(
    lab: LabNetwork, tmp_path: Path, answer: bytes
) -> None:
    with ExitStack() as stack:
        site = _Web(lab.server, lab.server_address4, answer)
        victims = [_Web(lab.server, INSIDE, _page("x")), _Web(lab.client, "127.0.0.1", _page("x"))]
        for web in (site, *victims):
            stack.callback(web.close)
        pool = stack.enter_context(browsing(lab))
        pool.prove_cold()
        hold(lab.client, tmp_path, ruleset(ONLY_SITE, user=os.geteuid()))
        outcome = pool.load(
            page_request(f"http://{lab.server_address4}:{_PORT}/", timeout_us=20_000_000, headers=())
        ).outcome
        assert site.visits > 0
        assert [one.visits for one in victims] == [0, 0]
        assert isinstance(outcome, Failed), outcome
        assert outcome.failure.kind is FailureKind.BLOCKED_DESTINATION
        pool.prove_cold()


def test_without_the_rules_a_redirect_reaches_what_is_inside(lab: LabNetwork) -> None:
    """So that the test above cannot pass by itself."""
    with ExitStack() as stack:
        victim = _Web(lab.server, INSIDE, _page("x"))
        site = _Web(lab.server, lab.server_address4, _redirect(_INSIDE_URL))
        for web in (victim, site):
            stack.callback(web.close)
        pool = stack.enter_context(browsing(lab))
        pool.load(page_request(f"http://{lab.server_address4}:{_PORT}/", timeout_us=20_000_000, headers=()))
        wait_for(lambda: victim.visits, "the browser to come")


def test_an_ordinary_page_behind_the_rules_is_measured(lab: LabNetwork, tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = _Web(lab.server, lab.server_address4, _page("<!doctype html><title>Plain</title><p>Here"))
        stack.callback(site.close)
        hold(lab.client, tmp_path, ruleset(ONLY_SITE, user=os.geteuid()))
        pool = stack.enter_context(browsing(lab))
        outcome = pool.load(
            page_request(f"http://{lab.server_address4}:{_PORT}/", timeout_us=20_000_000, headers=())
        ).outcome
    assert isinstance(outcome, Measured), outcome
