import itertools
from collections import Counter
from collections.abc import Iterable

from hypothesis import example, given

from backend.web.tests.measurements import document, span
from backend.web.tests.waterfall.strategies import timings
from backend.web.waterfall.segments import Segment, ahead_of, connection_segments, joined, segments_of
from workers.measurement.timing import Timing


@given(timings())
@example(Timing(start_us=-1, end_us=0))
def test_segments_add_up_to_the_total_and_never_overlap(timing: Timing) -> None:
    segments = segments_of(timing)
    assert sum(segment.duration_us for segment in segments) == timing.last_us - timing.start_us
    assert all(segment.duration_us > 0 for segment in segments)
    assert all(left.end_us == right.start_us for left, right in itertools.pairwise(segments))


@given(timings())
def test_what_was_done_ahead_lies_before_the_start(timing: Timing) -> None:
    assert all(segment.start_us < segment.end_us <= timing.start_us for segment in ahead_of(timing))


def test_a_document_has_its_phases_in_order() -> None:
    segments = segments_of(document().timing)
    assert [segment.phase for segment in segments] == ["dns", "connect", "tls", "wait", "wait", "download"]


def test_the_time_before_the_first_phase_is_queued_and_gaps_later_are_idle() -> None:
    timing = Timing(start_us=0, end_us=90_000, connect=span(10, 20), tls=span(40, 20), wait=span(60, 10))
    assert [(segment.phase, segment.duration_us) for segment in segments_of(timing)] == [
        ("queued", 10_000),
        ("connect", 20_000),
        ("idle", 10_000),
        ("tls", 20_000),
        ("wait", 10_000),
        ("idle", 20_000),
    ]


def test_where_spans_overlap_the_earlier_keeps_the_time() -> None:
    timing = Timing(start_us=0, end_us=50_000, wait=span(0, 30), download=span(20, 30))
    assert [(segment.phase, segment.duration_us) for segment in segments_of(timing)] == [
        ("wait", 30_000),
        ("download", 20_000),
    ]


@given(timings())
def test_without_seams_no_two_of_one_phase_touch_and_nothing_is_lost(timing: Timing) -> None:
    segments = segments_of(timing)
    seamless = list(joined(segments))
    assert all(
        (left.phase, left.end_us) != (right.phase, right.start_us) for left, right in itertools.pairwise(seamless)
    )
    assert _sums(seamless) == _sums(segments)


def test_sending_and_waiting_are_one_stretch_to_the_eye() -> None:
    assert [one.phase for one in joined(segments_of(document().timing))] == [
        "dns",
        "connect",
        "tls",
        "wait",
        "download",
    ]
    assert list(joined([])) == []


def test_a_connection_opened_in_advance_is_shown_but_not_counted() -> None:
    timing = Timing(start_us=50_000, end_us=80_000, connect=span(10, 20), tls=span(30, 25), wait=span(60, 20))
    assert [(segment.phase, segment.duration_us) for segment in ahead_of(timing)] == [
        ("connect", 20_000),
        ("tls", 20_000),
    ]
    assert [segment.phase for segment in segments_of(timing)] == ["tls", "idle", "wait"]


def test_an_exchange_that_never_ended_lasts_to_what_was_seen_last() -> None:
    timing = Timing(start_us=0, wait=span(5, 30))
    assert timing.last_us == 35_000
    assert [segment.phase for segment in segments_of(timing)] == ["queued", "wait"]


def test_an_exchange_of_no_length_has_no_segments() -> None:
    assert segments_of(Timing(start_us=5, end_us=5)) == ()


def test_a_connection_leaves_its_gaps_open() -> None:
    found = connection_segments(span(0, 5), None, span(20, 10))
    assert [(segment.phase, segment.start_us) for segment in found] == [("dns", 0), ("tls", 20_000)]


def _sums(segments: Iterable[Segment]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for segment in segments:
        sums[segment.phase] += segment.duration_us
    return sums
