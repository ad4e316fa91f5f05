"""Questions to the machine's own resolver, carried out of a shaped network."""

import errno
import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from workers.shaping import relay as relay_module
from workers.shaping.namespace import Namespace
from workers.shaping.relay import Relay
from workers.tests.waiting import wait_for

PATIENCE_S = 10.0


class Listener(socket.socket):
    """Takes no connection as long as its process has too many files open."""

    refusals = 0
    is_full = False

    def accept(self) -> tuple[socket.socket, Any]:
        if self.is_full:
            self.refusals += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


class Inside:
    """A network whose sockets are made beforehand: here the resolver and who asks it share one."""

    def __init__(self) -> None:
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.datagrams.bind(("127.0.0.1", 0))
        self.streams = Listener()
        self.streams.bind(("127.0.0.1", 0))
        self.streams.listen()

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
def inside(resolver: socket.socket) -> Iterator[Inside]:
    made = Inside()
    relay = Relay(cast(Namespace, made), ("127.0.0.1",), delay_us=0)
    yield made
    relay.close()


@pytest.fixture
def asker(inside: Inside) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(inside.datagrams.getsockname())
        client.settimeout(PATIENCE_S)
        yield client


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


def test_a_connection_that_no_thread_is_left_for_is_closed_alone(
    resolver: socket.socket, inside: Inside, asker: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("can't start new thread")))
        with socket.create_connection(inside.streams.getsockname(), timeout=PATIENCE_S) as refused:
            assert refused.recv(1) == b""
    asker.send(b"carried")
    assert resolver.recv(100) == b"carried"


def test_a_connection_that_no_file_is_left_for_costs_one_look_and_waits_until_there_is_one(
    resolver: socket.socket, inside: Inside, asker: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "_REST_S", 60.0)
    inside.streams.is_full = True
    with socket.create_connection(inside.streams.getsockname(), timeout=PATIENCE_S):
        for question in (b"one", b"another"):
            asker.send(question)
            assert resolver.recv(100) == question
        assert inside.streams.refusals == 1


def test_a_connection_that_no_file_was_left_for_is_taken_up_later(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "_REST_S", 0.0)
    inside.streams.is_full = True
    with socket.create_connection(inside.streams.getsockname(), timeout=PATIENCE_S) as client:
        wait_for(lambda: inside.streams.refusals > 0, "a connection that is not taken")
        inside.streams.is_full = False
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
