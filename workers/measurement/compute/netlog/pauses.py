"""When nothing came over a connection though an answer was on its way: its window was full, something was lost, or
the server had no more. What a line cannot carry any quicker comes packet by packet, and is no pause. Pure."""

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import accumulate, pairwise

from workers.measurement.compute.netlog.log import NetworkLog
from workers.measurement.compute.netlog.nouns import TICK_MS, NetHop, NetSocket, Wait, length_of

# When an answer might have begun to come, when its first byte did, and its last.
Answer = tuple[int, int, int]
MAX_PAUSES = 200
# Shorter ones may be the browser's, which had other things to do than to read.
_LEAST_MS = 5
# A pause is so many times as long as what lies between two packets, which most gaps of a busy line are, and where
# packets are lost at least a quarter of them.
_PACKETS, _QUARTER = 4, 4
# A packet of data over Ethernet. Of packets that come by themselves hardly two come in one tick.
_PACKET_BYTES, _APART = 1_448, 0.75
# What comes in bursts less far apart, a radio or a server that is paced brings so all the while.
_BURSTS_MS = 50
# What a server says beside its answers (tickets, settings) is less: so much is of a record that is not whole yet. It
# comes no sooner than this share of what a handshake took, as some take longer than a round trip.
_OF_RECORD_BYTES, _SOON = 4_000, 0.75


def note_pauses(log: NetworkLog, hops: Iterable[NetHop]) -> None:
    """Sets `pauses` of the connections over which answers came, once hops lead to them."""
    answers: dict[int, list[Answer]] = defaultdict(list)
    reads_of = cache(lambda link: _Reads(log.sockets[link].reads))
    for hop in hops:
        first_ms = log.first_byte_of(hop)
        if hop.link is not None and first_ms is not None and hop.ended_ms is not None:
            due_ms = _due_ms(log, hop, first_ms)
            if hop.link in log.sockets and hop.sent_ms is not None and due_ms < first_ms:
                soon_ms = hop.sent_ms + round(_SOON * (due_ms - hop.sent_ms))
                first_ms = reads_of(hop.link).came_ms(soon_ms, first_ms)
            answers[hop.link].append((due_ms, first_ms, hop.ended_ms))
    for link, awaited in answers.items():
        socket = log.sockets.get(link)
        if socket is not None and socket.reads:
            found = pauses_of(socket.reads, awaited, _between_flights_ms(socket))
            socket.pauses = tuple((pause, _behind(pause, socket.reads)) for pause in found)


class _Reads:
    """What was read of a connection, by the tick."""

    def __init__(self, reads: Mapping[int, int]) -> None:
        self._ticks = sorted(reads)
        self._bytes = [0, *accumulate(reads[tick] for tick in self._ticks)]

    def came_ms(self, soon_ms: int, first_ms: int) -> int:
        """When the first of an answer came that might have come so soon: where its first byte could be read later, as
        its record was not whole (RFC 8446, 5.1), much of that came before."""
        begin, end = (bisect_left(self._ticks, at_ms) for at_ms in (soon_ms, first_ms - TICK_MS))
        is_of_record = self._bytes[end] - self._bytes[begin] >= _OF_RECORD_BYTES
        return self._ticks[begin] if begin < end and is_of_record else first_ms


def _due_ms(log: NetworkLog, hop: NetHop, first_ms: int) -> int:
    """When the first of an answer might have come: a round trip after it was asked for, where that is known."""
    socket = None if hop.link is None else log.sockets.get(hop.link)
    connect = None if socket is None else socket.connect.whole
    return first_ms if connect is None or hop.sent_ms is None else min(first_ms, hop.sent_ms + length_of(connect))


def _between_flights_ms(socket: NetSocket) -> int | None:
    """How long a gap is that lies between two flights, half a round trip, where packets come several in a tick: then a
    flight may come in one, and nothing that was seen lies between its packets."""
    trip = socket.connect.whole
    packets = sum(-(-size // _PACKET_BYTES) for size in socket.reads.values())
    return None if trip is None or len(socket.reads) > _APART * packets else max(_BURSTS_MS, length_of(trip) // 2)


def pauses_of(
    reads_ms: Iterable[int], answers: Iterable[Answer], between_flights_ms: int | None = None
) -> tuple[Wait, ...]:
    """The longest `MAX_PAUSES` in order of time, each from the last of what came before it to the first behind it.

    `reads_ms` are the ticks in which something came; `answers` when each might have begun to come, and its first and
    last byte; `between_flights_ms` what is a pause however far packets lie apart, where that is known.
    """
    coming = _merged(answers)
    begins = [begin_ms for begin_ms, _ in coming]

    def is_awaited(gap: Wait) -> bool:
        place = bisect_right(begins, gap[0]) - 1
        return place >= 0 and gap[1] <= coming[place][1]

    gaps = list(filter(is_awaited, pairwise(sorted(reads_ms))))
    if not gaps:
        return ()
    lengths = sorted(map(length_of, gaps))
    packets_ms = _PACKETS * lengths[(len(lengths) - 1) // _QUARTER]
    least_ms = max(_LEAST_MS, packets_ms if between_flights_ms is None else min(packets_ms, between_flights_ms))
    found = (gap for gap in gaps if length_of(gap) >= least_ms)
    return tuple(sorted(heapq.nlargest(MAX_PAUSES, found, key=length_of)))


def _behind(pause: Wait, reads: Mapping[int, int]) -> int:
    """What was read at its end, also where that took until the next tick."""
    return reads[pause[1]] + reads.get(pause[1] + TICK_MS, 0)


def _merged(answers: Iterable[Answer]) -> list[Wait]:
    """The stretches in which any was on its way. The head is read a tick before it is told at most. One that might have
    come before another had come was on its way behind that: what is read of it before it can be told is its own."""
    merged: list[Wait] = []
    for due_ms, first_ms, ended_ms in sorted(answers, key=lambda answer: answer[1]):
        begin_ms = first_ms - TICK_MS
        if merged and min(due_ms, begin_ms) <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], ended_ms)
        else:
            merged.append((begin_ms, ended_ms))
    return merged
