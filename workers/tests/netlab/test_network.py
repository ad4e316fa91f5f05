"""The lab's networks: do the packets do what the numbers say, and is nothing left of them."""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from operator import le
from pathlib import Path
from threading import Event

import dns.message
import pytest

from workers.shaping.namespace import Namespace
from workers.shaping.packets import SYN, TCP
from workers.shaping.settings import Direction, Drop
from workers.tests.netlab.capture import Seen
from workers.tests.netlab.network import NAME, LabNetwork
from workers.tests.netlab.programs import start_inside
from workers.tests.waiting import undisturbed, wait_for

MSS = 1448


def send_what_is_asked(gone: Event) -> None:
    """On port 80 of both families: the client names a number of bytes and gets them; Nagle is as the kernel has it.

    `100+200` is sent in two writes. The client closes first, since a server's close sends what Nagle held back.
    """
    with socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.settimeout(0.05)
        while not gone.is_set():
            with suppress(TimeoutError):
                sock, _ = listener.accept()
                with sock:
                    sock.settimeout(60)
                    for size in sock.recv(100).decode().split("+"):
                        if size:
                            sock.sendall(bytes(int(size)))
                    sock.recv(1)


@contextmanager
def network(**numbers: object) -> Iterator[LabNetwork]:
    with LabNetwork(**numbers) as lab:  # type: ignore[arg-type]  # by the keywords of LabNetwork
        lab.run_server(send_what_is_asked)
        lab.wait_for_port(80)
        yield lab


@contextmanager
def connected(lab: LabNetwork, address: str | None = None) -> Iterator[socket.socket]:
    where = (address or lab.server_address, 80)
    with lab.client.call(lambda: socket.create_connection(where, timeout=60)) as sock:
        yield sock


def handshake_us(lab: LabNetwork, address: str) -> int:
    """The kernel's own round trip of one connection."""
    with connected(lab, address) as sock:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int(struct.unpack_from("=I", info, 68)[0])


def ask(lab: LabNetwork, sizes: str, address: str | None = None) -> list[Seen]:
    """The packets of one connection over which so many bytes were asked for, until they are there."""
    missing = sum(map(int, sizes.split("+")))
    with lab.capture() as capture, connected(lab, address) as sock:
        sock.sendall(sizes.encode())
        while missing:
            missing -= len(sock.recv(65536))
    return [seen for seen in capture.packets() if seen.packet.protocol == TCP]


def received(packets: list[Seen]) -> list[Seen]:
    return [seen for seen in packets if not seen.sent and seen.packet.payload_bytes]


def flights(packets: list[Seen], *, rtt_ms: float) -> list[int]:
    """Bytes of what came in, parted where nothing came for half a round trip."""
    sizes = [packets[0].packet.payload_bytes]
    for before, after in pairwise(packets):
        if after.at_ns - before.at_ns > rtt_ms * 500_000:
            sizes.append(0)
        sizes[-1] += after.packet.payload_bytes
    return sizes


def wait_for_trip(lab: LabNetwork, address: str, least_us: int, most_us: int) -> None:
    """Shakes hands until it took no longer. A busy machine lets out packets late, now and then, and never early."""

    def fits() -> bool:
        took_us = handshake_us(lab, address)
        assert took_us >= least_us
        return took_us <= most_us

    wait_for(fits, f"a handshake in {most_us} us")


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_a_link_keeps_its_round_trip_in_both_families(rtt_ms: int) -> None:
    with network(rtt_ms=rtt_ms) as lab:
        for address in (lab.server_address4, lab.server_address6):
            wait_for_trip(lab, address, rtt_ms * 1000, rtt_ms * 1010 + 200)


@pytest.mark.parametrize("window", [2, 4, 10])
@pytest.mark.parametrize("ipv6", [False, True])
@undisturbed
def test_a_server_sends_its_initial_window_and_waits(window: int, ipv6: bool) -> None:
    with network(rtt_ms=100, server_iw=window, ipv6=ipv6) as lab:
        packets = received(ask(lab, "60000"))
    segment = packets[0].packet.payload_bytes
    assert flights(packets, rtt_ms=100)[0] == window * segment


def test_packets_come_one_by_one_as_on_a_wire() -> None:
    with network(rtt_ms=20) as lab:
        packets = received(ask(lab, "60000"))
    # By their place in the stream: on a busy machine the last one may be sent again as a probe for loss (RFC 8985).
    sizes = {seen.packet.sequence: seen.packet.payload_bytes for seen in packets}
    assert sorted(sizes.values()) == [60000 % MSS] + 60000 // MSS * [MSS]


@undisturbed
def test_data_comes_at_the_rate() -> None:
    with network(rtt_ms=20, rate_kbit_s=2000) as lab:
        packets = received(ask(lab, "100000"))
    took_s = (packets[-1].at_ns - packets[0].at_ns) / 1e9
    kbit_s = 8 * (sum(seen.packet.payload_bytes + 52 for seen in packets[1:])) / 1000 / took_s
    assert 1900 <= kbit_s <= 2020


@pytest.mark.parametrize("nth", [1, 4])
def test_exactly_the_scripted_packet_is_lost(nth: int) -> None:
    with network(rtt_ms=40, loss=[Drop(direction=Direction.DOWN, nth=nth, port=80)]) as lab:
        packets = received(ask(lab, "12000"))
        assert lab.report()["down_dropped"] == 1
    starts = [seen.packet.sequence for seen in packets]
    first = min(starts)
    assert sorted(set(starts)) == [first + number * MSS for number in range(9)]
    # It came once, sent again, a round trip or more after those that came in its place.
    lost = next(seen for seen in packets if seen.packet.sequence == first + (nth - 1) * MSS)
    assert lost.at_ns - packets[0].at_ns > 35_000_000


@undisturbed
def test_a_lost_syn_is_sent_again_after_a_second() -> None:
    loss = [Drop(direction=Direction.UP, nth=1, least_bytes=0, port=80)]
    with network(rtt_ms=20) as lab:
        lab.shape(drops=tuple(loss))
        packets = ask(lab, "10")
    answer = next(seen for seen in packets if not seen.sent)
    assert 1.0 <= (answer.at_ns - packets[0].at_ns) / 1e9 < 1.2
    assert [seen.packet.flags for seen in packets if seen.packet.flags & SYN and seen.sent] == [SYN, SYN]


@undisturbed
def test_a_client_that_delays_acknowledgements_makes_nagle_wait_for_them() -> None:
    def gap_ms(lab: LabNetwork) -> float:
        first, second = received(ask(lab, "100+200"))
        return (second.at_ns - first.at_ns) / 1e6

    with network(rtt_ms=40) as lab:
        assert 39 < gap_ms(lab) < 70
        lab.shape(delayed_ack_us=200_000)
        assert 239 < gap_ms(lab) < 270


@undisturbed
def test_a_client_that_delays_acknowledgements_still_acknowledges_every_second_segment() -> None:
    with network(rtt_ms=40, delayed_ack_ms=200) as lab:
        packets = received(ask(lab, f"{30 * MSS}"))
    assert (packets[-1].at_ns - packets[0].at_ns) / 1e6 < 150


def test_the_name_server_answers_after_a_round_trip() -> None:
    with LabNetwork(rtt_ms=60) as lab:
        lab.zone.a["other.lab.test"] = ["192.0.2.7"]
        with lab.client.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            sock.settimeout(60)
            for name, address in ((NAME, lab.server_address), ("other.lab.test", "192.0.2.7")):
                before = time.monotonic()
                sock.sendto(dns.message.make_query(name, "A").to_wire(), (lab.server_address4, 53))
                answer = dns.message.from_wire(sock.recv(1232))
                assert time.monotonic() - before > 0.06
                assert str(answer.answer[0][0]) == address


def test_labs_side_by_side_do_not_disturb_each_other() -> None:
    def one(rtt_ms: int) -> None:
        with network(rtt_ms=rtt_ms) as lab:
            # Those of another lab would be too early or late always.
            wait_for_trip(lab, lab.server_address, rtt_ms * 1000, rtt_ms * 1000 + 1999)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(40, 72, 2)))


def test_a_closed_lab_leaves_no_file_process_or_thread() -> None:
    def count() -> tuple[int, int, int]:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), len(children)

    with network(rtt_ms=1):
        """The process of links is started once and stays."""
    before = count()
    for _ in range(3):
        with network(rtt_ms=1) as lab:
            process = lab.run_server(["sleep", "1000"])
        assert process.poll() is not None
    wait_for(lambda: all(map(le, count(), before)), "files, threads and processes of the labs to go")


def test_a_killed_process_takes_its_servers_and_links_with_it() -> None:
    script = """
import signal, subprocess
from workers.tests.netlab.network import LabNetwork
with LabNetwork(rtt_ms=1) as lab:
    process = lab.run_server(["sleep", "1000"])
    children = open(f"/proc/self/task/{__import__('os').getpid()}/children").read()
    print(process.pid, children, flush=True)
    signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = {int(word) for word in process.stdout.readline().split()}
        assert len(pids) >= 2
        process.kill()
    wait_for(lambda: not any(_lives(pid) for pid in pids), "what it started to end")


def test_a_process_killed_at_once_leaves_no_program() -> None:
    script = """
import os, signal
from workers.shaping.namespace import Namespace
from workers.tests.netlab.programs import start_inside
print(start_inside(Namespace("short"), ["sleep", "1000"]).pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(10):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
        wait_for(lambda: not _lives(pid), "the program to end")  # noqa: B023 the call ends in its round


def test_a_program_that_cannot_be_started_says_so() -> None:
    with Namespace("short") as network:
        process = start_inside(network, ["no-such-program"], stderr=subprocess.PIPE)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, b"no-such-program" in told) == (127, True)


def test_a_server_that_is_a_program_listens_inside() -> None:
    with LabNetwork(rtt_ms=20) as lab:
        lab.run_server([sys.executable, "-m", "http.server", "--bind", lab.server_address, "80"])
        lab.wait_for_port(80)
        with connected(lab) as sock:
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert sock.recv(100).startswith(b"HTTP/1.0 200")


def _lives(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
