"""One link on a made-up clock: when each packet leaves."""

import errno
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.profile import Profile
from workers.shaping.link import Departures, Link
from workers.shaping.settings import Direction, Drop, Impairment, LinkSettings, Overtaken
from workers.tests.shaping.frames import frame

UP, DOWN = Direction.UP, Direction.DOWN
MS = 1_000_000


class World:
    """A link with its clock; `out` is what left, by direction and instant."""

    def __init__(self, settings: LinkSettings) -> None:
        self.departures = Departures()
        self.now_ns = 0
        self.out: list[tuple[int, Direction, bytes]] = []
        self.link = Link(self.departures, _Outlet(self, DOWN), _Outlet(self, UP), settings)

    def run(self, until_ns: int = 10_000 * MS) -> list[int]:
        """When each packet left, in ms."""
        while self.departures.next_ns is not None and self.departures.next_ns <= until_ns:
            self.now_ns = self.departures.next_ns
            self.departures.leave(self.now_ns)
        return [at_ns // MS for at_ns, _, _ in self.out]


class _Outlet:
    def __init__(self, world: World, direction: Direction) -> None:
        self.world, self.direction = world, direction

    def send(self, what: bytes, /) -> int:
        self.world.out.append((self.world.now_ns, self.direction, what))
        return len(what)


class _Broken:
    def send(self, what: bytes, /) -> int:
        raise OSError(errno.ENETDOWN, "down")


def full(**changes: Any) -> bytes:
    """A packet of 1500 bytes as IP counts them."""
    return frame(up=False, payload=1460, **changes)


def test_a_round_trip_takes_what_was_asked_for() -> None:
    world = World(LinkSettings(rtt_us=81_001))
    world.link.take_in(UP, frame(), 0)
    up = world.run()
    world.link.take_in(DOWN, full(), world.now_ns)
    world.run()
    assert up == [40]
    assert world.now_ns == 81_001_000
    assert [direction for _, direction, _ in world.out] == [UP, DOWN]


def test_packets_leave_one_after_the_other_at_the_rate() -> None:
    world = World(LinkSettings(rtt_us=100_000, down_kbit_s=1200))
    for _ in range(3):
        world.link.take_in(DOWN, full(), 0)
    assert world.run() == [60, 70, 80]


def test_the_line_is_free_again_after_a_pause() -> None:
    world = World(LinkSettings(down_kbit_s=1200))
    world.link.take_in(DOWN, full(), 0)
    world.link.take_in(DOWN, full(), 500 * MS)
    assert world.run() == [10, 510]


def test_no_packet_overtakes_another() -> None:
    """Though its stamp says that it came a little earlier."""
    world = World(LinkSettings(rtt_us=80_000))
    first, second = full(), frame(up=False, payload=100)
    world.link.take_in(DOWN, first, 5 * MS)
    world.link.take_in(DOWN, second, 5 * MS - 2000)
    assert world.run() == [45, 45]
    assert [what for _, _, what in world.out] == [first, second]


def test_each_direction_has_its_own_rate() -> None:
    world = World(LinkSettings.of_profile(Profile(name="x", down_kbit_s=12_000, up_kbit_s=1200)))
    world.link.take_in(UP, full(), 0)
    world.link.take_in(DOWN, full(), 0)
    world.run()
    assert [(at_ns // MS, direction) for at_ns, direction, _ in world.out] == [(1, DOWN), (10, UP)]


def test_what_does_not_fit_into_the_queue_is_dropped_at_its_end() -> None:
    world = World(LinkSettings(down_kbit_s=1200, queue_bytes=4500))
    for port in range(5):
        world.link.take_in(DOWN, full(port=port), 0)
    assert world.run() == [10, 20, 30]
    assert world.link.report()["down_overflowed"] == 2


def test_the_same_seed_loses_the_same_packets() -> None:
    def lost(seed: int) -> list[int]:
        world = World(LinkSettings(loss_ppm=100_000, seed=seed))
        for number in range(2000):
            world.link.take_in(DOWN, frame(sequence=number), number * MS)
        return world.run()

    assert lost(1) == lost(1) != lost(2)
    assert 1700 < len(lost(1)) < 1900


def test_a_scripted_packet_is_lost_and_no_other() -> None:
    world = World(LinkSettings(drops=(Drop(direction=DOWN, nth=2),)))
    frames = [full(sequence=number) for number in range(3)]
    for one in frames:
        world.link.take_in(DOWN, one, 0)
    world.run()
    assert [what for _, _, what in world.out] == [frames[0], frames[2]]
    assert world.link.report()["down_dropped"] == 1


def test_a_delayed_acknowledgement_leaves_after_its_delay_and_the_way() -> None:
    world = World(LinkSettings(rtt_us=20_000, delayed_ack_us=200_000))
    world.link.take_in(DOWN, full(), 0)
    world.link.take_in(UP, frame(acknowledged=0), 0)
    world.link.take_in(UP, frame(acknowledged=700), 0)
    world.run()
    assert [(at_ns // MS, direction) for at_ns, direction, _ in world.out] == [(10, DOWN), (10, UP), (210, UP)]


def test_other_numbers_hold_for_what_comes_after() -> None:
    world = World(LinkSettings(rtt_us=100_000))
    world.link.take_in(DOWN, full(), 0)
    world.link.change(LinkSettings(rtt_us=20_000))
    world.link.take_in(DOWN, full(), 0)
    assert world.run() == [10, 50]


def test_talk_about_the_network_itself_does_not_cross() -> None:
    world = World(LinkSettings())
    world.link.take_in(UP, b"\x33\x33" + frame()[2:], 0)
    assert world.run() == []


def test_an_end_that_is_gone_costs_its_packets_and_nothing_else() -> None:
    departures = Departures()
    link = Link(departures, _Broken(), _Broken(), LinkSettings())
    link.take_in(UP, frame(), 0)
    departures.leave(1)
    assert link.report()["refused"] == 1


def test_a_closed_link_lets_nothing_out() -> None:
    world = World(LinkSettings(rtt_us=100_000))
    world.link.take_in(UP, frame(), 0)
    world.link.close()
    assert world.run() == []


def test_lateness_is_reported() -> None:
    world = World(LinkSettings(rtt_us=0))
    world.link.take_in(UP, frame(), 0)
    world.departures.leave(3 * MS)
    assert world.link.report()["late_max_us"] == 3000


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 1460)), max_size=60), st.integers(100, 20_000))
def test_never_more_than_the_rate_whatever_comes(arrivals: list[tuple[int, int]], kbit_s: int) -> None:
    world = World(LinkSettings(down_kbit_s=kbit_s))
    at_ms = 0
    for pause_ms, payload in arrivals:
        at_ms += pause_ms
        world.link.take_in(DOWN, frame(up=False, payload=payload), at_ms * MS)
    world.run(10**15)
    sizes = [len(what) - 14 for _, _, what in world.out]
    for first in range(len(sizes)):
        # Between two packets that left, what came after the first one took its time on the line.
        for last in range(first + 1, len(sizes)):
            bits = 8 * sum(sizes[first + 1 : last + 1])
            assert (world.out[last][0] - world.out[first][0]) * kbit_s >= (bits - 8) * MS - kbit_s * len(sizes)


def test_settings_survive_the_way_to_the_process() -> None:
    settings = LinkSettings(rtt_us=1, drops=(Drop(direction=DOWN, nth=2, port=80),), impairment=Impairment.SHAPER)
    assert LinkSettings.from_json(settings.to_json()) == settings


def test_ipv6_may_go_another_way_and_delays_nobody() -> None:
    world = World(LinkSettings(rtt_us=20_000, rtt6_us=80_000))
    six = full()[:12] + b"\x86\xdd" + full()[14:]
    world.link.take_in(DOWN, six, 0)
    world.link.take_in(DOWN, full(), 0)
    assert world.run() == [10, 40]


def test_every_so_manieth_packet_with_data_is_overtaken() -> None:
    late = Overtaken(direction=DOWN, every=2, by_us=5000)
    world = World(LinkSettings(rtt_us=20_000, overtaken=late))
    for number in range(4):
        world.link.take_in(DOWN, full(), number * MS)
        world.link.take_in(DOWN, frame(up=False), number * MS)
    assert world.run() == [10, 10, 11, 12, 12, 13, 16, 18]
