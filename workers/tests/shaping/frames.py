"""Packets made by hand."""

import struct

from workers.shaping.packets import ACK, TCP, UDP

CLIENT, SERVER = b"\x0a\x4d\x00\x02", b"\x0a\x4d\x00\x01"
_ETHERNET = bytes(12) + b"\x08\x00"


def frame(
    *,
    up: bool = True,
    port: int = 40_000,
    flags: int = ACK,
    payload: int = 0,
    sequence: int = 0,
    acknowledged: int = 0,
    options: bytes = b"",
) -> bytes:
    """A TCP segment between the client's port and the server's 443."""
    source, destination, ports = (CLIENT, SERVER, (port, 443)) if up else (SERVER, CLIENT, (443, port))
    options += bytes(-len(options) % 4)
    header = struct.pack("!HHIIBB", *ports, sequence, acknowledged, (5 + len(options) // 4) << 4, flags)
    return _ipv4(TCP, source + destination, header + bytes(6) + options + bytes(payload))


def datagram(*, up: bool = True, payload: int = 30) -> bytes:
    """A UDP datagram between the client's port and the server's 53."""
    ends, ports = (CLIENT + SERVER, (40_000, 53)) if up else (SERVER + CLIENT, (53, 40_000))
    return _ipv4(UDP, ends, struct.pack("!HHHH", *ports, 8 + payload, 0) + bytes(payload))


def _ipv4(protocol: int, ends: bytes, rest: bytes) -> bytes:
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(rest), 1, 0x4000, 64, protocol, 0)
    return _ETHERNET + header + ends + rest
