"""The rule on files that a hint had come and that nothing took: they fill the line while a paint waits for others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from workers.diagnosis.case import Verdicts
from workers.diagnosis.facts import facts, in_ms
from workers.diagnosis.page.case import PageCase, told
from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.instants import CLOCKS_US
from workers.diagnosis.page.loads import load_of
from workers.diagnosis.page.needless_bytes import FewerBytes
from workers.diagnosis.page.rendering import FILES_NAMED, named
from workers.diagnosis.page.spans import covered_us, merged, overlaps, within
from workers.diagnosis.probe.slow_start import coming_us
from workers.diagnosis.units import size
from workers.measurement.finding import FindingId
from workers.measurement.thresholds import UNUSED_BYTES
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# What two extremes may differ by, as a share and at least, that are told as one.
_DOUBT, _DOUBT_US = 0.2, 40_000
# DevTools' words for priorities, the most urgent last.
_URGENCY = {word: place for place, word in enumerate(("VeryLow", "Low", "Medium", "High", "VeryHigh"))}


def preloaded(case: PageCase) -> Verdicts:
    """page.preload_unused: what a paint would gain if they did not come."""
    unused_bytes = sum(row.transferred_bytes or 0 for row in case.unused)
    if unused_bytes < UNUSED_BYTES:
        return
    saving_us = _claim(case)
    yield told(
        FindingId.PAGE_PRELOAD_UNUSED,
        case.unused,
        saving_us or None,
        evidence=facts(
            files=tuple(f"{named(row)}, {size(row.transferred_bytes or 0)}" for row in case.unused[:FILES_NAMED]),
            unused_bytes=unused_bytes,
            lcp_ms=in_ms(case.page.vitals.lcp_us) if saving_us else None,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sooner:
    """By how much sooner comes what the first paint waits for, by number, and the file of the largest paint."""

    first: Mapping[int, int]
    largest_us: int

    def gain_us(self, case: PageCase) -> int:
        first_us, largest = case.paint.gain_without_us(case.unused, self.first), case.largest
        return first_us if largest is None else max(first_us, largest.gain_behind_us(first_us, self.largest_us))

    def claim_us(self, case: PageCase) -> int:
        first_us, largest = case.paint.claim_without(case.unused, self.first), case.largest
        return first_us if largest is None else max(first_us, largest.claim_behind(first_us, self.largest_us))


def _claim(case: PageCase) -> int:
    """What is gained where it hardly matters in which order the server sends files; 0 where that decides, and where it
    is no more than what may be doubted of any."""
    most, least = _sooner(case, is_certain=False), _sooner(case, is_certain=True)
    gain_us = most.gain_us(case)
    is_sure = gain_us - least.gain_us(case) <= max(_DOUBT * gain_us, _DOUBT_US) < gain_us
    return most.claim_us(case) if is_sure else 0


def _sooner(case: PageCase, *, is_certain: bool) -> _Sooner:
    sooner = partial(_sooner_us, case, is_certain=is_certain)
    first = {row.number: sooner(row) for row in case.rows if case.paint.waits_for(row)}
    return _Sooner(first=first, largest_us=0 if case.largest is None else sooner(case.largest.row))


def _sooner_us(case: PageCase, row: Request, *, is_certain: bool) -> int:
    """By how much sooner a file comes without those that nothing took, over the same connection: as if all shared the
    line alike, or for certain. Over HTTP/1.1 one costs a connection too, which another file has to open then: by how
    much that is later nobody knows."""
    beside = [one for one in case.unused if case.are_together(one, row) and one.protocol not in ONE_AT_A_TIME]
    if not beside:
        return 0
    ahead = [one for one in beside if not is_certain or _is_ahead(one, row)]
    held_us = _held_us(case, row, beside)
    fewer_us = FewerBytes(case=case, fewer={one.number: one.transferred_bytes or 0 for one in ahead}).sooner_us(row)
    # What is gained of its own bytes is told as if it began to come no sooner.
    sooner_us = max(held_us, fewer_us, min(held_us + fewer_us, _on_line_us(case, row, beside)))
    return min(sooner_us, _room_us(case, row, beside)) if is_certain else sooner_us


def _is_ahead(unused: Request, row: Request) -> bool:
    """Whether it came before a file certainly: it was there, or a server that heeds priorities sends it first."""
    is_there = (unused.timing.end_us or 0) <= (row.timing.end_us or 0) + CLOCKS_US
    return is_there or _URGENCY.get(unused.priority or "", 0) > _URGENCY.get(row.priority or "", 0)


def _room_us(case: PageCase, row: Request, unused: Sequence[Request]) -> int:
    """By how much sooner a file comes at least: since it was due its connection brings all else that came from then on,
    as a window grows and the line carries it. Each other one that was still on its way might have come in place of
    those, with as many bytes as the file's own where all share alike."""
    due_us, end_us, own_bytes = _due_us(case, row), row.timing.end_us or 0, row.transferred_bytes or 0
    if due_us is None or due_us >= end_us or not own_bytes:
        return 0
    others = [load for one in _others(case, row, unused) if (load := load_of(one)) and load.span.start_us < end_us]
    since, until = Span(start_us=due_us, end_us=end_us), Span(start_us=0, end_us=end_us)
    needed_bytes = own_bytes + sum(load.bytes_in(since) for load in others)
    taken_bytes = sum(min(load.size_bytes - load.bytes_in(until), own_bytes) for load in others)
    rate = case.carried_rate(row) or (needed_bytes + _came_bytes(row, unused)) / (end_us - due_us)
    least_us = coming_us(needed_bytes + taken_bytes, rate, case.trip_us(row))
    return max(0, end_us - due_us - round(least_us))


def _came_bytes(row: Request, unused: Sequence[Request]) -> float:
    """How much of those had come until a file was there."""
    until = Span(start_us=0, end_us=row.timing.end_us or 0)
    return sum(load.bytes_in(until) for one in unused if (load := load_of(one)))


def _on_line_us(case: PageCase, row: Request, unused: Sequence[Request]) -> int:
    """How long the line took for what had come of those until a file was there; 0 where nobody knows its rate."""
    rate = case.carried_rate(row)
    return round(_came_bytes(row, unused) / rate) if rate else 0


def _held_us(case: PageCase, row: Request, unused: Sequence[Request]) -> int:
    """For how long a file was due and those came in its place, and nothing else did. It may have been made so late:
    only where another began to come at the same instant both waited for the line."""
    first_us, due_us = row.timing.first_byte_us, _due_us(case, row)
    others = _others(case, row, unused)
    is_with_another = any(abs((one.timing.first_byte_us or 0) - (first_us or 0)) <= CLOCKS_US for one in others)
    if first_us is None or due_us is None or due_us >= first_us or not is_with_another:
        return 0
    waited = Span(start_us=due_us, end_us=first_us)
    needed = merged(span for one in others if (span := one.timing.download) and overlaps(span, waited))
    spans = [span for one in unused if (span := _coming(case, one, needed)) and overlaps(span, waited)]
    came = [within(span, waited) for span in spans]
    meanwhile = [within(span, waited) for span in needed]
    return covered_us([*came, *meanwhile]) - covered_us(meanwhile)


def _others(case: PageCase, row: Request, unused: Sequence[Request]) -> list[Request]:
    """What else came over its connection."""
    numbers = {row.number, *(one.number for one in unused)}
    return [one for one in case.together_with(row) if one.number not in numbers]


def _coming(case: PageCase, row: Request, needed: Sequence[Span]) -> Span | None:
    """From when it was due where nothing else came until it could be read, as a record can when it is whole."""
    due_us, span = _due_us(case, row), row.timing.download
    if span is None or due_us is None or due_us >= span.start_us:
        return span
    before = Span(start_us=due_us, end_us=span.start_us)
    return span if any(overlaps(one, before) for one in needed) else Span(start_us=due_us, end_us=span.end_us)


def _due_us(case: PageCase, row: Request) -> int | None:
    return None if row.timing.send is None else row.timing.send.end_us + case.trip_us(row)
