"""A connected socket that notes every read and write of a connection."""

import time
from enum import Enum
from socket import IPPROTO_TCP, TCP_QUICKACK, socket

from workers.probes.faults import broken_fault
from workers.probes.loop import READABLE, WRITABLE, ready
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import receive, tcp_info

# After so many reads in a row others have their turn, and the deadline is looked at.
_MOST_IN_A_ROW = 8


class Acks(Enum):
    """When our kernel acknowledges what came: at once, or as late as most clients do."""

    AT_ONCE = 1
    DELAYED = 0


class Wire:
    """A connected non-blocking socket. `deadline_ns` may be changed between two calls."""

    def __init__(self, sock: socket, recorder: HopRecorder, deadline_ns: int, acks: Acks = Acks.AT_ONCE) -> None:
        self.recorder = recorder
        self.deadline_ns = deadline_ns
        self._sock = sock
        self._acks = acks.value
        self._acks_asked_for = False
        # How many reads may still be made without waiting first.
        self._at_once = 0

    async def read(self, size: int) -> tuple[bytes, int]:
        """Up to `size` bytes, none at the end of the stream, and the index of the read. Raises ProbeError.

        Does not wait first when the read before got all that it asked for: more has most likely come with it.
        """
        while True:
            if not self._at_once:
                self._ask_for_acks()
                await ready(self._sock, READABLE, self.deadline_ns)
                self._at_once = _MOST_IN_A_ROW
            try:
                data, arrival = receive(self._sock, size)
            except BlockingIOError:
                self._at_once = 0
                continue
            except OSError as error:
                raise broken_fault(error, self.recorder.stage) from error
            self._acks_asked_for = False
            self._at_once = self._at_once - 1 if len(data) == size else 0
            if len(data) < size:
                self._ask_for_acks()
            return data, self.recorder.note_read(len(data), arrival)

    async def write(self, data: bytes) -> int:
        """Sends all of it; when its last part left, read before that call: after it, another thread may run first."""
        view = memoryview(data)
        left_ns = time.monotonic_ns()
        while view:
            left_ns = time.monotonic_ns()
            try:
                sent = self._sock.send(view)
            except BlockingIOError:
                await ready(self._sock, WRITABLE, self.deadline_ns)
                continue
            except OSError as error:
                raise broken_fault(error, self.recorder.stage) from error
            view = view[sent:]
        self.recorder.note_write(left_ns, len(data))
        return left_ns

    def tcp_info(self) -> bytes:
        """What the kernel knows of the connection now."""
        return tcp_info(self._sock)

    def _ask_for_acks(self) -> None:
        """The kernel changes its mind after some packets: so this is said again when all was read, and before waits."""
        if not self._acks_asked_for:
            self._sock.setsockopt(IPPROTO_TCP, TCP_QUICKACK, self._acks)
            self._acks_asked_for = True
