"""The truth about what went over the wire: every packet of an interface with the kernel's own stamp."""

import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from workers.shaping.cable import INTERFACE
from workers.shaping.namespace import Namespace
from workers.shaping.packets import Packet, parse_packet

_SO_TIMESTAMPNS = 35
_SO_RCVBUFFORCE = 33
_ALL_PROTOCOLS = 0x0003
_OUTGOING = 4
_STAMP = (socket.SOL_SOCKET, _SO_TIMESTAMPNS)
_TIMESPEC = struct.Struct("@ll")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
# Some ten thousand packets, which is what a test may see before it looks.
_BUFFER_BYTES = 64 * 1024 * 1024
_FRAME_BYTES = 2048
# What a buffer of the usual size holds, at some thousand packets a second.
_OFTEN_S = 0.005


@dataclass(frozen=True, slots=True)
class Seen:
    """A packet and when it passed, on the kernel's wall clock. `sent` is True for one of the namespace's own."""

    at_ns: int
    sent: bool
    packet: Packet


class Capture:
    """Packets of a namespace's `eth0` from the `with` statement on; read them with `packets()`, as often as wanted."""

    def __init__(self, namespace: Namespace) -> None:
        self._seen: list[Seen] = []
        self._sock, self._roomy = namespace.call(_tap)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._emptier = threading.Thread(target=self._empty_often, name="capture", daemon=True)

    def packets(self) -> list[Seen]:
        """All TCP and UDP packets so far, in their order; after the `with` statement those until its end."""
        self._empty()
        return sorted(self._seen, key=lambda seen: seen.at_ns)

    def __enter__(self) -> Self:
        if not self._roomy:
            self._emptier.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._emptier.ident is not None:
            self._emptier.join()
        self._empty()
        self._sock.close()

    def _empty(self) -> None:
        with self._lock:
            if self._sock.fileno() >= 0:
                with suppress(BlockingIOError):
                    while True:
                        self._note(*self._sock.recvmsg(_FRAME_BYTES, _ANCILLARY_BYTES))

    def _empty_often(self) -> None:
        while not self._ending.wait(_OFTEN_S):
            self._empty()

    def _note(
        self, frame: bytes, ancillary: list[tuple[int, int, bytes]], flags: int, address: tuple[Any, ...]
    ) -> None:
        packet = parse_packet(frame)
        if packet is not None:
            stamp = next(data for level, kind, data in ancillary if (level, kind) == _STAMP)
            seconds, nanoseconds = _TIMESPEC.unpack(stamp)
            self._seen.append(Seen(seconds * 1_000_000_000 + nanoseconds, address[2] == _OUTGOING, packet))


def _tap() -> tuple[socket.socket, bool]:
    """The socket, and whether it holds as much as is wanted: in a user namespace it may not."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 0)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    roomy = False
    with suppress(PermissionError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        roomy = True
    sock.bind((INTERFACE, _ALL_PROTOCOLS))
    return sock, roomy
