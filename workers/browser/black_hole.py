"""An address on loopback that takes part in no conversation: connections to it hang, as to a host that has died.

A listener whose queue of accepted connections is full ignores further ones, so a browser repeats its first packet for
as long as it has patience. Nothing leaves the machine and no rights are needed; a refused connection, or an address of
no route, would fail at once and show another page than the one whose third party is down.
"""

import secrets
import socket
from ipaddress import IPv4Address

# Linux lets a queue of length n hold n + 1.
_FILLERS = 2
# All of 127.0.0.0/8 is loopback. One that nobody can guess, since a page that leads to it is not refused.
_LOOPBACK = int(IPv4Address("127.0.0.0"))


class BlackHole:
    """Made in the network that the browser lives in; `close` when the browser has ended."""

    def __init__(self) -> None:
        self.address = str(IPv4Address(_LOOPBACK + 2 + secrets.randbelow(2**24 - 4)))
        self._listener = socket.socket()
        self._fillers = [socket.socket() for _ in range(_FILLERS)]
        self._quic = socket.socket(type=socket.SOCK_DGRAM)
        try:
            self._open()
        except OSError:
            self.close()
            raise

    @property
    def place(self) -> str:
        """Address and port."""
        return f"{self.address}:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Lets whoever still waits be refused."""
        for sock in (*self._fillers, self._quic, self._listener):
            sock.close()

    def _open(self) -> None:
        self._listener.bind((self.address, 0))
        self._listener.listen(0)
        where = self._listener.getsockname()
        # Takes what QUIC sends and says nothing; without it the kernel would answer that nobody listens.
        self._quic.bind(where)
        for filler in self._fillers:
            filler.setblocking(False)
            filler.connect_ex(where)
