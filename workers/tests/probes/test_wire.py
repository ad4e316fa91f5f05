"""When a connection is read at once, and when it is waited for first."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from workers.measurement.target import parse_target
from workers.probes.recorder import HopRecorder
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


def read(wire: Wire, size: int) -> tuple[bytes, int]:
    """What a read brings once everything sent has come in, and how often it waited."""
    waits = 0
    step = wire.read(size)
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
