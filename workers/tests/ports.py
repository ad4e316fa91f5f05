"""Ports of loopback that nobody else is given in the meantime."""

import atexit
import errno
import os
import socket
from functools import cache
from random import SystemRandom

LOOPBACK = "127.0.0.1"
# The processes of a run that is spread over several each have ports of their own: gw0, gw1 …
_PROCESSES, _OURS = 16, int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
# Below those that the kernel gives to whoever asks for any. With dice of our own: pytest's fall alike in all processes.
_CHOICE, _DICE = range(12_000 + _OURS % _PROCESSES, 32_000, _PROCESSES), SystemRandom()
# A server may need a while until it has bound its own.
_GIVEN: set[int] = set()


def free_port() -> int:
    """One for a server, of TCP or UDP, that cannot let the kernel choose."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        port = _take(tcp)
        if port in _GIVEN or not _takes(udp, port):
            return free_port()
        _GIVEN.add(port)
        return port


def closed_port() -> int:
    """One that refuses: it is taken as long as this process lives, and nobody listens on it."""
    port: int = _taken().getsockname()[1]
    return port


@cache
def _taken() -> socket.socket:
    sock = socket.socket()
    atexit.register(sock.close)
    _take(sock)
    return sock


def _take(sock: socket.socket) -> int:
    while not _takes(sock, port := _DICE.choice(_CHOICE)):
        pass
    return port


def _takes(sock: socket.socket, port: int) -> bool:
    try:
        sock.bind((LOOPBACK, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    return True
