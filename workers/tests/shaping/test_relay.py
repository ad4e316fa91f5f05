"""Questions to the machine's own resolver, carried out of a shaped network."""

import errno
import socket
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from workers.shaping import relay as relay_module
from workers.shaping.namespace import Namespace
from workers.shaping.relay import Relay

PATIENCE_S = 10.0


class Inside:
    """A network whose sockets are made beforehand: here the resolver and who asks it share one."""

    def __init__(self) -> None:
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.datagrams.bind(("127.0.0.1", 0))
        self.streams = socket.create_server(("127.0.0.1", 0))

    def call(self, _listen: Callable[[], object]) -> tuple[socket.socket, socket.socket]:
        return self.datagrams, self.streams


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(PATIENCE_S)
        monkeypatch.setattr(relay_module, "_PORT", listening.getsockname()[1])
        yield listening


@pytest.fixture
def asker(resolver: socket.socket) -> Iterator[socket.socket]:
    inside = Inside()
    relay = Relay(cast(Namespace, inside), ("127.0.0.1",), delay_us=0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(inside.datagrams.getsockname())
        client.settimeout(PATIENCE_S)
        yield client
    relay.close()


def test_a_question_reaches_the_resolver_and_its_answer_who_asked(
    resolver: socket.socket, asker: socket.socket
) -> None:
    asker.send(b"question")
    question, relay_address = resolver.recvfrom(100)
    resolver.sendto(b"answer to " + question, relay_address)
    assert asker.recv(100) == b"answer to question"


def test_a_question_that_no_socket_is_left_for_is_lost_alone(
    resolver: socket.socket, asker: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, failures = relay_module._datagrams, [OSError(errno.EMFILE, "Too many open files")]

    def make_unless_full(address: tuple[str, int]) -> socket.socket:
        if failures:
            raise failures.pop()
        return make(address)

    monkeypatch.setattr(relay_module, "_datagrams", make_unless_full)
    asker.send(b"lost")
    asker.send(b"carried")
    assert resolver.recv(100) == b"carried"
