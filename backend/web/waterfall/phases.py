"""The phases of one exchange as big bars, with the network round trips each of them took."""

from dataclasses import dataclass

from backend.web.units import duration, parts_text, total_text
from backend.web.waterfall.axis import axis_of
from backend.web.waterfall.rows import Bar, bars_of
from backend.web.waterfall.segments import PHASE_NAMES, Phase, Segment, segments_of, total_name
from workers.measurement.connection import Connection
from workers.measurement.messages import Early, Hop
from workers.measurement.timing import PHASES, Span, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """One phase of an exchange; `round_trips` is empty where none are counted."""

    phase: Phase
    name: str
    time: str
    share: str
    round_trips: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTable:
    """`total_name` says what `total` is the sum of."""

    rows: tuple[PhaseRow, ...]
    total: str
    total_name: str


def early_table(early: Early) -> PhaseTable | None:
    """The same of a probe whose result has not come yet: its phases stand without gaps. None where it tells of none."""
    phases = early.phases
    if phases is None:
        return None
    spans: dict[str, Span] = {}
    at_us = 0
    for name in PHASES:
        length_us: int | None = getattr(phases, f"{name}_us")
        if length_us is not None:
            spans[name] = Span(start_us=at_us, end_us=at_us + length_us)
            at_us += length_us
    end_us = None if phases.total_us is None else at_us
    trips = Connection(number=1, host="", port=0, tls_round_trips=early.tls_round_trips, rtt_us=early.rtt_us)
    return phase_table(Hop(url="", connection=1, timing=Timing(start_us=0, end_us=end_us, **spans)), trips)


def phase_table(hop: Hop, connection: Connection | None) -> PhaseTable:
    """One row a stretch, in order of time; the times as shown add up to the total."""
    segments = segments_of(hop.timing)
    axis = axis_of(hop.timing.start_us, hop.timing.last_us)
    parts_us = [segment.duration_us for segment in segments]
    total_us = max(sum(parts_us), 1)
    rows = tuple(
        PhaseRow(
            phase=segment.phase,
            name=_name(segment, hop),
            time=text,
            share=_share(segment.duration_us, total_us),
            round_trips=_round_trips(segment.phase, connection),
            bars=bars_of([segment], axis),
        )
        for segment, text in zip(segments, parts_text(parts_us), strict=True)
    )
    return PhaseTable(rows=rows, total=total_text(parts_us), total_name=total_name(hop.timing))


def _share(us: int, total_us: int) -> str:
    percent = 100 * us / total_us
    return f"{percent:.0f} %" if percent >= 1 else "< 1 %"


def _name(segment: Segment, hop: Hop) -> str:
    sends = hop.timing.send is not None and segment.end_us <= hop.timing.send.end_us
    return "Sending" if segment.phase == "wait" and sends else PHASE_NAMES[segment.phase]


def _round_trips(phase: Phase, connection: Connection | None) -> str:
    counted = {"connect": 1, "tls": connection.tls_round_trips if connection else None}.get(phase)
    if counted is None:
        return ""
    rtt_us = connection.rtt_us if connection else None
    of = "" if rtt_us is None else f" of {duration(rtt_us)}"
    return f"{counted} round trip{'' if counted == 1 else 's'}{of}"
