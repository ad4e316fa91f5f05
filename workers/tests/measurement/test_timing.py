"""Spans and the phases that follow from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.timing import PHASES, Phases, Span, Timing, answer_phases, document_phases, phases_of
from workers.tests.builders import build_probe, span

LENGTHS = st.lists(st.none() | st.integers(0, 10_000_000), min_size=6, max_size=6)


def test_a_span_knows_how_long_it_was() -> None:
    assert span(1.5, 4).duration_us == 2_500
    assert span(2, 2).duration_us == 0


def test_a_span_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match=r"cannot end \(1 us\) before it starts \(2 us\)"):
        Span(start_us=2, end_us=1)


def test_an_exchange_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match=r"cannot end \(1 us\) before it starts \(2 us\)"):
        Timing(start_us=2, end_us=1)


def test_what_was_not_seen_is_none_and_what_took_no_time_is_zero() -> None:
    phases = phases_of(Timing(start_us=0, dns=span(0, 0)))
    assert phases == Phases(dns_us=0)


def test_the_first_byte_is_counted_from_the_start_of_the_request() -> None:
    redirect, answer = build_probe().hops
    assert phases_of(redirect.timing).ttfb_us == 100_250
    assert phases_of(answer.timing).ttfb_us == 108_000
    assert phases_of(answer.timing).total_us == 113_000


def test_an_exchange_that_never_finished_has_no_total() -> None:
    phases = phases_of(Timing(start_us=0, wait=span(1, 2)))
    assert phases.total_us is None
    assert phases.ttfb_us == 2_000


@given(st.integers(0, 10**9), LENGTHS)
def test_phases_without_gaps_add_up_to_the_total(start_us: int, lengths: list[int | None]) -> None:
    spans: dict[str, Span] = {}
    at_us = start_us
    for phase, length_us in zip(PHASES, lengths, strict=True):
        if length_us is not None:
            spans[phase] = Span(start_us=at_us, end_us=at_us + length_us)
            at_us += length_us
    phases = phases_of(Timing(start_us=start_us, end_us=at_us, **spans))
    assert phases.total_us == sum(length for length in lengths if length is not None)
    assert [getattr(phases, f"{phase}_us") for phase in PHASES] == lengths


def test_a_pages_document_counts_from_navigation_start() -> None:
    """A redirect took the first 100 ms, which are in its first byte and in no phase."""
    document = Timing(
        start_us=100_000,
        end_us=190_000,
        send=Span(start_us=110_000, end_us=111_000),
        wait=Span(start_us=111_000, end_us=180_000),
    )
    phases = document_phases(document)
    assert (phases.ttfb_us, phases.total_us, phases.wait_us) == (180_000, 190_000, 69_000)
    assert phases_of(document).ttfb_us == 80_000


def test_an_answer_behind_redirects_counts_from_the_first_of_them() -> None:
    redirect = Timing(start_us=2_000, end_us=80_000, wait=Span(start_us=50_000, end_us=80_000))
    answer = Timing(start_us=80_000, end_us=140_000, wait=Span(start_us=90_000, end_us=130_000))
    phases = answer_phases([redirect, answer])
    assert (phases.ttfb_us, phases.total_us, phases.wait_us) == (128_000, 138_000, 40_000)
    assert answer_phases([answer]) == phases_of(answer)
    assert answer_phases([]) == Phases()


def test_what_was_not_seen_behind_redirects_stays_unknown() -> None:
    unanswered = Timing(start_us=80_000)
    phases = answer_phases([Timing(start_us=0, end_us=80_000), unanswered])
    assert (phases.ttfb_us, phases.total_us) == (None, None)
