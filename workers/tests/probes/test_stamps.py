"""What the kernel tells about a socket, and what is done where it tells nothing."""

import socket
import time
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pytest

from workers.measurement.captures_probe import Arrival
from workers.probes.stamps import (
    path_of,
    read_clocks,
    receive,
    rest_of_packet,
    stamp_arrivals,
    stamping_socket,
    tcp_info,
)

_LATE_NS = 1_000_000_000


class Sandboxed:
    """A socket of a kernel that knows neither stamps nor the whole of TCP_INFO."""

    def setsockopt(self, *_: Any) -> None:
        raise OSError(92, "Protocol not available")

    def getsockopt(self, *_: Any) -> bytes:
        return b"\0" * 40


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection over loopback; only those carry stamps."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    return client, server


def test_data_is_stamped_when_it_comes_in_not_when_it_is_read() -> None:
    client, server = pair()
    with client, server, stamping_socket():
        stamp_arrivals(client)
        before = read_clocks()
        server.send(b"hello")
        client.recv(1, socket.MSG_PEEK)
        after = read_clocks()
        data, arrival = receive(client, 100)
    assert data == b"hello"
    assert arrival.kernel_ns is not None
    assert before.wall_ns - 1_000_000 <= arrival.kernel_ns <= after.wall_ns + 1_000_000
    assert arrival.user_ns >= after.monotonic_ns - 1_000_000


def test_the_rest_of_a_packet_is_read_and_what_came_at_another_instant_is_left() -> None:
    client, server = pair()
    with client, server, stamping_socket():
        stamp_arrivals(client)
        server.send(b"headbody")
        client.recv(1, socket.MSG_PEEK)
        data, arrival = receive(client, 4)
        assert data == b"head"
        assert arrival.kernel_ns is not None
        assert rest_of_packet(client, arrival.kernel_ns - 1) == b""
        assert rest_of_packet(client, arrival.kernel_ns) == b"body"
        client.setblocking(False)
        assert rest_of_packet(client, arrival.kernel_ns) == b""
        server.close()
        assert rest_of_packet(client, arrival.kernel_ns) == b""


def _stamped(monkeypatch: pytest.MonkeyPatch, late_ns: Iterator[int | None]) -> list[int | None]:
    """A kernel whose stamps are so much later than what they are of; what it has been asked for so far."""
    asked: list[int | None] = []

    def received(sock: socket.socket, size: int) -> tuple[bytes, Arrival]:
        asked.append(next(late_ns))
        stamp_ns = None if asked[-1] is None else time.time_ns() + asked[-1]
        return sock.recv(size), Arrival(time.monotonic_ns(), stamp_ns)

    monkeypatch.setattr("workers.probes.stamps.receive", received)
    return asked


def test_a_kernel_that_begins_to_stamp_in_its_own_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _stamped(monkeypatch, iter([_LATE_NS, _LATE_NS, -_LATE_NS]))
    with stamping_socket():
        assert asked == [_LATE_NS, _LATE_NS, -_LATE_NS]


def test_nothing_is_waited_for_where_the_kernel_has_no_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _stamped(monkeypatch, repeat(None))
    with stamping_socket():
        assert asked == [None]


def test_a_kernel_that_never_begins_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.probes.stamps._BEGINNING_S", 0.05)
    asked = _stamped(monkeypatch, repeat(_LATE_NS))
    with stamping_socket():
        assert asked


def test_the_end_of_a_stream_has_no_stamp() -> None:
    client, server = pair()
    with client:
        stamp_arrivals(client)
        server.close()
        data, arrival = receive(client, 100)
    assert data == b""
    assert arrival.kernel_ns is None


def test_the_round_trip_of_a_new_connection_is_known() -> None:
    client, server = pair()
    with client, server:
        rtt_us, retransmits = path_of(tcp_info(client))
    assert rtt_us is not None
    assert 0 < rtt_us < 1_000_000
    assert retransmits == 0


def test_a_kernel_that_tells_nothing_leaves_things_unknown() -> None:
    sandboxed: Any = Sandboxed()
    stamp_arrivals(sandboxed)
    assert path_of(tcp_info(sandboxed)) == (None, 0)
