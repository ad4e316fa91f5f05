"""The kernel's own delay link, where it has one: <linux/pkt_sched.h>, tc-netem(8)."""

import socket
import struct

from workers.shaping.cable import Plug
from workers.shaping.netlink import attribute, request, text
from workers.shaping.packets import ETHERNET_BYTES
from workers.shaping.settings import LinkSettings

_TCMSG = struct.Struct("=BxxxiIII")
_QOPT = struct.Struct("=IIIIII")
_RATE = struct.Struct("=IiIi")
_NEWQDISC, _CREATE, _EXCLUSIVE = 36, 0x400, 0x200
_ROOT = 0xFFFFFFFF
_KIND, _OPTIONS = 1, 2
_NETEM_RATE, _NETEM_LATENCY64 = 6, 10
_ALWAYS = 1 << 32
_PACKET_BYTES = 1500
_MANY_PACKETS = 10_000


def delay(name: str, *, delay_us: int, kbit_s: int | None, settings: LinkSettings) -> None:
    """Delays what leaves the interface of the calling thread's network. Raises ShapingError where there is no netem."""
    loss = min(_ALWAYS - 1, settings.loss_ppm * _ALWAYS // 1_000_000)
    limit = settings.queue_bytes // _PACKET_BYTES + _under_way(delay_us, kbit_s)
    options = _QOPT.pack(0, limit, loss, 0, 0, 0) + attribute(_NETEM_LATENCY64, struct.pack("=q", delay_us * 1000))
    if kbit_s is not None:
        # A rate is one of IP packets; netem would count the frames around them.
        options += attribute(_NETEM_RATE, _RATE.pack(kbit_s * 125, -ETHERNET_BYTES, 0, 0))
    body = _TCMSG.pack(socket.AF_UNSPEC, socket.if_nametoindex(name), 0, _ROOT, 0)
    body += text(_KIND, "netem") + attribute(_OPTIONS, options)
    request(_NEWQDISC, body, _CREATE | _EXCLUSIVE, f"delay what leaves {name} by netem")


def shape(inside: Plug, outside: Plug, settings: LinkSettings) -> None:
    """Half of the round trip each way, and each way its rate."""
    down_us = settings.rtt_us // 2
    up_us = settings.rtt_us - down_us
    inside.network.call(lambda: delay(inside.interface, delay_us=up_us, kbit_s=settings.up_kbit_s, settings=settings))
    outside.network.call(
        lambda: delay(outside.interface, delay_us=down_us, kbit_s=settings.down_kbit_s, settings=settings)
    )


def _under_way(delay_us: int, kbit_s: int | None) -> int:
    """Packets that are delayed and not waiting, which count towards netem's limit too."""
    return _MANY_PACKETS if kbit_s is None else delay_us * kbit_s // 8000 // _PACKET_BYTES
