"""Waits that end together: a slow drip buys no time."""

import io
import socket
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def left_s(deadline_s: float) -> float:
    """Until an instant of the monotonic clock. Raises TimeoutError when it is over."""
    left = deadline_s - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class Timed(io.RawIOBase):
    """A socket as http.client and smtplib want one, whose every wait ends at the deadline."""

    def __init__(self, sock: socket.socket, deadline_s: float) -> None:
        self._sock = sock
        self._deadline_s = deadline_s

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(left_s(self._deadline_s))
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        # http.client closes what it was given before the body of a last answer is read, as sockets count their files.
        return io.BufferedReader(Timed(self._sock, self._deadline_s))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        self._sock.settimeout(left_s(self._deadline_s))
        return self._sock.recv_into(buffer)
