"""A connected socket that notes every read and write of a connection."""

import sys
import time
from contextlib import suppress
from enum import Enum
from fcntl import ioctl
from socket import IPPROTO_TCP, TCP_NOTSENT_LOWAT, TCP_QUICKACK, socket

from workers.measurement.compute.probe.tcp_info import disorder
from workers.measurement.thresholds import LATE_LOOK_US, MIN_RTT_US
from workers.probes.faults import broken_fault
from workers.probes.loop import READABLE, WRITABLE, DeadlineError, looked_before_ns, looked_ns, ready
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import receive, rest_of_packet, tcp_info

# After so many reads in a row others have their turn, and the deadline is looked at.
_MOST_IN_A_ROW = 8
# More than this may be larger than the first window of a path whose packets are small (ten of 536 bytes, RFC 6928).
_ONE_FLIGHT_BYTES = 4096
# A server that reads no more may have answered already: so long its reading is waited for.
_STANDSTILL_NS = 3_000_000_000
# What was there for so much of a round trip before we had it may have lain behind a missing packet: what is lost comes
# a round trip later at the earliest.
_HELD_RTT = 0.5
_HELD_NS = int(_HELD_RTT * MIN_RTT_US * 1000)
# linux/sockios.h: how many bytes of those that the kernel took have not been sent once.
_SIOCOUTQNSD = 0x894B


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
        # Whether all was read that had come, and an instant at which what is read next was not there.
        self._drained = True
        self._unready_ns = 0
        # How many packets out of order the kernel had counted when it was asked last, and when we began to wait last.
        self._out_of_order = self._out_of_order_before = 0

    async def read(self, size: int, *, whole_packet: bool = False) -> tuple[bytes, int]:
        """Up to `size` bytes, none at the end of the stream, and the index of the read. Raises ProbeError.

        With `whole_packet` more than that, where the rest came in the same packet as the last of them. Does not wait
        first when the read before got all that it asked for: more has most likely come with it.
        """
        while True:
            if not self._at_once:
                self._ask_for_acks()
                self._out_of_order_before = self._out_of_order
                begun_ns = looked_ns()
                await ready(self._sock, READABLE, self.deadline_ns)
                self._at_once = _MOST_IN_A_ROW
                if self._drained or looked_before_ns() > begun_ns:
                    self._unready_ns = looked_before_ns()
            try:
                data, arrival = receive(self._sock, size)
            except BlockingIOError:
                self._at_once, self._drained = 0, True
                continue
            except OSError as error:
                raise broken_fault(error, self.recorder.stage) from error
            self._drained = len(data) < size
            if whole_packet and len(data) == size and arrival.kernel_ns is not None:
                data += rest_of_packet(self._sock, arrival.kernel_ns)
            self._acks_asked_for = False
            self._at_once = self._at_once - 1 if len(data) == size else 0
            if len(data) < size:
                self._ask_for_acks()
            read = self.recorder.note_read(len(data), arrival)
            if arrival.kernel_ns is not None:
                self._note_lateness(read, time.time_ns() - arrival.kernel_ns)
            return data, read

    def _note_lateness(self, read: int, since_ns: int) -> None:
        """Of a read whose last packet came so long ago."""
        if since_ns >= LATE_LOOK_US * 1000:
            self.recorder.note_late(read, self._unready_ns)
        if self._was_held_back(since_ns):
            self.recorder.note_held(read)

    def _was_held_back(self, since_ns: int) -> bool:
        """Whether what was just read, whose last packet came so long ago, could not be read before: the kernel has
        counted packets out of order since we began to wait for it."""
        if since_ns < _HELD_NS:
            return False
        self._out_of_order, min_rtt_us = disorder(self.tcp_info())
        return self._out_of_order > self._out_of_order_before and since_ns >= _HELD_RTT * min_rtt_us * 1000

    async def write(self, data: bytes) -> int:
        """Sends all of it. Gives when its last part left, read before that call (after it, another thread may run
        first), or by our own clock where a window held it back."""
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
        if len(data) > _ONE_FLIGHT_BYTES and self._unsent_bytes():
            left_ns = await self._until_sent()
        self.recorder.note_write(left_ns, len(data))
        return left_ns

    def _unsent_bytes(self) -> int:
        return int.from_bytes(ioctl(self._sock, _SIOCOUTQNSD, bytes(4)), sys.byteorder)

    async def _until_sent(self) -> int:
        """Waits until a window has let go all that the kernel took, or lets go nothing more, and gives the instant."""
        self._sock.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1)
        before, unsent_bytes = 0, self._unsent_bytes()
        while unsent_bytes not in (0, before):
            with suppress(DeadlineError):
                await ready(self._sock, WRITABLE, min(self.deadline_ns, time.monotonic_ns() + _STANDSTILL_NS))
            before, unsent_bytes = unsent_bytes, self._unsent_bytes()
        self._sock.setsockopt(IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0)
        return time.monotonic_ns()

    def tcp_info(self) -> bytes:
        """What the kernel knows of the connection now."""
        return tcp_info(self._sock)

    def _ask_for_acks(self) -> None:
        """The kernel changes its mind after some packets: so this is said again when all was read, and before waits."""
        if not self._acks_asked_for:
            self._sock.setsockopt(IPPROTO_TCP, TCP_QUICKACK, self._acks)
            self._acks_asked_for = True
