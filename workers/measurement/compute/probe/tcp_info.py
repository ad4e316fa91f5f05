"""struct tcp_info of <linux/tcp.h>, read by its offsets: it only ever grows at its end."""

import struct
from typing import Any

from workers.measurement.evidence import TcpState

_OLD = struct.Struct("=8x24I")
_WHOLE = struct.Struct("=8x24I4Q6I4Q2I2Q3I")
# Of the whole, where a reader in haste finds its least round trip and its packets out of order.
_DISORDER = struct.Struct("=148xI72xI")
_UNTOLD = (None,) * 21
_UNKNOWN_MIN_RTT = 0xFFFFFFFF


def tcp_state(info: bytes) -> TcpState | None:
    """What the bytes say; None for none. A kernel before 5.4 knows less. A round trip of 0 was not measured."""
    if len(info) < _OLD.size:
        return None
    words: tuple[Any, ...] = _WHOLE.unpack_from(info) if len(info) >= _WHOLE.size else _OLD.unpack_from(info) + _UNTOLD
    return TcpState(
        snd_mss_bytes=words[2],
        rcv_mss_bytes=words[3],
        pmtu_bytes=words[13],
        rtt_us=words[15] or None,
        rttvar_us=words[16],
        snd_cwnd=words[18],
        adv_mss_bytes=words[19],
        rcv_rtt_us=words[21] or None,
        total_retransmits=words[23],
        received_bytes=words[27],
        min_rtt_us=None if words[31] == _UNKNOWN_MIN_RTT else words[31],
        data_segments_in=words[32],
        delivery_rate_bytes_s=words[34] or None,
        dsack_dups=words[42],
        reorderings=words[43],
        out_of_order_packets=words[44],
    )


def disorder(info: bytes) -> tuple[int, int]:
    """How many packets came out of order so far, and the least round trip in us; 0 where a kernel does not say. It
    takes a tenth of what all of it does, and is asked at each late read."""
    if len(info) < _DISORDER.size:
        return 0, 0
    min_rtt_us, out_of_order = _DISORDER.unpack_from(info)
    return out_of_order, 0 if min_rtt_us == _UNKNOWN_MIN_RTT else min_rtt_us
