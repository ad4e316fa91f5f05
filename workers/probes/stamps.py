"""What the kernel knows about a socket: when a packet came in, and how long a round trip took."""

import socket
import struct
import time
from contextlib import suppress

from workers.measurement.captures_probe import Arrival, ClockReading

# Not in Python's socket module: <asm-generic/socket.h>, and struct tcp_info of <linux/tcp.h>.
SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")
_TIMESPEC_BYTES = _TIMESPEC.size
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC_BYTES)
_SOL_SOCKET = socket.SOL_SOCKET
_TCP_INFO_BYTES = 256
_PATH_BYTES = 104
# What is only looked at goes there, and is read from nowhere: the same for all sockets and threads.
_SEEN = bytearray(64 * 1024)
# Two readings of clocks so close together were not interrupted.
_CLOSE_NS = 2_000
# The longest that was seen on a busy machine is 5 ms.
_BEGINNING_S, _BEGINNING_POLL_S = 1.0, 0.001
_QUESTION = b"stamped?"
_RTT = struct.Struct("=I")
_RTT_OFFSET = 68
_TOTAL_RETRANS_OFFSET = 100


def stamp_arrivals(sock: socket.socket) -> None:
    """Asks for stamps. A kernel without them (some sandboxes) gives none, and the user's clock counts."""
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def stamping_socket() -> socket.socket:
    """A socket that is kept for as long as stamps are wanted: the kernel stamps packets only while some socket asks for
    it, and begins some milliseconds later (net_enable_timestamp leaves it to a work queue). Comes back when it has
    begun, or gives it up after `_BEGINNING_S`: until then packets have no stamps."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    stamp_arrivals(sock)
    deadline = time.monotonic() + _BEGINNING_S
    with suppress(OSError):
        sock.bind(("127.0.0.1", 0))
        sock.connect(sock.getsockname())
        sock.settimeout(_BEGINNING_S)
        while not _is_stamped_on_arrival(sock) and time.monotonic() < deadline:
            time.sleep(_BEGINNING_POLL_S)
    return sock


def _is_stamped_on_arrival(sock: socket.socket) -> bool:
    """Whether a packet has its stamp from when it came in. Where the kernel does not stamp yet, a datagram is given the
    instant at which it is read. True where there are no stamps to wait for."""
    sock.send(_QUESTION)
    sent_ns = time.time_ns()
    stamp_ns = receive(sock, len(_QUESTION))[1].kernel_ns
    return stamp_ns is None or stamp_ns <= sent_ns


def receive(sock: socket.socket, size: int) -> tuple[bytes, Arrival]:
    """Up to `size` bytes and when the last of them came in. Raises BlockingIOError when there is nothing."""
    data, ancillary, _, _ = sock.recvmsg(size, _ANCILLARY_BYTES)
    user_ns = time.monotonic_ns()
    return data, Arrival(user_ns, _stamp(ancillary))


def rest_of_packet(sock: socket.socket, kernel_ns: int) -> bytes:
    """What is left of the packet with that stamp, of which a part was just read. Nothing where anything else has come
    behind it: a read is stamped with its last packet, so that is looked at before it is read."""
    try:
        size, ancillary, _, _ = sock.recvmsg_into([_SEEN], _ANCILLARY_BYTES, socket.MSG_PEEK)
    except OSError:
        return b""
    return sock.recv(size) if size and _stamp(ancillary) == kernel_ns else b""


def _stamp(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, payload in ancillary:
        if kind == SO_TIMESTAMPNS and level == _SOL_SOCKET and len(payload) == _TIMESPEC_BYTES:
            seconds, nanoseconds = _TIMESPEC.unpack(payload)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return None


def tcp_info(sock: socket.socket) -> bytes:
    """What the kernel knows of the connection (struct tcp_info), as much of it as this kernel has; none on an error."""
    try:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return b""


def path_of(info: bytes) -> tuple[int | None, int]:
    """The smoothed round trip in us (right after connecting: that of the SYN alone), and segments sent again."""
    if len(info) < _PATH_BYTES:
        return None, 0
    rtt_us = _RTT.unpack_from(info, _RTT_OFFSET)[0]
    return rtt_us or None, _RTT.unpack_from(info, _TOTAL_RETRANS_OFFSET)[0]


def read_clocks() -> ClockReading:
    """Both clocks at one instant: the closest of three tries, since the process may lose its core between two calls."""
    apart_ns, wall_ns, monotonic_ns = _pair()
    for _ in range(2):
        if apart_ns <= _CLOSE_NS:
            break
        apart_ns, wall_ns, monotonic_ns = min((apart_ns, wall_ns, monotonic_ns), _pair())
    return ClockReading(wall_ns=wall_ns, monotonic_ns=monotonic_ns)


def _pair() -> tuple[int, int, int]:
    """How far apart two readings of the monotonic clock were, the wall clock between them, and their middle."""
    before_ns = time.monotonic_ns()
    wall_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    return after_ns - before_ns, wall_ns, (before_ns + after_ns) // 2
