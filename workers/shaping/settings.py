"""What a delay link does to the packets that cross it, as numbers and scripts."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from workers.measurement.profile import Profile

# A hundred full packets: enough for a slow start over any of the usual profiles, and 3 s of the slowest of them.
QUEUE_BYTES = 150_000

# How interfaces begin by which packets of shaped networks come to this machine.
SHAPED_INTERFACE = "fbshape"


class Direction(StrEnum):
    """`up` is from the client to the server."""

    UP = "up"
    DOWN = "down"


class Impairment(StrEnum):
    """What kind of way a link is beyond its numbers; `impairments/` says of each which networks are so."""

    WIFI_POWER_SAVE = "wifi_power_save"
    LTE_SLEEP = "lte_sleep"
    RADIO_FRAMES = "radio_frames"
    DOCSIS_REQUESTS = "docsis_requests"
    INTERRUPT_MODERATION = "interrupt_moderation"
    ACK_AGGREGATION = "ack_aggregation"
    OFF_CHANNEL_SCANS = "off_channel_scans"
    CONTENTION = "contention"
    RADIO_REPEATS = "radio_repeats"
    QUICK_REPEATS = "quick_repeats"
    LOSS_BURSTS = "loss_bursts"
    REORDERING = "reordering"
    PATH_CHANGES = "path_changes"
    BUFFERBLOAT = "bufferbloat"
    SHAPER = "shaper"
    POLICER = "policer"
    FLOW_SET_UP = "flow_set_up"
    FIRST_DATA_INSPECTION = "first_data_inspection"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """One packet of each connection that never arrives: the `nth` (from 1) in a direction that fits; None is each.

    What fits: packets of `protocol` with at least `least_bytes` of payload (0 counts the SYN and every ACK too), of the
    `connection`-th connection over the link (from 1; None is every one), to or from the server's `port` (None is any).
    A packet sent again counts again, so that it arrives.
    """

    direction: Direction
    nth: int | None
    least_bytes: int = 1
    connection: int | None = None
    port: int | None = None
    protocol: str = "tcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaken:
    """Every so manieth packet of a connection in that direction arrives so much later, and those behind it do not."""

    direction: Direction
    every: int
    by_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """`rtt_us` is split between both ways. Rates are those of IP packets; what exceeds the queue is dropped at its end.

    `loss_ppm` applies to each packet of either direction; the same `seed` loses the same packets, and gives an
    `impairment` the same chances. `delayed_ack_us` makes the client one that acknowledges every second full segment, or
    after so long (RFC 1122, 4.2.3.2). `rtt6_us` is the round trip of IPv6 where that goes another way. `overtaken` are
    packets of TCP that carry data.
    """

    rtt_us: int = 0
    rtt6_us: int | None = None
    down_kbit_s: int | None = None
    up_kbit_s: int | None = None
    loss_ppm: int = 0
    seed: int = 1
    queue_bytes: int = QUEUE_BYTES
    drops: tuple[Drop, ...] = ()
    overtaken: Overtaken | None = None
    delayed_ack_us: int | None = None
    impairment: Impairment | None = None

    @classmethod
    def of_profile(cls, profile: Profile) -> Self:
        return cls(
            rtt_us=profile.rtt_us or 0,
            down_kbit_s=profile.down_kbit_s,
            up_kbit_s=profile.up_kbit_s,
            loss_ppm=profile.loss_ppm or 0,
        )

    @property
    def scripted(self) -> bool:
        """Whether the link must read TCP headers at all."""
        return bool(self.drops or self.overtaken) or self.delayed_ack_us is not None

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Of what `to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        drops = tuple(Drop(**drop | {"direction": Direction(drop["direction"])}) for drop in values.pop("drops"))
        late = values.pop("overtaken")
        overtaken = None if late is None else Overtaken(**late | {"direction": Direction(late["direction"])})
        name = values.pop("impairment")
        impairment = None if name is None else Impairment(name)
        return cls(drops=drops, overtaken=overtaken, impairment=impairment, **values)
