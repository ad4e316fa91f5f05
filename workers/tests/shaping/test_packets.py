"""Headers of packets, as a link reads them."""

import struct
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from workers.shaping.packets import ACK, FIN, PUSH, SYN, TCP, UDP, parse_packet
from workers.tests.shaping.frames import CLIENT, SERVER, datagram, frame

SACK = b"\x01\x01\x05\x0a" + bytes(8)


def test_a_segment_is_read_with_its_ends_numbers_and_payload() -> None:
    packet = parse_packet(frame(flags=ACK | PUSH, payload=100, sequence=7, acknowledged=9))
    assert packet is not None
    assert (packet.protocol, packet.source, packet.destination) == (TCP, (CLIENT, 40_000), (SERVER, 443))
    assert (packet.sequence, packet.acknowledged, packet.flags, packet.payload_bytes) == (7, 9, ACK | PUSH, 100)


def test_padding_of_a_short_frame_is_no_payload() -> None:
    packet = parse_packet(frame() + bytes(6))
    assert packet is not None
    assert packet.payload_bytes == 0


def test_only_an_acknowledgement_and_nothing_else_is_a_pure_one() -> None:
    def pure(**changes: Any) -> bool:
        packet = parse_packet(frame(**changes))
        assert packet is not None
        return packet.pure_ack

    assert pure()
    assert not pure(flags=ACK | SYN)
    assert not pure(flags=ACK | FIN)
    assert not pure(payload=1)


def test_a_selective_acknowledgement_is_found_among_the_options() -> None:
    plain, selective = parse_packet(frame(options=b"\x08\x0a" + bytes(8))), parse_packet(frame(options=SACK))
    assert plain is not None
    assert not plain.selective
    assert selective is not None
    assert selective.selective


def test_a_datagram_is_read() -> None:
    packet = parse_packet(datagram(payload=30))
    assert packet is not None
    assert (packet.protocol, packet.destination, packet.payload_bytes) == (UDP, (SERVER, 53), 30)


def test_a_segment_of_version_6_is_read() -> None:
    ends = bytes(15) + b"\x02" + bytes(15) + b"\x01"
    segment = struct.pack("!HHIIBB", 40_000, 443, 1, 2, 5 << 4, ACK) + bytes(6) + bytes(50)
    header = struct.pack("!IHBB", 6 << 28, len(segment), TCP, 64)
    packet = parse_packet(bytes(12) + b"\x86\xdd" + header + ends + segment)
    assert packet is not None
    assert (packet.source[1], packet.payload_bytes) == (40_000, 50)


@given(st.binary(max_size=80), st.sampled_from([b"\x08\x00", b"\x86\xdd", b"\x08\x06"]))
def test_garbage_is_read_as_nothing_or_a_packet_but_never_fails(rest: bytes, kind: bytes) -> None:
    parse_packet(bytes(12) + kind + rest)
    parse_packet(rest)


@given(st.binary(max_size=40))
@example(b"\x01\x02\x00\x02")
def test_garbage_among_the_options_never_fails(options: bytes) -> None:
    assert parse_packet(frame(options=options)) is not None
