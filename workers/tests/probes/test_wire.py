"""When a connection is read at once, when it is waited for first, and what was held back behind a missing packet."""

import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from workers.measurement.captures_probe import Arrival
from workers.measurement.target import parse_target
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import stamp_arrivals, stamping_socket
from workers.probes.wire import Wire


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    """A wire, and the other end of it."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        near = stack.enter_context(socket.create_connection(listener.getsockname()))
        far = stack.enter_context(listener.accept()[0])
        near.setblocking(False)
        far_ns = time.monotonic_ns() + 600_000_000_000
        yield Wire(near, HopRecorder(parse_target("https://example.test/")), far_ns), far


def read(wire: Wire, size: int, *, whole_packet: bool = False) -> tuple[bytes, int]:
    """What a read brings once everything sent has come in, and how often it waited."""
    waits = 0
    step = wire.read(size, whole_packet=whole_packet)
    try:
        while True:
            step.send(None)
            waits += 1
            # As the loop does, which goes on once there is something to read.
            select.select([wire._sock], [], [], 120)
    except StopIteration as end:
        return end.value[0], waits


def test_what_is_behind_a_read_that_got_all_it_asked_for_is_read_without_waiting(
    ends: tuple[Wire, socket.socket],
) -> None:
    wire, far = ends
    far.sendall(b"headbody")
    assert read(wire, 4) == (b"head", 1)
    assert read(wire, 4) == (b"body", 0)


def test_after_a_read_that_got_less_than_it_asked_for_there_is_nothing_to_be_tried(
    ends: tuple[Wire, socket.socket],
) -> None:
    wire, far = ends
    far.sendall(b"head")
    assert read(wire, 100) == (b"head", 1)
    far.sendall(b"body")
    assert read(wire, 100) == (b"body", 1)


def test_where_nothing_was_behind_it_the_next_read_waits(ends: tuple[Wire, socket.socket]) -> None:
    wire, far = ends
    far.sendall(b"head")
    assert read(wire, 4) == (b"head", 1)
    step = wire.read(4)
    step.send(None)
    step.close()


def test_a_flood_of_small_pieces_lets_others_have_their_turn(ends: tuple[Wire, socket.socket]) -> None:
    wire, far = ends
    far.sendall(b"x" * 200)
    waits = [read(wire, 1)[1] for _ in range(200)]
    assert sum(waits) == 200 / 8


def test_a_read_of_whole_packets_is_one_read_with_all_that_came_in_the_same_packet(
    ends: tuple[Wire, socket.socket],
) -> None:
    wire, far = ends
    with stamping_socket():
        stamp_arrivals(wire._sock)
        reads = len(wire.recorder.reads)
        far.sendall(b"headbody")
        assert read(wire, 4, whole_packet=True) == (b"headbody", 1)
        far.sendall(b"headbody")
        assert read(wire, 4) == (b"head", 1)
        assert read(wire, 100) == (b"body", 0)
    assert [one.size for one in wire.recorder.reads[reads:]] == [8, 4, 4]


def test_where_the_kernel_stamps_nothing_a_read_of_whole_packets_gets_what_it_asked_for(
    ends: tuple[Wire, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    wire, far = ends
    monkeypatch.setattr("workers.probes.wire.receive", lambda sock, size: (sock.recv(size), Arrival(1)))
    far.sendall(b"headbody")
    assert read(wire, 4, whole_packet=True) == (b"head", 1)


def kernel_says(out_of_order: int, min_rtt_us: int = 20_000) -> bytes:
    """TCP_INFO of a connection with so many packets that were not in their place."""
    info = bytearray(256)
    struct.pack_into("=I", info, 148, min_rtt_us)
    struct.pack_into("=I", info, 224, out_of_order)
    return bytes(info)


class Path:
    """A kernel that gives each piece its age when it is read, and has counted so many packets out of order by then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.age_ms = 0
        self.out_of_order = 0
        # By a clock that stands, no piece grows older before its age is looked at.
        self._now_ns = time.time_ns()
        clock = SimpleNamespace(time_ns=lambda: self._now_ns, monotonic_ns=time.monotonic_ns)
        monkeypatch.setattr("workers.probes.wire.time", clock)
        monkeypatch.setattr("workers.probes.wire.receive", self._receive)
        monkeypatch.setattr("workers.probes.wire.tcp_info", lambda _: kernel_says(self.out_of_order))

    def _receive(self, sock: socket.socket, size: int) -> tuple[bytes, Arrival]:
        return sock.recv(size), Arrival(time.monotonic_ns(), self._now_ns - self.age_ms * 1_000_000)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> Path:
    return Path(monkeypatch)


def test_what_the_kernel_had_for_half_a_round_trip_and_got_out_of_order_was_held_back(
    ends: tuple[Wire, socket.socket], path: Path
) -> None:
    wire, far = ends
    for age_ms, out_of_order in ((0, 0), (12, 3), (9, 4), (3, 5), (12, 5), (40, 6)):
        path.age_ms, path.out_of_order = age_ms, out_of_order
        far.sendall(b"piece")
        read(wire, 100)
    assert wire.recorder.held_reads == [1, 4, 5]


def test_what_we_were_late_for_was_not_held_back_by_what_came_out_of_order_before(
    ends: tuple[Wire, socket.socket], path: Path
) -> None:
    wire, far = ends
    path.age_ms, path.out_of_order = 12, 3
    for _ in range(3):
        far.sendall(b"piece")
        read(wire, 100)
    assert wire.recorder.held_reads == [0]


def test_all_that_is_read_without_waiting_again_was_held_back_with_the_first(
    ends: tuple[Wire, socket.socket], path: Path
) -> None:
    wire, far = ends
    path.age_ms, path.out_of_order = 12, 3
    far.sendall(b"headbody")
    assert read(wire, 4) == (b"head", 1)
    assert read(wire, 4) == (b"body", 0)
    assert wire.recorder.held_reads == [0, 1]
