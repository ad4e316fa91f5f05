"""Which addresses a probe may dial. A name is resolved once, every answer judged, and the judged address dialled.

So a name that answers differently the second time (DNS rebinding) gains nothing: there is no second time.
"""

import errno
import os
import socket
import time
from ipaddress import ip_address

from workers.measurement.addresses import Network, may_measure
from workers.measurement.captures_probe import ConnectCapture
from workers.measurement.failure import FailureKind, Stage
from workers.probes.faults import ProbeError, connect_fault
from workers.probes.loop import WRITABLE, ready
from workers.probes.recorder import HopRecorder
from workers.probes.stamps import path_of, stamp_arrivals, tcp_info


def choose(host: str, addresses: tuple[str, ...], allowed: tuple[Network, ...], family: int | None = None) -> str:
    """The address to dial: the first IPv4 one, or the first at all; only one of the `family` (4 or 6), when given.

    One bad answer refuses the name, since a mixed answer is what rebinding looks like; which one is never told. IPv4
    comes first because many regions have no IPv6 route, and a probe measures one address: a race measures neither.
    """
    if not all(may_measure(address, allowed=allowed) for address in addresses):
        raise ProbeError(FailureKind.BLOCKED_DESTINATION, host, stage=Stage.CONNECT)
    usual = 4 if family is None else family
    address = next((address for address in addresses if family_of(address) == usual), None)
    if address is None and family is not None:
        raise ProbeError(FailureKind.DNS_NOT_FOUND, f"{host} has none of IPv{family}")
    return address or addresses[0]


def family_of(address: str) -> int:
    """4 or 6."""
    return 6 if ":" in address else 4


def open_socket(address: str, where: str) -> socket.socket:
    """A non-blocking TCP socket with stamped arrivals. TCP_NODELAY, or our own Nagle adds a round trip to the wait.

    Raises ProbeError where the machine makes none: its kernel has no IPv6, or it has too many files open.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kind = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    try:
        sock = socket.socket(family, kind, socket.IPPROTO_TCP)
    except OSError as error:
        raise connect_fault(error, where, at_once=True) from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stamp_arrivals(sock)
    return sock


async def dial(sock: socket.socket, address: str, recorder: HopRecorder, deadline_ns: int) -> None:
    """Connects to a judged address. Raises ProbeError, also when the peer is not the address that was judged."""
    recorder.stage = Stage.CONNECT
    recorder.dialled_ns = started_ns = time.monotonic_ns()
    await _connect(sock, address, recorder, deadline_ns)
    ended_ns = time.monotonic_ns()
    try:
        peer = sock.getpeername()[0]
    except OSError as error:
        raise connect_fault(error, recorder.where) from error
    if peer != address and ip_address(peer) != ip_address(address):
        raise ProbeError(FailureKind.BLOCKED_DESTINATION, stage=Stage.CONNECT)
    recorder.tcp_connected = tcp_info(sock)
    rtt_us, retransmits = path_of(recorder.tcp_connected)
    recorder.connect = ConnectCapture(started_ns=started_ns, ended_ns=ended_ns, rtt_us=rtt_us, retransmits=retransmits)


def has_route(address: str) -> bool:
    """Whether this machine has a way to the address at all: asked of the kernel, without a packet."""
    family = socket.AF_INET6 if family_of(address) == 6 else socket.AF_INET
    try:
        # A kernel without IPv6 makes no such socket.
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((address, 9))
    except OSError:
        return False
    return True


async def _connect(sock: socket.socket, address: str, recorder: HopRecorder, deadline_ns: int) -> None:
    code = sock.connect_ex((address, recorder.port))
    at_once = code != errno.EINPROGRESS
    if not at_once:
        await ready(sock, WRITABLE, deadline_ns)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise connect_fault(OSError(code, os.strerror(code)), recorder.where, at_once=at_once)
