"""HTTP/2 of servers that break off, overdo it or make no sense: typed failures, bounded memory, nothing made up."""

from contextlib import suppress

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, GoAwayFrame, HeadersFrame, PingFrame, PushPromiseFrame
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.failure import FailureKind, Stage
from workers.probes.faults import ProbeError
from workers.probes.http1 import MAX_HEAD_BYTES
from workers.tests.probes.http2_talk import LIMIT, SETTINGS, Talk, fault, head


def test_a_server_that_leaves_without_an_answer_is_told() -> None:
    refused = fault(GoAwayFrame(0, last_stream_id=0).serialize())
    assert refused.failure.kind is FailureKind.CONNECTION_RESET
    calm = fault(head() + GoAwayFrame(0, last_stream_id=1, error_code=ErrorCodes.ENHANCE_YOUR_CALM).serialize())
    assert calm.failure.kind is FailureKind.DOWNLOAD_INCOMPLETE
    assert "ENHANCE_YOUR_CALM" in calm.failure.detail
    odd = fault(GoAwayFrame(0, last_stream_id=1, error_code=4242).serialize())
    assert "4242" in odd.failure.detail


@pytest.mark.parametrize(("begun", "kind"), [(False, "connection_reset"), (True, "download_incomplete")])
def test_a_stream_that_is_reset_is_told_with_its_reason(begun: bool, kind: str) -> None:
    talk = Talk()
    if begun:
        talk.server.send_headers(1, [(":status", "200")])
    talk.server.reset_stream(1, ErrorCodes.HTTP_1_1_REQUIRED)
    with pytest.raises(ProbeError) as caught:
        talk.deliver()
    assert caught.value.failure.kind == kind
    assert "HTTP_1_1_REQUIRED" in caught.value.failure.detail


def test_a_connection_that_closes_too_early_is_told() -> None:
    assert fault(b"", close=True).failure.kind is FailureKind.CONNECTION_RESET
    assert fault(b"", greeting=b"", close=True).failure.kind is FailureKind.CONNECTION_RESET
    assert fault(head()[:-1], close=True).failure.kind is FailureKind.RESPONSE_INVALID
    assert fault(head(), close=True).failure.kind is FailureKind.DOWNLOAD_INCOMPLETE


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"garbage that is no frame",
        PingFrame(0).serialize(),
        b"\x00\x00\x00\x04\x01\x00\x00\x00\x00",
    ],
)
def test_what_does_not_begin_with_settings_is_no_http2(data: bytes) -> None:
    assert fault(data, greeting=b"").failure.kind is FailureKind.RESPONSE_INVALID


def test_a_frame_larger_than_allowed_is_refused_by_its_header() -> None:
    refused = fault(b"\x00\x40\x01\x00\x00\x00\x00\x00\x01")
    assert refused.failure.kind is FailureKind.RESPONSE_INVALID
    assert "16385" in refused.failure.detail


def test_pushes_are_refused() -> None:
    assert fault(PushPromiseFrame(1, promised_stream_id=2).serialize()).failure.kind is FailureKind.RESPONSE_INVALID


@pytest.mark.parametrize("frame", [PingFrame(0), DataFrame(1), Frame])
def test_floods_of_frames_that_bring_nothing_are_left(frame: Frame | type) -> None:
    raw = SETTINGS if isinstance(frame, type) else frame.serialize()
    before = head() if isinstance(frame, DataFrame) else b""
    assert "flood" in fault(before + raw * 300).failure.detail


def test_headers_that_never_end_are_left() -> None:
    begun = HeadersFrame(1, b"").serialize()
    assert fault(begun + ContinuationFrame(1, b"").serialize() * 70).failure.kind is FailureKind.RESPONSE_INVALID
    large = ContinuationFrame(1, b"x" * 16000).serialize()
    assert "64 KiB" in fault(begun + large * 5).failure.detail


def test_a_small_block_that_unfolds_into_many_headers_is_left() -> None:
    """The HPACK bomb: one large header is put into the table, then named by one byte each."""
    first = b"\x88" + b"\x40\x01a" + b"\x7f\xa1\x1d" + b"x" * 3872
    block = first + b"\xbe" * 10_000
    assert len(block) < MAX_HEAD_BYTES
    bomb = HeadersFrame(1, block, flags=["END_HEADERS"]).serialize()
    assert "64 KiB" in fault(bomb).failure.detail


def test_bodies_over_the_limit_are_refused_by_what_they_say_and_by_what_they_are() -> None:
    said = fault(head(("content-length", str(LIMIT + 1))))
    assert said.failure.kind is FailureKind.RESPONSE_TOO_LARGE
    sent = fault(head() + DataFrame(1, b"x" * 16384).serialize() * 13)
    assert sent.failure.kind is FailureKind.RESPONSE_TOO_LARGE


def test_a_body_of_another_length_than_it_says_is_no_answer() -> None:
    frames = head(("content-length", "3")) + DataFrame(1, b"hello", flags=["END_STREAM"]).serialize()
    failed = fault(frames).failure
    assert (failed.kind, failed.stage) == (FailureKind.RESPONSE_INVALID, Stage.DOWNLOAD)


@pytest.mark.parametrize("status", ["99", "1000", "abc", "101", "", "2 0"])
def test_a_status_that_is_none_is_no_answer(status: str) -> None:
    assert fault(head(status=status)).failure.kind is FailureKind.RESPONSE_INVALID


def test_a_head_without_status_is_no_answer() -> None:
    block = HeadersFrame(1, b"\x40\x01a\x01b", flags=["END_HEADERS"]).serialize()
    assert fault(block).failure.kind is FailureKind.RESPONSE_INVALID


def test_control_characters_in_headers_are_made_visible() -> None:
    talk = Talk()
    talk.client.feed(SETTINGS + head(("x-odd", "a\x7fb"), end=True))
    assert talk.client.head is not None
    assert talk.client.head.first("x-odd") == "a\ufffdb"


FRAMES = st.tuples(st.integers(0, 40), st.integers(0, 11), st.integers(0, 255), st.sampled_from([0, 1, 2, 3]))


@given(st.lists(st.tuples(FRAMES, st.binary(max_size=40)), max_size=12), st.integers(1, 64))
def test_no_frames_break_the_reader(frames: list[tuple[tuple[int, int, int, int], bytes]], step: int) -> None:
    talk = Talk()
    data = SETTINGS
    for (_, kind, flags, stream), payload in frames:
        data += len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload
    with suppress(ProbeError):
        for at in range(0, len(data), step):
            talk.client.feed(data[at : at + step])
            talk.client.outgoing()
        talk.client.close()


def test_a_word_that_makes_no_sense_between_two_answers_is_a_fault() -> None:
    talk = Talk()
    talk.answer(b"bye")
    talk.deliver()
    with pytest.raises(ProbeError) as caught:
        talk.client.hear(b"\xff" * 9)
    assert caught.value.failure.kind is FailureKind.RESPONSE_INVALID


def test_a_body_of_crumbs_is_no_answer_and_one_of_small_parts_is() -> None:
    parts = DataFrame(1, data=b"x" * 20).serialize() * 3000
    talk = Talk()
    talk.client.feed(SETTINGS + head() + parts)
    assert talk.client.body_bytes == 60_000
    failed = fault(head() + DataFrame(1, data=b"x").serialize() * 5000)
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.RESPONSE_INVALID, Stage.DOWNLOAD)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=6), st.integers(1, 100))
def test_no_damage_to_an_answer_breaks_the_reader(at: int, damage: bytes, step: int) -> None:
    talk = Talk()
    talk.server.send_headers(1, [(":status", "103"), ("link", "</a.css>; rel=preload")])
    talk.answer(b"hello " * 20, headers=(("content-length", "120"), ("server", "x"), ("cache-control", "no-store")))
    data = talk.server.data_to_send()
    damaged = data[:at] + damage + data[at + len(damage) :]
    with suppress(ProbeError):
        for start in range(0, len(damaged), step):
            talk.client.feed(damaged[start : start + step])
            talk.client.outgoing()
        talk.client.close()
    assert len(talk.body) <= len(damaged)
