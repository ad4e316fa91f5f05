"""Timings as hostile as the contract lets them be: spans in any order, overlapping, early, without an end."""

from hypothesis import strategies as st

from workers.measurement.timing import Span, Timing

INSTANTS = st.integers(min_value=-1_000_000, max_value=120_000_000)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    first, second = draw(INSTANTS), draw(INSTANTS)
    return Span(start_us=min(first, second), end_us=max(first, second))


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    maybe = st.none() | spans()
    start_us = draw(INSTANTS)
    return Timing(
        start_us=start_us,
        end_us=draw(st.none() | st.integers(min_value=start_us, max_value=120_000_000)),
        dns=draw(maybe),
        connect=draw(maybe),
        tls=draw(maybe),
        send=draw(maybe),
        wait=draw(maybe),
        download=draw(maybe),
    )
