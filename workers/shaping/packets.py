"""The headers of a packet on an Ethernet, as far as a link and a capture need them. Unknown packets read as None."""

import struct
from dataclasses import dataclass

ETHERNET_BYTES = 14
FIN, SYN, RST, PUSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TCP, UDP = 6, 17

_IPV4, _IPV6 = 0x0800, 0x86DD
_IPV6_BYTES = 40
_TCP = struct.Struct("!HHIIBB")
_TCP_LEAST_BYTES = 20
_UDP = struct.Struct("!HHH")
_UDP_BYTES = 8
_OPTION_END, _OPTION_NOTHING, _OPTION_SACK = 0, 1, 5


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP segment or UDP datagram; `ends` are both ends of its way, addresses packed, sender first."""

    protocol: int
    source: tuple[bytes, int]
    destination: tuple[bytes, int]
    payload_bytes: int
    sequence: int = 0
    acknowledged: int = 0
    flags: int = 0
    selective: bool = False

    @property
    def pure_ack(self) -> bool:
        """Says nothing but what has arrived."""
        return self.protocol == TCP and self.flags & ~PUSH == ACK and self.payload_bytes == 0


def is_ipv6(frame: bytes) -> bool:
    """By the type that the Ethernet frame says."""
    return int.from_bytes(frame[12:14]) == _IPV6


def parse_packet(frame: bytes) -> Packet | None:
    """What an Ethernet frame carries; None for what is neither TCP nor UDP, a fragment, or cut short."""
    try:
        return _parse(frame)
    except (struct.error, IndexError):
        return None


def _parse(frame: bytes) -> Packet | None:
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == _IPV4:
        header_bytes = (frame[ETHERNET_BYTES] & 0x0F) * 4
        total, _, fragment = struct.unpack_from("!HHH", frame, ETHERNET_BYTES + 2)
        if fragment & 0x3FFF:
            return None
        protocol, at, size = frame[ETHERNET_BYTES + 9], ETHERNET_BYTES + 12, 4
    elif kind == _IPV6:
        header_bytes = _IPV6_BYTES
        total = struct.unpack_from("!H", frame, ETHERNET_BYTES + 4)[0] + _IPV6_BYTES
        protocol, at, size = frame[ETHERNET_BYTES + 6], ETHERNET_BYTES + 8, 16
    else:
        return None
    ends = frame[at : at + size], frame[at + size : at + 2 * size]
    start = ETHERNET_BYTES + header_bytes
    if protocol == TCP:
        return _segment(frame, start, total - header_bytes, ends)
    if protocol == UDP:
        source, destination, _ = _UDP.unpack_from(frame, start)
        payload_bytes = total - header_bytes - _UDP_BYTES
        return Packet(UDP, (ends[0], source), (ends[1], destination), payload_bytes)
    return None


def _segment(frame: bytes, start: int, size: int, ends: tuple[bytes, bytes]) -> Packet:
    source, destination, sequence, acknowledged, offset, flags = _TCP.unpack_from(frame, start)
    header_bytes = (offset >> 4) * 4
    options = frame[start + _TCP_LEAST_BYTES : start + header_bytes]
    return Packet(
        TCP,
        (ends[0], source),
        (ends[1], destination),
        size - header_bytes,
        sequence,
        acknowledged,
        flags & 0x3F,
        _selective(options),
    )


def _selective(options: bytes) -> bool:
    """Whether a selective acknowledgement is among the TCP options: something came out of order."""
    at = 0
    while at < len(options) and options[at] != _OPTION_END:
        if options[at] == _OPTION_SACK:
            return True
        alone = options[at] == _OPTION_NOTHING or at + 1 == len(options)
        at += 1 if alone else max(2, options[at + 1])
    return False
