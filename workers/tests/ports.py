"""Ports of loopback that nobody else is given in the meantime."""

import errno
import socket
from functools import cache
from random import SystemRandom

LOOPBACK = "127.0.0.1"
# Below those that the kernel gives to whoever asks for any. With dice of our own: pytest's fall alike in all processes.
_CHOICE, _DICE = range(12_000, 32_000), SystemRandom()


def free_port() -> int:
    """One for a server, of TCP or UDP, that cannot let the kernel choose."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        port = _take(tcp)
        return port if _takes(udp, port) else free_port()


def closed_port() -> int:
    """One that refuses: it is taken as long as this process lives, and nobody listens on it."""
    port: int = _taken().getsockname()[1]
    return port


@cache
def _taken() -> socket.socket:
    sock = socket.socket()
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
