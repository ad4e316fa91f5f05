"""Impairments on a made-up clock: when each packet leaves, and what holds whatever comes."""

import struct
from collections.abc import Iterable, Iterator
from itertools import product
from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.shaping.impairments.behaviour import Passage
from workers.shaping.impairments.impaired import BEHAVIOURS, Impaired, Way
from workers.shaping.link import Departures, Link
from workers.shaping.packets import ACK, SYN, TCP
from workers.shaping.settings import QUEUE_BYTES, Direction, Impairment, LinkSettings
from workers.tests.shaping.frames import datagram, frame
from workers.tests.shaping.test_link import World

UP, DOWN = Direction.UP, Direction.DOWN
MS = 1_000_000
# Of the link without an impairment, in one direction.
TAKES_MS = 10
# Of a packet whose time to leave is not earlier than those before it, in ms. Shapers wait for as much as they hold.
MOST_MS = {
    Impairment.WIFI_POWER_SAVE: 102.4,
    Impairment.LTE_SLEEP: 40,
    Impairment.RADIO_FRAMES: 10,
    Impairment.DOCSIS_REQUESTS: 10,
    Impairment.INTERRUPT_MODERATION: 4,
    Impairment.ACK_AGGREGATION: 20,
    Impairment.OFF_CHANNEL_SCANS: 100,
    Impairment.CONTENTION: 100,
    Impairment.RADIO_REPEATS: 150,
    Impairment.QUICK_REPEATS: 25,
    Impairment.LOSS_BURSTS: 0,
    Impairment.REORDERING: 4,
    Impairment.PATH_CHANGES: 60,
    Impairment.BUFFERBLOAT: 120,
    Impairment.SHAPER: QUEUE_BYTES * 8 / 500,
    Impairment.POLICER: 0,
    Impairment.FLOW_SET_UP: 40,
    Impairment.FIRST_DATA_INSPECTION: 60,
}
KINDS = list(product((True, False), (40_000, 40_001), (0, 100, 1460)))
LOSING = {Impairment.LOSS_BURSTS, Impairment.POLICER, Impairment.SHAPER}


def data(*, port: int = 40_000) -> bytes:
    """A packet of 1500 bytes as IP counts them, from the server."""
    return frame(up=False, payload=1460, port=port)


def way(impairment: Impairment, seed: int = 1) -> Way:
    return Way(BEHAVIOURS[impairment](Random(seed)))


def crossed(of: Way | Impaired, packets: Iterable[tuple[Direction, bytes, float]]) -> list[float]:
    """By how many ms each packet leaves later than it is due, infinitely for what never does. Packets as they come."""
    return [inf if late is None else late / MS for late in _late_ns(of, packets)]


def _late_ns(of: Way | Impaired, packets: Iterable[tuple[Direction, bytes, float]]) -> Iterator[int | None]:
    for direction, what, at_ms in packets:
        arrival_ns = round(at_ms * MS)
        due_ns = arrival_ns + TAKES_MS * MS
        leaves_ns = of.leaves_ns(Passage(direction, what, arrival_ns, due_ns))
        yield None if leaves_ns is None else leaves_ns - due_ns


@st.composite
def traffic(draw: st.DrawFn) -> list[tuple[Direction, bytes, float]]:
    """Packets of a few connections in both directions, with pauses."""
    at_ms, packets = 0.0, []
    for _ in range(draw(st.integers(1, 30))):
        at_ms += draw(st.sampled_from([0, 0.1, 3, 30, 300]))
        up, port, payload = draw(st.sampled_from(KINDS))
        packets.append((UP if up else DOWN, frame(up=up, port=port, payload=payload), at_ms))
    return packets


@pytest.mark.parametrize("impairment", Impairment)
@given(packets=traffic(), seed=st.integers(0, 100))
def test_no_packet_leaves_early_or_waits_forever_and_order_is_kept_where_it_is_said(
    impairment: Impairment, packets: list[tuple[Direction, bytes, float]], seed: int
) -> None:
    late_ns = list(_late_ns(way(impairment, seed), packets))
    assert all(0 <= one <= MOST_MS[impairment] * MS for one in late_ns if one is not None)
    assert impairment in LOSING or None not in late_ns
    if BEHAVIOURS[impairment].keeps_order:
        crossings = zip(packets, late_ns, strict=True)
        left = [(to, round(at_ms * MS) + late) for (to, _, at_ms), late in crossings if late is not None]
        for direction in Direction:
            there = [at_ns for to, at_ns in left if to is direction]
            assert there == sorted(there)


@pytest.mark.parametrize("impairment", Impairment)
def test_the_same_seed_makes_the_same_way(impairment: Impairment) -> None:
    packets = [(DOWN, data(), 7.3 * number) for number in range(300)]
    assert crossed(way(impairment), packets) == crossed(way(impairment), packets)


@pytest.mark.parametrize("impairment", Impairment)
def test_all_but_rates_are_felt_by_who_says_little(impairment: Impairment) -> None:
    packets = [(to, frame(up=to is UP, payload=1000), 190 * n) for n in range(60) for to in (DOWN, UP)]
    acknowledgements = [(UP, frame(), 190 * n) for n in range(60)]
    felt = any(crossed(way(impairment), packets)) or any(crossed(way(impairment), acknowledgements))
    assert felt != (impairment in {Impairment.SHAPER, Impairment.POLICER})


def test_a_sleeping_client_hears_at_beacons_and_a_waking_one_at_once() -> None:
    beacons = way(Impairment.WIFI_POWER_SAVE)
    first, second = (
        at + 10 + late
        for at, late in zip((500, 900), crossed(beacons, [(DOWN, data(), 500), (DOWN, data(), 900)]), strict=True)
    )
    assert (second - first) % 102.4 == pytest.approx(0, abs=1e-6)
    assert crossed(beacons, [(UP, frame(), 1100), (DOWN, data(), 1120)]) == [0, 0]


def test_a_phone_listens_rarely_after_a_pause_and_asks_before_it_sends() -> None:
    asleep, awake, sends = crossed(
        way(Impairment.LTE_SLEEP), [(DOWN, data(), 500), (DOWN, data(), 560), (UP, frame(), 570)]
    )
    assert 0 < asleep <= 40
    assert awake == 0
    assert 8 <= sends < 13


def test_a_cable_modem_asks_for_uploads_alone() -> None:
    down, up = crossed(way(Impairment.DOCSIS_REQUESTS), [(DOWN, data(), 0), (UP, frame(), 0)])
    assert down == 0
    assert 4 <= up < 10


def test_acknowledgements_wait_for_others_and_requests_do_not() -> None:
    up = way(Impairment.ACK_AGGREGATION)
    late = crossed(up, [(UP, frame(), 0), (UP, frame(), 3)])
    assert late[0] - late[1] == pytest.approx(3)
    assert crossed(way(Impairment.ACK_AGGREGATION), [(UP, frame(payload=100), 0), (UP, frame(flags=SYN), 1)]) == [0, 0]


def test_what_was_repeated_holds_up_what_came_behind_it() -> None:
    late = crossed(way(Impairment.RADIO_REPEATS), [(DOWN, data(), 10 * number) for number in range(2000)])
    repeated = [number for number, one in enumerate(late) if one == 150]
    assert 60 < len(repeated) < 140
    assert all(late[number + 1] in (140, 150) for number in repeated[:-1])


def test_a_burst_loses_all_of_its_time() -> None:
    late = crossed(way(Impairment.LOSS_BURSTS), [(DOWN, data(), 10 * number) for number in range(2000)])
    first = late.index(inf)
    assert late[first : first + 6] == [inf] * 6
    assert late[first + 6] == 0


def test_a_longer_path_comes_and_goes_towards_the_client() -> None:
    late = crossed(way(Impairment.PATH_CHANGES), [(DOWN, data(), 100 * number) for number in range(41)])
    assert (late.count(60), late.count(0)) in ((20, 21), (21, 20))
    assert crossed(way(Impairment.PATH_CHANGES), [(UP, frame(), 100 * number) for number in range(41)]) == [0] * 41


def test_a_shaper_passes_a_burst_and_then_its_rate() -> None:
    late = crossed(way(Impairment.SHAPER), [(DOWN, data(), 0)] * 15)
    # 20 000 bytes at once: 13 packets. 1500 bytes take 24 ms at 500 kbit/s.
    assert late == pytest.approx([0] * 13 + [16, 40])


def test_a_policer_drops_what_a_shaper_would_hold() -> None:
    policer = way(Impairment.POLICER)
    assert crossed(policer, [(DOWN, data(), 0)] * 15) == [0] * 13 + [inf, inf]
    # 1000 bytes are missing: 8 ms at 1 Mbit/s.
    assert crossed(policer, [(DOWN, data(), 7.9), (DOWN, data(), 8.1)]) == [inf, 0]


def test_a_rule_for_a_flow_is_made_once_in_each_direction() -> None:
    box = way(Impairment.FLOW_SET_UP)
    assert crossed(box, [(UP, frame(flags=SYN), 0), (DOWN, frame(up=False, flags=SYN | ACK), 60)]) == [40, 40]
    assert crossed(box, [(UP, frame(payload=100), 200), (DOWN, data(), 201), (UP, datagram(), 202)]) == [0, 0, 40]


def test_a_flow_that_was_silent_for_ten_seconds_is_a_new_one() -> None:
    box = way(Impairment.FLOW_SET_UP)
    packets = [(UP, datagram(), 0), (UP, datagram(), 9_000), (UP, datagram(), 18_000), (UP, datagram(), 28_000)]
    assert crossed(box, packets) == [40, 0, 0, 40]


def test_only_what_a_client_says_first_is_looked_into_and_the_rest_stays_behind_it() -> None:
    box = way(Impairment.FIRST_DATA_INSPECTION)
    assert crossed(box, [(UP, frame(flags=SYN), 0), (UP, frame(), 20)]) == [0, 0]
    assert crossed(box, [(UP, frame(payload=1400), 20), (UP, frame(payload=300), 20), (UP, frame(payload=9), 90)]) == [
        60,
        60,
        0,
    ]
    assert crossed(box, [(DOWN, data(), 21)]) == [0]


def test_each_server_has_a_way_of_its_own() -> None:
    """What one used up of a rate is not missing for another."""
    link = Impaired(Impairment.POLICER, seed=1)
    here = data()
    there = here[:26] + b"\x0a\x4d\x00\x09" + here[30:]
    assert crossed(link, [(DOWN, here, 0)] * 14)[-1] == inf
    assert crossed(link, [(DOWN, there, 0)] * 14) == [0] * 13 + [inf]


def test_both_families_of_a_server_share_its_way() -> None:
    link = Impaired(Impairment.POLICER, seed=1)
    assert crossed(link, [(DOWN, data(), 0)] * 13 + [(DOWN, over_ipv6(data()), 0)])[-2:] == [0, inf]


def over_ipv6(packet: bytes) -> bytes:
    """The same from and to addresses that end alike."""
    ethernet, server, client, segment = packet[:12], packet[26:30], packet[30:34], packet[34:]
    addresses = b"".join(b"\xfd\x77" + bytes(12) + address[-2:] for address in (server, client))
    return ethernet + struct.pack("!HIHBB", 0x86DD, 6 << 28, len(segment), TCP, 64) + addresses + segment


def test_a_link_adds_its_impairment_to_its_numbers_and_counts_what_it_loses() -> None:
    world = World(LinkSettings(rtt_us=20_000, impairment=Impairment.FIRST_DATA_INSPECTION))
    world.link.take_in(UP, frame(payload=100), 0)
    world.link.take_in(UP, frame(payload=100), 100 * MS)
    assert world.run() == [70, 110]
    policed = Link(
        Departures(),
        world.link._lanes[DOWN].outlet,
        world.link._lanes[UP].outlet,
        LinkSettings(impairment=Impairment.POLICER),
    )
    for _ in range(15):
        policed.take_in(DOWN, data(), 0)
    assert policed.report()["down_impaired"] == 2
