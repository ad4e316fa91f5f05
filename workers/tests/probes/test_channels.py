"""Finding TLS records in the bytes from the wire."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.failure import FailureKind
from workers.measurement.target import parse_target
from workers.probes.faults import ProbeError
from workers.probes.recorder import HopRecorder
from workers.probes.records import RecordFramer


def make_framer() -> tuple[RecordFramer, HopRecorder]:
    recorder = HopRecorder(parse_target("https://example.test/"))
    return RecordFramer(recorder), recorder


def record(content_type: int, payload: bytes) -> bytes:
    return bytes((content_type, 3, 3)) + len(payload).to_bytes(2) + payload


@given(
    st.lists(st.tuples(st.integers(20, 23), st.binary(max_size=40)), min_size=1, max_size=8),
    st.lists(st.integers(1, 17), min_size=1, max_size=60),
)
def test_records_are_found_however_the_bytes_come(records: list[tuple[int, bytes]], sizes: list[int]) -> None:
    framer, recorder = make_framer()
    raw = b"".join(record(*each) for each in records)
    starts: dict[int, int] = {}
    at = turn = 0
    while at < len(raw):
        size = sizes[turn % len(sizes)]
        starts |= dict.fromkeys(range(at, at + size), turn)
        framer.feed(raw[at : at + size], turn)
        at, turn = at + size, turn + 1
    assert [(seen.content_type, seen.length) for seen in recorder.records] == [
        (kind, len(body)) for kind, body in records
    ]
    offset = 0
    for seen, (_, payload) in zip(recorder.records, records, strict=True):
        assert seen.read == starts[offset]
        offset += 5 + len(payload)


def test_what_is_wanted_leads_to_the_end_of_a_header_or_record() -> None:
    framer, _ = make_framer()
    assert (framer.wanted, framer.at_edge) == (5, True)
    framer.feed(record(23, b"x" * 9)[:3], 0)
    assert (framer.wanted, framer.at_edge) == (2, False)
    framer.feed(record(23, b"x" * 9)[3:5], 1)
    assert (framer.wanted, framer.at_edge) == (9, False)
    framer.feed(b"x" * 9, 2)
    assert (framer.wanted, framer.at_edge) == (5, True)


@pytest.mark.parametrize("start", [b"HTTP/1.1 400", b"\x16\x02\x00", b"\x00", b"SSH-2.0"])
def test_what_is_no_record_is_told_at_its_first_bytes(start: bytes) -> None:
    framer, _ = make_framer()
    with pytest.raises(ProbeError) as caught:
        framer.feed(start, 0)
    assert caught.value.failure.kind is FailureKind.TLS_NOT_SPOKEN


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=20))
def test_no_bytes_break_the_framer(parts: list[bytes]) -> None:
    framer, recorder = make_framer()
    with suppress(ProbeError):
        for turn, part in enumerate(parts):
            framer.feed(part, turn)
            assert 0 < framer.wanted <= 65535
    assert len(recorder.record_ends) <= len(recorder.records) <= sum(map(len, parts)) // 5 + 1


def test_empty_records_without_end_take_no_more_memory_than_others() -> None:
    framer, recorder = make_framer()
    for turn in range(100):
        assert framer.feed(record(23, b"") * 1000, turn)
    assert len(recorder.records) == len(recorder.record_ends) == 512
    assert recorder.truncated


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8), st.lists(st.integers(1, 17), min_size=1, max_size=60))
def test_the_end_of_each_record_is_known_by_the_read_that_brought_it(payloads: list[bytes], sizes: list[int]) -> None:
    framer, recorder = make_framer()
    raw = b"".join(record(23, payload) for payload in payloads)
    ends: dict[int, int] = {}
    at = turn = 0
    while at < len(raw):
        size = sizes[turn % len(sizes)]
        ends |= dict.fromkeys(range(at, at + size), turn)
        framer.feed(raw[at : at + size], turn)
        at, turn = at + size, turn + 1
    offset = 0
    for seen, payload in zip(recorder.record_ends, payloads, strict=True):
        offset += 5 + len(payload)
        assert seen == ends[offset - 1]
