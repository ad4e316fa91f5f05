"""The few words of rtnetlink that a network of two ends needs: <linux/rtnetlink.h>, <linux/if_link.h>, <linux/veth.h>.

Every function acts in the network of the calling thread, so that it is called by `Namespace.call`.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_network

from workers.shaping.faults import NotPermittedError, ShapingError


class TakenError(ShapingError):
    """There is something of that name already."""


Interface = IPv4Interface | IPv6Interface

_HEADER = struct.Struct("=IHHII")
_IFINFO = struct.Struct("=BxHiII")
_IFADDR = struct.Struct("=BBBBi")
_RTMSG = struct.Struct("=BBBBBBBBI")
_REQUEST_ACK, _CREATE, _EXCLUSIVE = 0x5, 0x400, 0x200
_NEWLINK, _DELLINK, _NEWADDR, _NEWROUTE, _ERROR = 16, 17, 20, 24, 2
_IFF_UP, _IFF_NOARP = 0x1, 0x80
_NESTED = 0x8000
_ADDRESS, _IFNAME, _LINKINFO, _NET_NS_FD, _AF_SPEC = 1, 3, 18, 28, 26
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_INET6_ADDR_GEN_MODE, _GEN_MODE_NONE = 8, 1
_IFA_LOCAL, _IFA_ADDRESS, _IFA_FLAGS = 2, 1, 8
# No duplicate address detection, and no route by itself: ours carries metrics.
_NODAD_NOPREFIXROUTE = 0x02 | 0x200
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_METRICS = 1, 4, 5, 8
_RTAX_INITCWND, _RTAX_CC_ALGO = 11, 16
_MAIN_TABLE, _STATIC, _UNIVERSE, _SCOPE_LINK, _UNICAST = 254, 4, 0, 253, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteMetrics:
    """What TCP does over a route, as far as the settings of a namespace cannot say it."""

    congestion_control: str | None = None
    initial_window: int | None = None


NO_METRICS = RouteMetrics()


def add_veth(name: str, *, end_in: int, end_name: str, mac: bytes, end_mac: bytes) -> None:
    """A cable from `name` here to `end_name` in the namespace of that file descriptor. Both ends are down."""
    end = _IFINFO.pack(0, 0, 0, 0, 0) + b"".join(
        (text(_IFNAME, end_name), attribute(_ADDRESS, end_mac), _u32(_NET_NS_FD, end_in))
    )
    info = text(_INFO_KIND, "veth") + nested(_INFO_DATA, attribute(_VETH_PEER | _NESTED, end))
    body = _IFINFO.pack(0, 0, 0, 0, 0)
    body += text(_IFNAME, name) + attribute(_ADDRESS, mac) + nested(_LINKINFO, info)
    request(_NEWLINK, body, _CREATE | _EXCLUSIVE, f"make a cable named {name}")


def remove_link(name: str) -> None:
    """Removes an interface, and with it the other end of its cable."""
    body = _IFINFO.pack(0, 0, socket.if_nametoindex(name), 0, 0)
    request(_DELLINK, body, 0, f"remove the interface {name}")


def set_up(name: str, *, quiet: bool = True) -> None:
    """Brings an interface up. A `quiet` one asks nobody for addresses and has none of its own making."""
    flags = _IFF_UP | (_IFF_NOARP if quiet else 0)
    index = socket.if_nametoindex(name)
    if quiet:
        mode = nested(socket.AF_INET6, attribute(_INET6_ADDR_GEN_MODE, bytes([_GEN_MODE_NONE])))
        silent = _IFINFO.pack(0, 0, index, 0, 0) + nested(_AF_SPEC, mode)
        request(_NEWLINK, silent, 0, f"keep {name} without an address of its own making")
    request(_NEWLINK, _IFINFO.pack(0, 0, index, flags, flags), 0, f"bring {name} up")


def add_address(name: str, interface: Interface) -> None:
    """Gives the interface an address, without a route."""
    family = socket.AF_INET if interface.version == 4 else socket.AF_INET6
    body = _IFADDR.pack(family, interface.network.prefixlen, 0, 0, socket.if_nametoindex(name))
    packed = interface.ip.packed
    body += attribute(_IFA_LOCAL, packed) + attribute(_IFA_ADDRESS, packed) + _u32(_IFA_FLAGS, _NODAD_NOPREFIXROUTE)
    request(_NEWADDR, body, _CREATE | _EXCLUSIVE, f"give {name} the address {interface}")


def add_route(name: str, destination: str, *, via: str | None = None, metrics: RouteMetrics = NO_METRICS) -> None:
    """Sends what goes to a network (`0.0.0.0/0` is everything) out of the interface, to a gateway or directly."""
    network = ip_network(destination)
    family = socket.AF_INET if network.version == 4 else socket.AF_INET6
    scope = _SCOPE_LINK if via is None and family == socket.AF_INET else _UNIVERSE
    body = _RTMSG.pack(family, network.prefixlen, 0, 0, _MAIN_TABLE, _STATIC, scope, _UNICAST, 0)
    body += attribute(_RTA_DST, network.network_address.packed) + _u32(_RTA_OIF, socket.if_nametoindex(name))
    if via is not None:
        body += attribute(_RTA_GATEWAY, ip_address(via).packed)
    request(_NEWROUTE, body + _metrics(metrics), _CREATE | _EXCLUSIVE, f"route {destination} through {name}")


def _metrics(metrics: RouteMetrics) -> bytes:
    parts = b""
    if metrics.initial_window is not None:
        parts += _u32(_RTAX_INITCWND, metrics.initial_window)
    if metrics.congestion_control is not None:
        parts += text(_RTAX_CC_ALGO, metrics.congestion_control)
    return nested(_RTA_METRICS, parts) if parts else b""


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute of a message, padded."""
    size = 4 + len(payload)
    return struct.pack("=HH", size, kind) + payload + bytes(-size % 4)


def nested(kind: int, payload: bytes) -> bytes:
    """An attribute made of attributes."""
    return attribute(kind | _NESTED, payload)


def text(kind: int, words: str) -> bytes:
    """An attribute of text."""
    return attribute(kind, words.encode() + b"\0")


def _u32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


@contextmanager
def _route_socket() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as sock:
        sock.bind((0, 0))
        yield sock


def request(kind: int, body: bytes, flags: int, what: str) -> None:
    """One request, and the kernel's word on it. Raises ShapingError."""
    message = _HEADER.pack(_HEADER.size + len(body), kind, _REQUEST_ACK | flags, 1, 0) + body
    with _route_socket() as sock:
        sock.send(message)
        answer = sock.recv(65536)
    code = next((code for code in error_codes(answer) if code), 0)
    if code in (1, 13):
        raise NotPermittedError(f"this process may not {what}: it needs CAP_NET_ADMIN. Run it as root.")
    if code == errno.EEXIST:
        raise TakenError(f"cannot {what}: there is one already")
    if code:
        raise ShapingError(f"cannot {what}: {os.strerror(code)}")


def error_codes(answers: bytes) -> list[int]:
    """The errno of each message that ends a request; 0 is success."""
    codes, at = [], 0
    while at + _HEADER.size <= len(answers):
        size, kind = _HEADER.unpack_from(answers, at)[:2]
        if kind == _ERROR:
            codes.append(-int(struct.unpack_from("=i", answers, at + _HEADER.size)[0]))
        at += max(_HEADER.size, (size + 3) & ~3)
    return codes
