"""Ways on which packets leave at certain instants only: sleeping radios, shared media, batches."""

from random import Random

from workers.shaping.impairments.behaviour import MS, Behaviour, Passage, Slots
from workers.shaping.packets import parse_packet
from workers.shaping.settings import Direction


class WifiPowerSave(Behaviour):
    """A Wi-Fi client that sleeps: what comes for it waits at the access point for the next beacon.

    Beacons come every 100 time units of 1024 µs (the usual setting of IEEE 802.11). Clients fall asleep between some
    30 and 200 ms after their last packet (100 ms with Linux' mac80211); this one after 50 ms.
    """

    _AWAKE_NS = 50 * MS
    _BEACON_NS = 100 * 1_024_000

    def __init__(self, dice: Random) -> None:
        self._beacons = Slots.by_chance(self._BEACON_NS, dice)
        self._awake_until_ns = 0

    def leaves_ns(self, passage: Passage) -> int:
        if passage.direction is Direction.UP:
            self._stay_awake(passage.arrival_ns)
            return passage.due_ns
        due_ns = passage.due_ns
        leaves_ns = due_ns if due_ns < self._awake_until_ns else self._beacons.next_ns(due_ns)
        self._stay_awake(leaves_ns)
        return leaves_ns

    def _stay_awake(self, at_ns: int) -> None:
        self._awake_until_ns = max(self._awake_until_ns, at_ns + self._AWAKE_NS)


class LteSleep(Behaviour):
    """A phone in LTE's connected mode with discontinuous reception (3GPP TS 36.321, 5.7; values of TS 36.331).

    100 ms after the last packet (`drx-InactivityTimer` psf100) it listens once in 40 ms (`longDRX-Cycle` sf40). To send
    it must ask, once in 5 ms (`sr-ConfigIndex` 0 to 4), and may send 8 ms later: 4 until the grant, 4 to prepare.
    """

    _INACTIVITY_NS = 100 * MS
    _CYCLE_NS = 40 * MS
    _REQUEST_NS = 5 * MS
    _GRANT_NS = 8 * MS

    def __init__(self, dice: Random) -> None:
        self._cycle = Slots.by_chance(self._CYCLE_NS, dice)
        self._requests = Slots.by_chance(self._REQUEST_NS, dice)
        self._latest_ns = 0

    def leaves_ns(self, passage: Passage) -> int:
        asleep = passage.arrival_ns - self._latest_ns > self._INACTIVITY_NS
        self._latest_ns = max(self._latest_ns, passage.arrival_ns)
        if passage.direction is Direction.UP:
            return self._requests.next_ns(passage.due_ns) + self._GRANT_NS
        return self._cycle.next_ns(passage.due_ns) if asleep else passage.due_ns


class RadioFrames(Behaviour):
    """A radio that sends once in a frame of 10 ms, as uplinks of LTE TDD in configuration 5 (3GPP TS 36.211, 4.2)."""

    _FRAME_NS = 10 * MS

    def __init__(self, dice: Random) -> None:
        self._frames = Slots.by_chance(self._FRAME_NS, dice)

    def leaves_ns(self, passage: Passage) -> int:
        return self._frames.next_ns(passage.due_ns)


class DocsisRequests(Behaviour):
    """A cable modem, which must ask for each upload: DOCSIS 3.0 and 3.1 take between 4 and 10 ms to let it send."""

    _REQUEST_NS = 6 * MS
    _GRANT_NS = 4 * MS

    def __init__(self, dice: Random) -> None:
        self._requests = Slots.by_chance(self._REQUEST_NS, dice)

    def leaves_ns(self, passage: Passage) -> int:
        if passage.direction is Direction.DOWN:
            return passage.due_ns
        return self._requests.next_ns(passage.due_ns) + self._GRANT_NS


class InterruptModeration(Behaviour):
    """A receiver that takes packets in batches, as a virtual machine does with each tick of 4 ms (Linux, HZ=250)."""

    _TICK_NS = 4 * MS

    def __init__(self, dice: Random) -> None:
        self._ticks = Slots.by_chance(self._TICK_NS, dice)

    def leaves_ns(self, passage: Passage) -> int:
        return passage.due_ns if passage.direction is Direction.UP else self._ticks.next_ns(passage.due_ns)


class AckAggregation(Behaviour):
    """An uplink that holds acknowledgements back and sends several at once (RFC 3449, 5: 20 ms are chosen)."""

    _HELD_NS = 20 * MS

    def __init__(self, dice: Random) -> None:
        self._batches = Slots.by_chance(self._HELD_NS, dice)

    def leaves_ns(self, passage: Passage) -> int:
        packet = parse_packet(passage.frame) if passage.direction is Direction.UP else None
        held = packet is not None and packet.pure_ack
        return self._batches.next_ns(passage.due_ns) if held else passage.due_ns


class OffChannelScans(Behaviour):
    """A Wi-Fi client that looks for other access points: it listens to another channel for as long as a beacon comes
    within, about 100 ms, and nothing passes meanwhile. Here it never stops looking: one channel each 700 ms.
    """

    _AWAY_NS = 100 * MS
    _PERIOD_NS = 700 * MS

    def __init__(self, dice: Random) -> None:
        self._returns = Slots.by_chance(self._PERIOD_NS, dice)

    def leaves_ns(self, passage: Passage) -> int:
        back_ns = self._returns.next_ns(passage.due_ns)
        return back_ns if back_ns - passage.due_ns <= self._AWAY_NS else passage.due_ns
