"""The lab itself: does the network do what it says."""

import socket
import struct
from statistics import median
from threading import Event

import pytest

from workers.measurement.messages import Measured
from workers.tests.netlab.lab import Lab

BODY = b"x" * 20_000


def serve_pages(gone: Event) -> None:
    """Plain HTTP on port 80 of both families: one answer of 20 KB a connection."""
    with socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.settimeout(0.05)
        while not gone.is_set():
            try:
                sock, _ = listener.accept()
            except TimeoutError:
                continue
            with sock:
                sock.recv(4096)
                sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)


def handshake_us(lab: Lab, address: str) -> int:
    """The kernel's own round trip of one connection."""
    with lab.client.call(lambda: socket.create_connection((address, 80))) as sock:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int(struct.unpack_from("=I", info, 68)[0])


@pytest.mark.parametrize("rtt_ms", [20, 80, 380])
def test_a_link_keeps_its_round_trip_in_both_families(rtt_ms: int) -> None:
    with Lab(rtt_ms=rtt_ms) as lab:
        lab.run_server(serve_pages)
        lab.wait_for_port(80)
        for address in (lab.server_address4, lab.server_address6):
            seen_us = median(handshake_us(lab, address) for _ in range(7))
            assert rtt_ms * 1000 <= seen_us <= rtt_ms * 1010 + 300


def test_a_probe_is_measured_inside_the_lab() -> None:
    with Lab(rtt_ms=40) as lab:
        lab.run_server(serve_pages)
        lab.wait_for_port(80)
        outcome = lab.probe("http://www.lab.test/")
    assert isinstance(outcome, Measured)
