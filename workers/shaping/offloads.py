"""Packets as they would be on a wire: no merging and no postponed checksums. <linux/ethtool.h>."""

import array
import fcntl
import socket
import struct

from workers.shaping.faults import ShapingError

_SIOCETHTOOL = 0x8946
# Checksums when sending, scatter-gather, and segments put together when sending (TSO, GSO) and receiving (GRO).
_COMMANDS = (0x17, 0x19, 0x1F, 0x24, 0x2C)


def switch_off(name: str) -> None:
    """Makes the interface of the calling thread's network send and receive single packets. Raises ShapingError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for command in _COMMANDS:
            value = array.array("I", [command, 0])
            request = struct.pack("16sP", name.encode(), value.buffer_info()[0])
            try:
                fcntl.ioctl(sock, _SIOCETHTOOL, request)
            except OSError as error:
                raise ShapingError(f"{name} keeps merging packets: {error.strerror}") from error
