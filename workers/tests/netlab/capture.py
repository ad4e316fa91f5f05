"""The truth about what went over the wire: every packet of an interface with the kernel's own stamp."""

import socket
import struct
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
        self._sock = namespace.call(_tap)

    def packets(self) -> list[Seen]:
        """All TCP and UDP packets so far, in their order; after the `with` statement those until its end."""
        if self._sock.fileno() >= 0:
            with suppress(BlockingIOError):
                while True:
                    self._note(*self._sock.recvmsg(_FRAME_BYTES, _ANCILLARY_BYTES))
        return sorted(self._seen, key=lambda seen: seen.at_ns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.packets()
        self._sock.close()

    def _note(
        self, frame: bytes, ancillary: list[tuple[int, int, bytes]], flags: int, address: tuple[Any, ...]
    ) -> None:
        packet = parse_packet(frame)
        if packet is not None:
            stamp = next(data for level, kind, data in ancillary if (level, kind) == _STAMP)
            seconds, nanoseconds = _TIMESPEC.unpack(stamp)
            self._seen.append(Seen(seconds * 1_000_000_000 + nanoseconds, address[2] == _OUTGOING, packet))


def _tap() -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 0)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    sock.bind((INTERFACE, _ALL_PROTOCOLS))
    return sock
