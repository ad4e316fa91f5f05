"""Scripted loss, and the client that delays its acknowledgements."""

from typing import Any

from workers.shaping.packets import ACK, FIN, PUSH, RST, SYN, parse_packet
from workers.shaping.script import Held, Script
from workers.shaping.settings import Direction, Drop
from workers.tests.shaping.frames import datagram, frame

UP, DOWN = Direction.UP, Direction.DOWN
SACK = b"\x01\x01\x05\x0a" + bytes(8)
MSS = 1448


def fates(script: Script, *frames: bytes, direction: Direction = DOWN) -> list[bool]:
    """Of each packet, whether it is dropped."""
    return [script.drops(packet, direction) for one in frames if (packet := parse_packet(one)) is not None]


def dropping(*drops: Drop) -> Script:
    return Script(drops, delays_acks=False)


def data(number: int = 0, **changes: Any) -> bytes:
    return frame(up=False, payload=MSS, sequence=number * MSS, **changes)


def test_exactly_the_nth_data_packet_is_dropped() -> None:
    script = dropping(Drop(direction=DOWN, nth=3))
    assert fates(script, data(0), frame(up=False), data(1), data(2), data(3)) == [False, False, False, True, False]


def test_the_packet_sent_again_arrives() -> None:
    script = dropping(Drop(direction=DOWN, nth=1))
    assert fates(script, data(0), data(0)) == [True, False]


def test_each_connection_is_counted_by_itself() -> None:
    script = dropping(Drop(direction=DOWN, nth=1))
    assert fates(script, data(port=1), data(port=2), data(port=1)) == [True, True, False]


def test_one_connection_may_be_chosen() -> None:
    script = dropping(Drop(direction=UP, nth=1, connection=2))
    frames = [frame(port=port, payload=10) for port in (1, 2, 3)]
    assert fates(script, *frames, direction=UP) == [False, True, False]


def test_a_port_used_again_is_another_connection() -> None:
    script = dropping(Drop(direction=UP, nth=1, least_bytes=0, connection=2))
    syn = frame(flags=SYN)
    assert fates(script, syn, syn, frame(), syn, direction=UP) == [False, False, False, True]


def test_a_syn_can_be_dropped_and_is_not_when_it_comes_again() -> None:
    script = dropping(Drop(direction=UP, nth=1, least_bytes=0))
    assert fates(script, frame(flags=SYN), frame(flags=SYN), direction=UP) == [True, False]


def test_what_is_too_small_goes_elsewhere_or_is_of_another_kind_does_not_count() -> None:
    script = dropping(Drop(direction=DOWN, nth=1, least_bytes=MSS, port=443))
    assert fates(script, frame(up=False, payload=100), datagram(up=False), data()) == [False, False, True]
    assert fates(dropping(Drop(direction=DOWN, nth=1, port=80)), data()) == [False]
    assert fates(dropping(Drop(direction=UP, nth=1)), data()) == [False]


def test_a_datagram_can_be_dropped() -> None:
    script = dropping(Drop(direction=DOWN, nth=1, protocol="udp"))
    assert fates(script, data(), datagram(up=False), datagram(up=False)) == [False, True, False]


def test_two_drops_of_one_connection_both_happen() -> None:
    script = dropping(Drop(direction=DOWN, nth=1), Drop(direction=DOWN, nth=3))
    assert fates(script, data(0), data(1), data(2), data(3)) == [True, False, True, False]


class Client:
    """A connection whose server has sent full segments, as the script sees it."""

    def __init__(self) -> None:
        self.script = Script((), delays_acks=True)
        self.down(data())
        # The acknowledgement of the SYN-ACK.
        assert self.ack(0) is None

    def down(self, one: bytes) -> None:
        packet = parse_packet(one)
        assert packet is not None
        assert self.script.hold(one, packet, DOWN) is None

    def ack(self, acknowledged: int, **changes: Any) -> Held | None:
        one = frame(acknowledged=acknowledged, **changes)
        packet = parse_packet(one)
        assert packet is not None
        return self.script.hold(one, packet, UP)


def test_an_acknowledgement_of_less_than_two_segments_waits() -> None:
    client = Client()
    held = client.ack(MSS)
    assert held is not None
    assert client.script.release(held) == held.frame


def test_two_full_segments_are_acknowledged_at_once() -> None:
    assert Client().ack(2 * MSS) is None


def test_a_second_segment_overtakes_the_acknowledgement_of_the_first() -> None:
    client = Client()
    held = client.ack(MSS)
    assert held is not None
    assert client.ack(2 * MSS) is None
    assert client.script.release(held) is None


def test_a_later_acknowledgement_that_waits_too_replaces_the_first() -> None:
    client = Client()
    first, second = client.ack(100), client.ack(200)
    assert first is not None
    assert second is not None
    assert client.script.release(first) is None
    assert client.script.release(second) == second.frame


def test_data_takes_the_acknowledgement_along() -> None:
    client = Client()
    held = client.ack(MSS)
    assert held is not None
    assert client.ack(MSS, payload=50, flags=ACK | PUSH) is None
    assert client.script.release(held) is None
    assert client.ack(2 * MSS) is not None


def test_what_is_said_twice_out_of_order_or_at_the_end_is_said_at_once() -> None:
    client = Client()
    held = client.ack(MSS)
    assert held is not None
    client.script.release(held)
    assert client.ack(MSS) is None
    assert client.ack(MSS + 1, options=SACK) is None
    assert client.ack(MSS + 2, flags=ACK | FIN) is None
    assert client.ack(MSS + 3, flags=RST) is None


def test_the_end_of_the_other_side_is_acknowledged_at_once() -> None:
    client = Client()
    client.down(frame(up=False, flags=ACK | FIN))
    assert client.ack(1) is None


def test_datagrams_never_wait() -> None:
    script = Script((), delays_acks=True)
    packet = parse_packet(datagram())
    assert packet is not None
    assert script.hold(datagram(), packet, UP) is None


def test_every_packet_of_a_size_may_be_dropped() -> None:
    script = dropping(Drop(direction=DOWN, nth=None, least_bytes=MSS))
    assert fates(script, data(0), frame(up=False, payload=MSS - 1), data(0)) == [True, False, True]
