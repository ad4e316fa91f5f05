"""Where the log's milliseconds and DevTools' microseconds meet."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.page.phases import devtools_spans, marks_of, refine, span_between
from workers.measurement.timing import Span


def test_devtools_fraction_is_taken_where_both_mean_the_same_instant() -> None:
    assert refine(100, 100_700) == 100_700
    assert refine(100, 99_950) == 99_950


def test_the_log_is_right_where_they_differ() -> None:
    assert refine(100, 140_000) == 100_000
    assert refine(100, None) == 100_000


def test_beside_an_instant_with_a_fraction_one_of_the_log_is_in_the_middle_of_its_millisecond() -> None:
    """It had left between 0 and 1 ms out: a lookup that a preconnect began seemed half a millisecond too long."""
    assert span_between((100, 140), {"b": 140_700}, "a", "b") == Span(start_us=100_500, end_us=140_700)
    assert span_between((100, 140), {"a": 100_200}, "a", "b") == Span(start_us=100_200, end_us=140_500)


def test_two_instants_of_the_log_keep_its_resolution() -> None:
    assert span_between((100, 140), {"a": 90_000, "b": 150_000}, "a", "b") == Span(start_us=100_000, end_us=140_000)


def test_what_began_and_ended_within_a_millisecond_keeps_its_order() -> None:
    assert span_between((100, 100), {"b": 100_200}, "a", "b") == Span(start_us=100_000, end_us=100_000)


@given(st.integers(0, 1000), st.integers(0, 50), st.integers(0, 1_100_000), st.integers(0, 1_100_000))
def test_a_refined_span_never_ends_before_it_starts_and_stays_near_the_log(
    begin: int, length: int, start: int, end: int
) -> None:
    span = span_between((begin, begin + length), {"a": start, "b": end}, "a", "b")
    assert span is not None
    assert abs(span.start_us - begin * 1000) <= 2000
    assert abs(span.end_us - (begin + length) * 1000) <= 2000


@pytest.mark.parametrize("timing", [None, {}, {"requestTime": None}, {"requestTime": "x"}])
def test_a_timing_that_says_nothing_has_no_marks(timing: dict[str, Any] | None) -> None:
    assert marks_of(timing) == {}


def test_minus_one_is_unknown_and_zero_is_an_instant() -> None:
    marks = marks_of({"requestTime": 1.0, "dnsStart": -1, "dnsEnd": -1, "connectStart": 0, "connectEnd": 1.5})
    assert marks == {"connectStart": 1_000_000, "connectEnd": 1_001_500}


def test_connect_ends_where_tls_begins() -> None:
    marks = {"dnsStart": 0, "dnsEnd": 0, "connectStart": 0, "sslStart": 10, "sslEnd": 30, "connectEnd": 30}
    spans = devtools_spans(marks, is_quic=False)
    opened = {"connect": Span(start_us=0, end_us=10), "tls": Span(start_us=10, end_us=30)}
    assert spans == opened | {"dns": Span(start_us=0, end_us=0)}


def test_on_the_way_through_a_proxy_nobody_knows_how_long_tcp_took() -> None:
    """Chrome tells no lookup then, and calls that, TCP, TLS with the proxy and the asking for a way all connecting."""
    tunnel = {"connectStart": 0, "sslStart": 431, "sslEnd": 536, "connectEnd": 536}
    assert devtools_spans(tunnel, is_quic=False) == {"tls": Span(start_us=431, end_us=536)}
    assert devtools_spans({"connectStart": 0, "connectEnd": 148}, is_quic=False) == {}


def test_an_answer_that_came_before_its_request_was_called_sent_was_waited_for_since_that_was_begun() -> None:
    """A busy Chrome notes the end of sending with HTTP/2 when it comes to it, at times after the first byte."""
    marks = {"sendStart": 10, "sendEnd": 45, "receiveHeadersStart": 40, "receiveHeadersEnd": 46}
    assert devtools_spans(marks, is_quic=False) == {"wait": Span(start_us=10, end_us=40)}
    at_once = marks | {"receiveHeadersStart": 45}
    spans = devtools_spans(at_once, is_quic=False)
    assert spans == {"send": Span(start_us=10, end_us=45), "wait": Span(start_us=45, end_us=45)}


def test_where_a_head_ends_long_after_its_first_byte_nobody_knows_whose_that_was() -> None:
    """DevTools tells of an early answer (103) to documents over HTTP/2 alone, and always counts its first byte."""
    marks = {"sendStart": 0, "sendEnd": 0, "receiveHeadersStart": 142_000, "receiveHeadersEnd": 443_000}
    assert devtools_spans(marks, is_quic=False) == {"send": Span(start_us=0, end_us=0)}
    at_once = marks | {"receiveHeadersStart": 441_000}
    assert devtools_spans(at_once, is_quic=False)["wait"] == Span(start_us=0, end_us=441_000)
