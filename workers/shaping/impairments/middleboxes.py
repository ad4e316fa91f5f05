"""Boxes on the way that know connections, and take their time for the first packet of each."""

from random import Random

from workers.shaping.impairments.behaviour import MS, Behaviour, Passage
from workers.shaping.packets import TCP, Packet, parse_packet
from workers.shaping.settings import Direction

Flow = tuple[int, tuple[bytes, int], tuple[bytes, int]]
_MAX_FLOWS = 4096
# What was silent for so long is forgotten, as such rules usually are: a port that is taken again is of another flow.
_FORGOTTEN_NS = 10_000 * MS


class _Flows:
    """Until when the packets of each flow are held, and when its last one came; the oldest are forgotten."""

    def __init__(self) -> None:
        self._known_ns: dict[Flow, tuple[int, int]] = {}

    def leaves_ns(self, packet: Packet, due_ns: int, new_ns: int) -> int:
        """When a packet leaves: the first of its flow after `new_ns`, those behind it not before that one."""
        flow = (packet.protocol, packet.source, packet.destination)
        until_ns, latest_ns = self._known_ns.pop(flow, (0, -_FORGOTTEN_NS))
        if due_ns - latest_ns >= _FORGOTTEN_NS:
            until_ns = due_ns + new_ns
        self._known_ns[flow] = (until_ns, due_ns)
        if len(self._known_ns) > _MAX_FLOWS:
            del self._known_ns[next(iter(self._known_ns))]
        return max(due_ns, until_ns)


class FlowSetUp(Behaviour):
    """A box that needs a rule for each new flow, in either direction, and asks a controller for it: a reactive
    software-defined network (OpenFlow's packet-in). 40 ms are those of a far and busy controller.
    """

    keeps_order = False
    _TAKES_NS = 40 * MS

    def __init__(self, dice: Random) -> None:
        """Nothing of it is by chance."""
        self._flows = _Flows()

    def leaves_ns(self, passage: Passage) -> int:
        packet = parse_packet(passage.frame)
        return passage.due_ns if packet is None else self._flows.leaves_ns(packet, passage.due_ns, self._TAKES_NS)


class FirstDataInspection(Behaviour):
    """A firewall or a filter that looks into what a client says first, and hands the connection on once it knows whom
    it is meant for. 60 ms are those of one that asks a service on the Internet for its verdict.
    """

    keeps_order = False
    _TAKES_NS = 60 * MS

    def __init__(self, dice: Random) -> None:
        """Nothing of it is by chance."""
        self._flows = _Flows()

    def leaves_ns(self, passage: Passage) -> int:
        packet = parse_packet(passage.frame) if passage.direction is Direction.UP else None
        if packet is None or packet.protocol != TCP or not packet.payload_bytes:
            return passage.due_ns
        return self._flows.leaves_ns(packet, passage.due_ns, self._TAKES_NS)
