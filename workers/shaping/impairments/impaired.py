"""Which behaviour an impairment is, and the ways to all servers that have it."""

from collections.abc import Mapping
from random import Random

from workers.shaping.impairments import middleboxes, queues, radio, slots
from workers.shaping.impairments.behaviour import Behaviour, Passage
from workers.shaping.packets import parse_packet
from workers.shaping.settings import Direction, Impairment

BEHAVIOURS: Mapping[Impairment, type[Behaviour]] = {
    Impairment.WIFI_POWER_SAVE: slots.WifiPowerSave,
    Impairment.LTE_SLEEP: slots.LteSleep,
    Impairment.RADIO_FRAMES: slots.RadioFrames,
    Impairment.DOCSIS_REQUESTS: slots.DocsisRequests,
    Impairment.INTERRUPT_MODERATION: slots.InterruptModeration,
    Impairment.ACK_AGGREGATION: slots.AckAggregation,
    Impairment.OFF_CHANNEL_SCANS: slots.OffChannelScans,
    Impairment.CONTENTION: radio.Contention,
    Impairment.RADIO_REPEATS: radio.RadioRepeats,
    Impairment.QUICK_REPEATS: radio.QuickRepeats,
    Impairment.LOSS_BURSTS: radio.LossBursts,
    Impairment.REORDERING: radio.Reordering,
    Impairment.PATH_CHANGES: radio.PathChanges,
    Impairment.BUFFERBLOAT: queues.Bufferbloat,
    Impairment.SHAPER: queues.Shaper,
    Impairment.POLICER: queues.Policer,
    Impairment.FLOW_SET_UP: middleboxes.FlowSetUp,
    Impairment.FIRST_DATA_INSPECTION: middleboxes.FirstDataInspection,
}
_MAX_SERVERS = 4096
# By so much of the end of their addresses servers are told apart, whatever the family.
_SERVERS_BYTES = 2


class Way:
    """One behaviour, and the order that it keeps."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._latest_ns = dict.fromkeys(Direction, 0)

    def leaves_ns(self, passage: Passage) -> int | None:
        """When the packet leaves; None if it never does."""
        leaves_ns = self._behaviour.leaves_ns(passage)
        if leaves_ns is None or not self._behaviour.keeps_order:
            return leaves_ns
        self._latest_ns[passage.direction] = max(self._latest_ns[passage.direction], leaves_ns)
        return self._latest_ns[passage.direction]


class Impaired:
    """A link with an impairment. To each server it is a way of its own, as if nobody else were on the link: what is
    measured side by side neither keeps a radio awake for others nor uses up what is theirs. Addresses that end alike
    are those of one server, over IPv4 and IPv6: at the near end of a link both families share its queue.
    """

    def __init__(self, impairment: Impairment, seed: int) -> None:
        self._behaviour = BEHAVIOURS[impairment]
        self._seed = seed
        self._ways: dict[bytes, Way] = {}

    def leaves_ns(self, passage: Passage) -> int | None:
        """When the packet leaves; None if it never does."""
        return self._way_to(_server(passage)).leaves_ns(passage)

    def _way_to(self, server: bytes) -> Way:
        if server not in self._ways:
            self._ways[server] = Way(self._behaviour(Random(f"{self._seed} {server.hex()}")))
            if len(self._ways) > _MAX_SERVERS:
                del self._ways[next(iter(self._ways))]
        return self._ways[server]


def _server(passage: Passage) -> bytes:
    """The end of its address; empty for what is neither TCP nor UDP."""
    packet = parse_packet(passage.frame)
    if packet is None:
        return b""
    address, _ = packet.destination if passage.direction is Direction.UP else packet.source
    return address[-_SERVERS_BYTES:]
