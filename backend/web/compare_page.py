"""Two runs or imports side by side: what differs between them, in a sentence, in numbers and row by row. No I/O."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from operator import attrgetter

from backend.alerts.growth import BEFORE_FIRST_BYTE, phase_that_grew
from backend.alerts.metrics import LABELS
from backend.web import units
from backend.web.compared import Compared
from backend.web.verdict import Level, Verdict, went_over_something_untold
from backend.web.waterfall.board import Board, of_visit
from backend.web.waterfall.matching import changes_of
from backend.web.waterfall.moments import document_of
from backend.web.waterfall.side_by_side import board_of_two
from backend.web.waterfall.text import printable
from workers.measurement.compute.devtools.vitals import MAX_NAME_CHARS
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.timing import Phases, answer_phases
from workers.measurement.waterfall import ON_THE_NETWORK, Request, TimingSource, received_bytes

# What two loads of one page differ by anyway: less than either of the two is no news.
_MIN_US = 50_000
_SHARE = 0.1
# A shorter time than this is no news of two single runs.
_LEAST_US = 1_000
_CHANCE = "Each is one sample: what is small here may be chance."


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One number of both; `level` says whether the second is better, and `mark` says it without a colour."""

    name: str
    first: str
    second: str
    difference: str
    level: Level

    @property
    def mark(self) -> str:
        return {"good": "▼", "bad": "▲"}.get(self.level, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    verdict: Verdict
    lines: tuple[Line, ...]
    board: Board


Number = int | float | None
_Metric = tuple[str, Callable[[PageMeasurement], Number], Callable[[int], str]]


def page_of(first: Compared, second: Compared, parameters: Mapping[str, str]) -> ComparePage:
    """Both must have measured something of one kind: `is_comparable`."""
    sides = (first.side("A"), second.side("B"))
    board = board_of_two(sides, parameters)
    seen, other = (of_visit(side.measurement, board.wanted.visit) for side in sides)
    verdict = _verdict(seen, other, " ".join((_parts(board), _CHANCE, *_cautions(first, second))))
    return ComparePage(verdict=verdict, lines=lines_of(seen, other), board=board)


def is_comparable(first: Compared, second: Compared) -> bool:
    """Whether both have something to draw, in rows of the same kind, and found the same state."""
    return first.measurement is not None and _kind(first.measurement) == _kind(second.measurement)


def growth_of(first: Measurement, second: Measurement) -> str:
    """Which phase made the second probe's first byte later, in a sentence; empty where none is most of it."""
    if not isinstance(first, ProbeMeasurement) or not isinstance(second, ProbeMeasurement):
        return ""
    grown = phase_that_grew(asdict(_phases(first)), asdict(_phases(second)), "ttfb_us")
    if grown is None:
        return ""
    later, least, most = (units.duration(us) for us in (grown.later_us, grown.before_us, grown.after_us))
    return f"In the second the first byte came {later} later, most of it in {grown.phase}: {most} instead of {least}."


def _phases(probe: ProbeMeasurement) -> Phases:
    """Those of the answer that was looked for, first and last byte counted from the first redirect on."""
    return answer_phases([hop.timing for hop in probe.hops])


def _kind(measurement: Measurement | None) -> tuple[type, PageState | None]:
    """Loads that found a full cache and such as found none are no more of one kind than a page and a probe."""
    return type(measurement), measurement.state if isinstance(measurement, PageMeasurement) else None


def _cautions(first: Compared, second: Compared) -> Iterator[str]:
    """What keeps a difference from being the site's own."""
    if first.tool != second.tool:
        yield f"{first.tool} measured A, {second.tool} B: browser, machine and network may differ as well."
    for letter, one in (("A", first), ("B", second)):
        if one.skipped:
            yield f"{units.count(one.skipped)} of the requests in the file of {letter} could not be read."
    addresses = [_address(one.measurement) for one in (first, second)]
    if all(addresses) and addresses[0] != addresses[1]:
        yield f"They are two pages: A is {addresses[0]}, B {addresses[1]}."


def _address(measurement: Measurement | None) -> str:
    """Host and path of a page; empty where it is not known."""
    document = document_of(measurement) if isinstance(measurement, PageMeasurement) else None
    return "" if document is None else printable(document.url.partition("?")[0].partition("://")[2], 120)


def _verdict(first: Measurement, second: Measurement, text: str) -> Verdict:
    name, before_us, after_us = _headline(first, second)
    if before_us is None or after_us is None:
        return Verdict(level="info", title="Both on one axis", text=text)
    by_us = after_us - before_us
    if abs(by_us) < max(_MIN_US, _SHARE * before_us):
        title = f"Hardly a difference: {name} {units.duration(before_us)} and {units.duration(after_us)}"
        return Verdict(level="info", title=title, text=text)
    word = "slower" if by_us > 0 else "faster"
    level: Level = "warn" if by_us > 0 else "good"
    times = f"{units.duration(after_us)} against {units.duration(before_us)}"
    return Verdict(level=level, title=f"B is {units.duration(abs(by_us))} {word} to the {name}: {times}", text=text)


def _headline(first: Measurement, second: Measurement) -> tuple[str, int | None, int | None]:
    """The time that people mean, if both runs have it."""
    if isinstance(first, PageMeasurement) and isinstance(second, PageMeasurement):
        if first.vitals.lcp_us is not None and second.vitals.lcp_us is not None:
            return "largest paint", first.vitals.lcp_us, second.vitals.lcp_us
        return "load event", first.vitals.load_us, second.vitals.load_us
    return "last byte", _last_byte(first), _last_byte(second)


def _last_byte(measurement: Measurement) -> int | None:
    if not isinstance(measurement, ProbeMeasurement) or not measurement.hops:
        return None
    return measurement.hops[-1].timing.end_us


def _parts(board: Board) -> str:
    """How the rows differ, in numbers; of a file without any nothing is missing."""
    charts, unit = [picture.chart for picture in board.pictures], board.chart.unit
    untold = [letter for letter, chart in zip("AB", charts, strict=True) if not chart.rows]
    if untold:
        return f"{' and '.join(untold)} {'tell' if len(untold) > 1 else 'tells'} of no {unit}s."
    changes = changes_of(*charts)
    other = "over another protocol" if unit == "connection" else "with another status"
    counted = (
        (changes.only_second, "only in B"),
        (changes.only_first, "only in A"),
        (changes.slower, "longer in B"),
        (changes.faster, "shorter in B"),
        (changes.status, other),
    )
    parts = [f"{count} {text}" for count, text in counted if count]
    return f"Of the {unit}s: {', '.join(parts)}." if parts else f"The {unit}s are the same."


def lines_of(first: Measurement, second: Measurement) -> tuple[Line, ...]:
    """Each number that either knows, and how much the second differs; none for runs of two kinds."""
    found: list[Line | None] = []
    if isinstance(first, PageMeasurement) and isinstance(second, PageMeasurement):
        found = [_line(name, read(first), read(second), text) for name, read, text in _METRICS]
        found += _timing_lines(first, second)
    if isinstance(first, ProbeMeasurement) and isinstance(second, ProbeMeasurement):
        before, after = _phases(first), _phases(second)
        found = [_line(name, read(before), read(after), units.duration) for name, read in _PHASES.items()]
    return tuple(line for line in found if line is not None)


def _timing_lines(first: PageMeasurement, second: PageMeasurement) -> list[Line | None]:
    """What both pages, or either, measured themselves: instants, and how long measures took."""
    before, after = _timings(first), _timings(second)
    return [_line(name, before.get(name), after.get(name), units.duration) for name in dict.fromkeys([*before, *after])]


def _timings(page: PageMeasurement) -> Mapping[str, int]:
    """By kind and name, so that a mark and a measure of one name are two."""
    return {
        f"{one.kind.value} {printable(one.name, MAX_NAME_CHARS)}": one.at_us
        if one.duration_us is None
        else one.duration_us
        for one in page.vitals.user_timings or ()
    }


def _line(name: str, one: Number, other: Number, text: Callable[[int], str]) -> Line | None:
    """None for what neither run knows."""
    if one is None and other is None:
        return None
    shown = tuple(units.ABSENT if value is None else text(round(value)) for value in (one, other))
    if one is None or other is None:
        return Line(name=name, first=shown[0], second=shown[1], difference=units.ABSENT, level="info")
    by = round(other) - round(one)
    sign = "+" if by > 0 else "\N{MINUS SIGN}" if by < 0 else ""
    percent = abs(round(100 * by / one)) if one else 0
    share = f" ({sign}{percent} %)" if percent else ""
    least = _LEAST_US if text is units.duration else 1
    is_news = text is not units.count and abs(by) >= max(least, _SHARE * abs(one))
    level: Level = "info" if not is_news else "bad" if by > 0 else "good"
    return Line(name=name, first=shown[0], second=shown[1], difference=f"{sign}{text(abs(by))}{share}", level=level)


def _first_byte(page: PageMeasurement) -> Number:
    document = document_of(page)
    return None if document is None else document.timing.first_byte_us


def _requests(page: PageMeasurement) -> Number:
    """None where a file has only figures, and no requests to count."""
    return len(page.waterfall.requests) or None


def _connections(page: PageMeasurement) -> Number:
    """Those that were used: no archive tells of others. None where one does not name what each of its requests went
    over."""
    is_told = page.waterfall.requests and not any(went_over_something_untold(row) for row in _archived(page))
    return sum(one.requests > 0 for one in page.waterfall.connections) if is_told else None


def _bytes(page: PageMeasurement) -> Number:
    """None where a file does not say of each answer how large it was: a part of a sum is no sum."""
    is_told = page.waterfall.requests and not any(
        row.status is not None and row.transferred_bytes is None and row.served_from in ON_THE_NETWORK
        for row in _archived(page)
    )
    return received_bytes(page.waterfall.requests) if is_told else None


def _archived(page: PageMeasurement) -> Iterator[Request]:
    """The rows of other tools, which may leave out what they knew."""
    return (row for row in page.waterfall.requests if row.timing_source is TimingSource.ARCHIVE)


def _thousandths(value: int) -> str:
    return f"{value / 1000:.3f}"


_PHASES: Mapping[str, Callable[[Phases], int | None]] = {
    LABELS["ttfb"]: lambda phases: phases.ttfb_us,
    **{f"{phase[:1].upper()}{phase[1:]}": attrgetter(name) for name, phase in BEFORE_FIRST_BYTE.items()},
    LABELS["download"]: lambda phases: phases.download_us,
    LABELS["total"]: lambda phases: phases.total_us,
}
_METRICS: tuple[_Metric, ...] = (
    (LABELS["ttfb"], _first_byte, units.duration),
    (LABELS["start_render"], lambda page: page.vitals.start_render_us, units.duration),
    (LABELS["fcp"], lambda page: page.vitals.fcp_us, units.duration),
    (LABELS["lcp"], lambda page: page.vitals.lcp_us, units.duration),
    (LABELS["cls"], lambda page: None if page.vitals.cls is None else 1000 * page.vitals.cls, _thousandths),
    (LABELS["tbt"], lambda page: page.vitals.tbt_us, units.duration),
    (LABELS["speed_index"], lambda page: page.vitals.speed_index_us, units.duration),
    (LABELS["load"], lambda page: page.vitals.load_us, units.duration),
    (LABELS["fully_loaded"], lambda page: page.vitals.fully_loaded_us, units.duration),
    (LABELS["requests"], _requests, units.count),
    ("Connections used", _connections, units.count),
    (LABELS["bytes"], _bytes, units.size),
)
