"""What the lab's servers cause on the wire, in the words of a packet capture and with a client that is not ours."""

import socket
import ssl
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest

from workers.tests.netlab.capture import Seen
from workers.tests.netlab.chains import Vault
from workers.tests.netlab.column import open_lab
from workers.tests.netlab.conduct import Conduct, Stall
from workers.tests.netlab.estate import Estate, host_of
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.netlab.served import ChainWish, Network, Served
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

RTT_MS = 80
MSS = 1448


class Flight(NamedTuple):
    """Data that came from the server in one go, and how long after the last of the flight before, in round trips."""

    size_bytes: int
    after_rtt: float


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


def seen_at(folder: Path, vault: Vault, site: Served, newest: str = "TLSv1_2") -> list[Flight]:
    """The flights of one visit: the handshake, then an answer."""
    with open_lab(site.network, RTT_MS) as lab:
        estate = Estate(lab, vault, Path(mkdtemp(dir=folder)), {"site": site})
        with lab.capture() as capture:
            lab.client.call(lambda: visit(vault, estate.address("site"), newest))
        return flights_of(capture.packets())


def visit(vault: Vault, address: str, newest: str) -> None:
    context = ssl.create_default_context(cafile=str(vault.ca_file))
    context.maximum_version = ssl.TLSVersion[newest]
    context.set_alpn_protocols(["http/1.1"])
    with socket.create_connection((address, 443), timeout=60) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(sock, server_hostname=host_of("site")) as tls:
            tls.sendall(f"GET / HTTP/1.1\r\nHost: {host_of('site')}\r\n\r\n".encode())
            answer = b""
            # The last bytes of every page of the lab. A connection that is closed would hasten what is held back.
            while not answer.endswith(b"</p>"):
                answer += tls.recv(65536)


def flights_of(packets: list[Seen]) -> list[Flight]:
    came = [seen for seen in packets if not seen.sent and seen.packet.payload_bytes]
    flights: list[Flight] = []
    latest_ns = came[0].at_ns
    for seen in came:
        gap = (seen.at_ns - latest_ns) / 1e6 / RTT_MS
        if not flights or gap > 0.3:
            flights.append(Flight(seen.packet.payload_bytes, round(gap, 2)))
        else:
            flights[-1] = flights[-1]._replace(size_bytes=flights[-1].size_bytes + seen.packet.payload_bytes)
        latest_ns = seen.at_ns
    return flights


LONG = ChainWish(size_bytes=5500)


@pytest.mark.parametrize("newest", ["TLSv1_2", "TLSv1_3"])
@undisturbed
def test_an_old_flush_waits_for_the_clients_word(tmp_path: Path, vault: Vault, newest: str) -> None:
    conduct = Conduct(handshake_write_bytes=4096, handshake_nodelay=False)
    first, rest, *_ = seen_at(tmp_path, vault, Served(conduct=conduct, chain=LONG), newest)
    assert first.size_bytes == 4096 + MSS
    assert 0 < rest.size_bytes < MSS
    assert rest.after_rtt == pytest.approx(1, abs=0.06)


@undisturbed
def test_that_wait_grows_by_a_delayed_acknowledgement(tmp_path: Path, vault: Vault) -> None:
    conduct = Conduct(handshake_write_bytes=4096, handshake_nodelay=False)
    site = Served(conduct=conduct, chain=LONG, network=Network(delayed_ack_ms=200))
    _, rest, *_ = seen_at(tmp_path, vault, site)
    assert rest.after_rtt * RTT_MS == pytest.approx(RTT_MS + 200, abs=5)


@undisturbed
def test_without_nagle_it_is_one_flight(tmp_path: Path, vault: Vault) -> None:
    first, second, *_ = seen_at(tmp_path, vault, Served(conduct=Conduct(handshake_write_bytes=4096), chain=LONG))
    assert first.size_bytes > 5500
    assert second.size_bytes < 1000


@undisturbed
def test_a_long_chain_is_longer_than_the_first_window(tmp_path: Path, vault: Vault) -> None:
    first, rest, *_ = seen_at(tmp_path, vault, Served(chain=ChainWish(size_bytes=18_000)))
    assert first.size_bytes > 9 * MSS
    assert first.size_bytes + rest.size_bytes > 18_000
    assert rest.after_rtt == pytest.approx(1, abs=0.06)


@undisturbed
def test_a_large_record_is_longer_than_the_first_window(tmp_path: Path, vault: Vault) -> None:
    site = Served(conduct=NginxConduct(body_bytes=20_000, buffer="16k"))
    *_, before, rest = seen_at(tmp_path, vault, site)
    assert before.size_bytes == 10 * MSS
    assert rest.size_bytes > 5000
    assert rest.after_rtt == pytest.approx(1, abs=0.06)


@undisturbed
def test_a_small_first_window_takes_more_flights(tmp_path: Path, vault: Vault) -> None:
    site = Served(conduct=NginxConduct(body_bytes=20_000), network=Network(server_iw=4))
    _, _, *answer = seen_at(tmp_path, vault, site)
    assert 3 * MSS < answer[0].size_bytes <= 4 * MSS
    assert len(answer) == 3


@undisturbed
def test_a_stall_is_no_matter_of_round_trips(tmp_path: Path, vault: Vault) -> None:
    stall = Stall(after_bytes=700, pause_s=0.27)
    first, rest, *_ = seen_at(tmp_path, vault, Served(conduct=Conduct(handshake_stall=stall)))
    assert first.size_bytes == 700
    assert rest.after_rtt * RTT_MS == pytest.approx(270, abs=10)


@pytest.mark.parametrize("nodelay", [True, False])
@undisturbed
def test_a_page_after_its_head_waits_where_nagle_is_on(tmp_path: Path, vault: Vault, nodelay: bool) -> None:
    conduct = Conduct(head_apart=True, body_bytes=700, nodelay=nodelay, newest="TLSv1.2")
    _, _, *answer = seen_at(tmp_path, vault, Served(conduct=conduct))
    assert len(answer) == (1 if nodelay else 2)
    if not nodelay:
        assert answer[1].after_rtt * RTT_MS >= RTT_MS - 2
