"""The machine's own resolver, reached from inside a shaped network.

Many machines ask a resolver on their loopback, which a network of its own does not reach. Questions to the same address
inside are carried to it, each after one round trip of the profile, since they do not cross the link.
"""

import errno
import heapq
import selectors
import socket
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import count

from workers.shaping.namespace import Namespace

_PORT = 53
_MAX_MESSAGE_BYTES = 65535
# Questions under way at once; more are forgotten, as a resolver that is asked too much forgets them.
_MAX_OPEN = 256
_PATIENCE_S = 10.0
_TICK_S = 0.5
# What is lacking for the moment. A connection that cannot be taken for it stands there again at each look.
_LACKS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_REST_S = 0.5

Address = tuple[str, int]


def is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback


@dataclass(frozen=True, slots=True)
class _Question:
    """A datagram on its way out, or a socket that waits for the answer to one."""

    inside: socket.socket
    client: Address
    server: Address
    data: bytes


class Relay:
    """Carries questions by UDP and TCP from a namespace's loopback to this machine's, until `close()`."""

    def __init__(self, namespace: Namespace, servers: tuple[str, ...], *, delay_us: int) -> None:
        self._delay_s = delay_us / 1_000_000
        self._selector = selectors.DefaultSelector()
        self._departures: list[tuple[float, int, _Question]] = []
        self._waiting: dict[socket.socket, tuple[float, _Question]] = {}
        self._resting: dict[socket.socket, tuple[float, Address]] = {}
        self._order = count()
        self._ending = threading.Event()
        self._stack = ExitStack()
        self._slots = threading.BoundedSemaphore(_MAX_OPEN)
        with self._stack:
            for server in servers:
                where = (server, _PORT)
                datagrams, streams = namespace.call(lambda where=where: _listen(where))  # type: ignore[misc]  # mypy loses the default
                self._stack.callback(datagrams.close)
                self._stack.callback(streams.close)
                self._selector.register(datagrams, selectors.EVENT_READ, where)
                self._selector.register(streams, selectors.EVENT_READ, where)
            self._stack = self._stack.pop_all()
        self._thread = threading.Thread(target=self._run, name="names of a shaped network", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        for sock in self._waiting:
            sock.close()
        self._selector.close()
        self._stack.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            for key, _ in self._selector.select(self._pause_s()):
                assert isinstance(key.fileobj, socket.socket)
                if key.data is None:
                    self._answer(key.fileobj)
                elif key.fileobj.type == socket.SOCK_STREAM:
                    self._accept(key.fileobj, key.data)
                else:
                    self._take_in(key.fileobj, key.data)
            self._send_due()
            self._forget_old()
            self._wake()

    def _pause_s(self) -> float:
        return max(0.0, min(_TICK_S, self._departures[0][0] - time.monotonic())) if self._departures else _TICK_S

    def _take_in(self, inside: socket.socket, server: Address) -> None:
        with suppress(OSError):
            data, client = inside.recvfrom(_MAX_MESSAGE_BYTES)
            if len(self._departures) + len(self._waiting) < _MAX_OPEN:
                question = _Question(inside, client, server, data)
                heapq.heappush(self._departures, (time.monotonic() + self._delay_s, next(self._order), question))

    def _send_due(self) -> None:
        while self._departures and self._departures[0][0] <= time.monotonic():
            # What cannot leave is lost, as on any way: who asked asks again.
            with suppress(OSError):
                self._send(heapq.heappop(self._departures)[2])

    def _send(self, question: _Question) -> None:
        outside = _datagrams(question.server)
        try:
            outside.connect(question.server)
            outside.send(question.data)
            self._selector.register(outside, selectors.EVENT_READ)
        except OSError:
            outside.close()
            raise
        self._waiting[outside] = (time.monotonic() + _PATIENCE_S, question)

    def _answer(self, outside: socket.socket) -> None:
        question = self._waiting[outside][1]
        with suppress(OSError):
            question.inside.sendto(outside.recv(_MAX_MESSAGE_BYTES), question.client)
        self._forget(outside)

    def _forget_old(self) -> None:
        now_s = time.monotonic()
        for outside in [sock for sock, (until_s, _) in self._waiting.items() if until_s < now_s]:
            self._forget(outside)

    def _forget(self, outside: socket.socket) -> None:
        self._selector.unregister(outside)
        del self._waiting[outside]
        outside.close()

    def _accept(self, listener: socket.socket, server: Address) -> None:
        try:
            inside, _ = listener.accept()
        except OSError as error:
            if error.errno in _LACKS:
                self._selector.unregister(listener)
                self._resting[listener] = (time.monotonic() + _REST_S, server)
            return
        if not self._is_taken(inside, server):
            inside.close()

    def _wake(self) -> None:
        now_s = time.monotonic()
        for listener in [one for one, (until_s, _) in self._resting.items() if until_s <= now_s]:
            self._selector.register(listener, selectors.EVENT_READ, self._resting.pop(listener)[1])

    def _is_taken(self, inside: socket.socket, server: Address) -> bool:
        """Whether there was room, and a thread, for one more question."""
        if not self._slots.acquire(blocking=False):
            return False
        try:
            threading.Thread(target=self._carry, args=(inside, server), daemon=True).start()
        except RuntimeError:
            self._slots.release()
            return False
        return True

    def _carry(self, inside: socket.socket, server: Address) -> None:
        """One question and its answer over TCP: a round trip for the connection, and one for the question."""
        try:
            with inside, suppress(OSError):
                inside.settimeout(_PATIENCE_S)
                question = _message(inside)
                self._ending.wait(2 * self._delay_s)
                with socket.create_connection(server, timeout=_PATIENCE_S) as outside:
                    outside.sendall(question)
                    inside.sendall(_message(outside))
        finally:
            self._slots.release()


def _family(address: Address) -> int:
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


def _listen(where: Address) -> tuple[socket.socket, socket.socket]:
    """Two sockets of the calling thread's network, for datagrams and for streams."""
    datagrams = _datagrams(where)
    datagrams.bind(where)
    streams = socket.create_server(where, family=_family(where))
    streams.setblocking(False)
    return datagrams, streams


def _datagrams(address: Address) -> socket.socket:
    return socket.socket(_family(address), socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)


def _message(sock: socket.socket) -> bytes:
    """A DNS message with its length before it (RFC 1035, 4.2.2). Raises OSError when it does not come whole."""
    with sock.makefile("rb") as stream:
        head = stream.read(2)
        body = stream.read(int.from_bytes(head))
    if len(head) < 2 or len(body) < int.from_bytes(head):
        raise ConnectionResetError
    return head + body
