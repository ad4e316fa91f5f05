"""HTTP/1.1 answers: the usual, the odd and the hostile, in pieces of any size."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.failure import FailureKind, Stage
from workers.probes.faults import ProbeError
from workers.probes.http1 import MAX_HEAD_BYTES, ResponseReader, look_away, printable

LIMIT = 1000


class Reading:
    """A reader and the body that came out of it."""

    def __init__(self) -> None:
        self.body = b""
        self.reader = ResponseReader(max_body_bytes=LIMIT, on_body=self.take)

    def take(self, data: bytes) -> None:
        self.body += data


def read(*parts: bytes, close: bool = False) -> Reading:
    reading = Reading()
    for part in parts:
        reading.reader.feed(part)
    if close:
        reading.reader.close()
    return reading


def fault(*parts: bytes, close: bool = False) -> ProbeError:
    with pytest.raises(ProbeError) as caught:
        read(*parts, close=close)
    return caught.value


def test_a_body_of_known_length_ends_by_itself() -> None:
    reading = read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    assert reading.reader.complete
    assert reading.body == b"hello"
    assert reading.reader.head is not None
    assert reading.reader.head.size_bytes == 38


def test_what_follows_a_complete_body_is_left_alone() -> None:
    reading = read(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello", b"more")
    assert reading.reader.complete
    assert reading.body == b"he"


def test_a_body_without_length_ends_with_the_connection() -> None:
    reading = read(b"HTTP/1.0 200 OK\r\n\r\nhel", b"lo")
    assert not reading.reader.complete
    reading.reader.close()
    assert reading.reader.complete
    assert reading.body == b"hello"


def test_chunks_are_put_together() -> None:
    raw = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n"
    )
    reading = read(raw)
    assert reading.reader.complete
    assert reading.body == b"hello world"


def test_a_chunked_body_counts_before_a_length_beside_it() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    assert read(raw).body == b"hello"


@pytest.mark.parametrize("status", [204, 304])
def test_some_statuses_have_no_body_whatever_their_headers_say(status: int) -> None:
    assert read(f"HTTP/1.1 {status} X\r\nContent-Length: 9\r\n\r\n".encode()).reader.complete


def test_interim_answers_are_passed_over() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    reading = read(interim + interim + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert reading.reader.head is not None
    assert reading.reader.head.status == 200
    assert reading.reader.head.size_bytes == 2 * len(interim) + 38


def test_interim_answers_without_end_are_refused() -> None:
    assert "interim" in fault(b"HTTP/1.1 100 Continue\r\n\r\n" * 50).failure.detail


def test_lines_may_end_with_a_line_feed_alone_and_fold() -> None:
    reading = read(b"HTTP/1.1 200\nX-Long: one\n two\nnonsense\nContent-Length: 0\n\n")
    assert reading.reader.head is not None
    assert reading.reader.head.values("x-long") == ["one two"]
    assert len(reading.reader.head.headers) == 2


@pytest.mark.parametrize(
    ("line", "minor"), [(b"http/1.1 200 ok", 1), (b"Http/1.0 200", 0), (b"HTTP/1.2 200 OK", 1), (b"HTTP/1.9 200 ", 1)]
)
def test_a_status_line_may_be_in_small_letters_and_of_a_later_minor_version(line: bytes, minor: int) -> None:
    """Browsers take both; the second is what RFC 9110 (2.5) asks for."""
    head = read(*(line + b"\r\nContent-Length: 0\r\n\r\n").splitlines(keepends=True)).reader.head
    assert head is not None
    assert (head.status, head.minor) == (200, minor)


def test_values_in_any_encoding_survive() -> None:
    reading = read(
        b"HTTP/1.1 200 OK\r\nX-A: caf\xe9\r\nX-B: caf\xc3\xa9\r\nX-C: a\x00\x1b[31m\r\nContent-Length: 0\r\n\r\n"
    )
    assert reading.reader.head is not None
    assert reading.reader.head.first("x-a") == "café"
    assert reading.reader.head.first("x-b") == "café"
    assert reading.reader.head.first("x-c") == "a\ufffd\ufffd[31m"


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"<html>hello</html>",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 99 Low\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1e9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
    ],
)
def test_what_is_no_http_is_said_at_once(raw: bytes) -> None:
    assert fault(raw).failure.kind is FailureKind.RESPONSE_INVALID


def test_two_equal_lengths_are_one() -> None:
    assert read(b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nab").reader.complete


def test_a_head_without_end_is_refused() -> None:
    endless = (b"X-Header: " + b"a" * 1000 + b"\r\n",) * 100
    assert "64 KiB" in fault(b"HTTP/1.1 200 OK\r\n", *endless).failure.detail
    whole = b"HTTP/1.1 200 OK\r\nX: " + b"a" * MAX_HEAD_BYTES + b"\r\n\r\n"
    assert "64 KiB" in fault(whole).failure.detail


def test_a_trailer_without_end_is_refused() -> None:
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    assert "trailer" in fault(start, *((b"X: " + b"a" * 1000 + b"\r\n",) * 100)).failure.detail


def test_a_body_over_the_limit_is_refused_by_its_length_or_by_what_comes() -> None:
    announced = fault(b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n")
    came = fault(b"HTTP/1.1 200 OK\r\n\r\n", *((b"a" * 100,) * 11))
    assert announced.failure.kind is came.failure.kind is FailureKind.RESPONSE_TOO_LARGE


def test_a_body_of_crumbs_is_no_answer_and_one_of_small_parts_is() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for chunk, count in ((b"1\r\nx\r\n", 50_000), (b"64\r\n" + b"x" * 100 + b"\r\n", 90_000)):
        reader = ResponseReader(max_body_bytes=10_000_000, on_body=look_away)
        reader.feed(head + chunk * count + b"0\r\n\r\n")
        assert reader.complete
    reader = ResponseReader(max_body_bytes=10_000_000, on_body=look_away)
    with pytest.raises(ProbeError) as caught:
        reader.feed(head + b"1\r\nx\r\n" * 90_000)
    assert (caught.value.failure.kind, caught.value.failure.stage) == (FailureKind.RESPONSE_INVALID, Stage.DOWNLOAD)


def test_an_early_end_is_told_by_where_it_came() -> None:
    assert fault(close=True).failure.kind is FailureKind.CONNECTION_RESET
    assert fault(b"HTTP/1.1 200", close=True).failure.kind is FailureKind.RESPONSE_INVALID
    cut = fault(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", close=True).failure
    assert cut.kind is FailureKind.DOWNLOAD_INCOMPLETE
    assert cut.stage is Stage.DOWNLOAD
    assert cut.detail.endswith("after 3 bytes")
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    assert fault(chunked, close=True).failure.kind is FailureKind.DOWNLOAD_INCOMPLETE


@st.composite
def chunked_answers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    chunks = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=8))
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n", b"".join(chunks)


@given(chunked_answers(), st.lists(st.integers(1, 20), min_size=1, max_size=50))
def test_the_pieces_in_which_an_answer_comes_do_not_matter(answer: tuple[bytes, bytes], sizes: list[int]) -> None:
    raw, body = answer
    reading, at, turn = Reading(), 0, 0
    while at < len(raw):
        size = sizes[turn % len(sizes)]
        reading.reader.feed(raw[at : at + size])
        at, turn = at + size, turn + 1
    assert reading.reader.complete
    assert reading.body == body


@given(st.lists(st.binary(max_size=60), max_size=8), st.booleans())
def test_no_bytes_break_the_reader(parts: list[bytes], valid_start: bool) -> None:
    start = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"] * valid_start
    with suppress(ProbeError):
        assert read(*start, *parts, close=True).reader.complete


@given(st.binary(max_size=200))
def test_any_bytes_can_be_shown(raw: bytes) -> None:
    text = printable(raw)
    assert all(char.isprintable() or char in "\t\xa0\xad" or ord(char) > 0xA0 for char in text)
    text.encode("utf-8")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ],
)
def test_a_connection_is_kept_unless_more_was_said_than_the_answer_however_it_came(answer: bytes) -> None:
    assert read(answer).reader.keeps_connection
    assert read(answer, b"").reader.keeps_connection
    for cut in range(1, len(answer) + 1):
        assert not read(answer[:cut], answer[cut:] + b"H").reader.keeps_connection
    assert not read(answer, b"HTTP/1.1 200 OK").reader.keeps_connection
