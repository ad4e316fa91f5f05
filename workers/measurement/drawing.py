"""A run as text for a terminal:
phases as bars for a probe, a waterfall for a page. Pure: no terminal is asked anything.
"""

from collections.abc import Mapping, Sequence

from workers.measurement.bars import shared_bar
from workers.measurement.canvas import (
    OPEN,
    RED,
    Canvas,
    columns_of,
    counted,
    fit,
    format_bytes,
    format_duration,
    hanging,
    legend,
    pad,
)
from workers.measurement.compute.probe.pair_hops import as_probe
from workers.measurement.connection import Connection
from workers.measurement.failure import Failure
from workers.measurement.messages import Failed, Measurement, Missed, Outcome, PageMeasurement
from workers.measurement.page_view import ConsoleLevel
from workers.measurement.probe_drawing import draw_probe
from workers.measurement.timing import Span
from workers.measurement.views_drawing import view_facts
from workers.measurement.waterfall import Request, received_bytes

_USUAL = Canvas()
# Of what a page itself measured so much is told, each name in so much room.
_TIMINGS, _NAME_COLUMNS = 8, 30


def draw(outcome: Outcome, canvas: Canvas = _USUAL) -> str:
    """Everything worth seeing of an outcome, as lines without a final line break."""
    if isinstance(outcome, Missed):
        return f"Not measured: {outcome.reason.replace('_', ' ')}."
    lines = [] if outcome.measurement is None else _measurement(outcome.measurement, canvas)
    if isinstance(outcome, Failed):
        lines += _failure(outcome.failure, canvas)
    return "\n".join(lines)


def _measurement(measurement: Measurement, canvas: Canvas) -> list[str]:
    seen = as_probe(measurement)
    return _page(seen, canvas) if isinstance(seen, PageMeasurement) else draw_probe(seen, canvas)


def _failure(failure: Failure, canvas: Canvas) -> list[str]:
    told = hanging("", f"Failed ({failure.stage}): {canvas.named(failure.detail)}", canvas, RED)
    return [*told, f"  kind {failure.kind}, to blame: {failure.blame}"]


def _page(page: PageMeasurement, canvas: Canvas) -> list[str]:
    rows = page.waterfall.requests
    ends_us = [row.timing.last_us for row in rows]
    end_us = max([*ends_us, page.vitals.load_us or 0, page.hung_until_us or 0])
    lines = [_row(row, page.waterfall.open_span(row), end_us, canvas) for row in rows[: canvas.rows]]
    if len(rows) > len(lines):
        lines.append(canvas.left_out([counted(len(rows) - len(lines), "more request")]))
    kinds = [*_page_summary(page, canvas), *view_facts(page)]
    return [*lines, *(line for facts in kinds for line in _in_lines(facts, canvas)), legend(canvas)]


def _row(row: Request, still_open: Span | None, end_us: int, canvas: Canvas) -> str:
    label_columns = max(16, canvas.columns * 2 // 5 - 16)
    status = "✗" if row.failure else str(row.status or "-")
    name = pad(_short(canvas.named(row.url)), label_columns)
    cells = f"{row.number:>3} {name} {status:>3} {format_bytes(row.transferred_bytes):>8}"
    text = f"{cells} {_total(row, still_open):>8} "
    bars = shared_bar([row.timing], end_us, canvas.columns - columns_of(text), canvas, still_open)
    bad = row.failure is not None or (row.status or 0) >= 400
    return (canvas.paint(text, RED) if bad else text) + bars


def _total(row: Request, still_open: Span | None) -> str:
    if still_open is None:
        return format_duration(row.timing.total_us)
    return f">{format_duration(still_open.end_us - row.timing.start_us)}"


def _page_summary(page: PageMeasurement, canvas: Canvas) -> list[list[str]]:
    rows = page.waterfall.requests
    received = received_bytes(rows)
    failed = sum(row.failure is not None for row in rows)
    still_open = sum(page.waterfall.open_span(row) is not None for row in rows)
    counts = [
        counted(len(rows), "request"),
        _connections(page.waterfall.connections),
        format_bytes(received) if rows and received is not None else "",
        f"{failed} failed" if failed else "",
        f"{still_open} still open ({OPEN})" if still_open else "",
        _errors(page),
    ]
    groups = (_figures(page), _timings(page, canvas), _main_thread(page), [count for count in counts if count])
    return [facts for facts in groups if facts]


def _connections(opened: Sequence[Connection]) -> str:
    """How many were opened, as on all pages and in documents; empty where none is told of."""
    unused = sum(one.requests == 0 for one in opened)
    told = counted(len(opened), "connection") if opened else ""
    return f"{told} ({unused} never used)" if unused else told


def _timings(page: PageMeasurement, canvas: Canvas) -> list[str]:
    """What the page itself measured: its instants, and how long its measures took."""
    timings = page.vitals.user_timings or ()
    told = [
        f"{fit(canvas.named(one.name), _NAME_COLUMNS)} {format_duration(one.at_us)}"
        if one.duration_us is None
        else f"{fit(canvas.named(one.name), _NAME_COLUMNS)} took {format_duration(one.duration_us)}"
        for one in timings[:_TIMINGS]
    ]
    more = [f"{len(timings) - _TIMINGS} more"] if len(timings) > _TIMINGS else []
    return [f"its own: {told[0]}", *told[1:], *more] if told else []


def _main_thread(page: PageMeasurement) -> list[str]:
    cpu = page.vitals.cpu
    if cpu is None:
        return []
    kinds = {"script": cpu.script_us, "style": cpu.style_us, "layout": cpu.layout_us, "other": cpu.other_us}
    first, *others = _known(kinds)
    return [f"main thread: {first}", *others]


def _errors(page: PageMeasurement) -> str:
    count = sum(message.level is ConsoleLevel.ERROR for message in page.console)
    return counted(count, "console error") if count else ""


def _figures(page: PageMeasurement) -> list[str]:
    vitals = page.vitals
    document = next((row for row in page.waterfall.requests if row.number == page.document), None)
    paints = {
        "first byte": document.timing.first_byte_us if document else None,
        "start render": vitals.start_render_us,
        "FCP": vitals.fcp_us,
        "LCP": vitals.lcp_us,
    }
    whole = {
        "load": vitals.load_us,
        "TBT": vitals.tbt_us,
        "speed index": vitals.speed_index_us,
        "visually complete": vitals.visually_complete_us,
        "fully loaded": vitals.fully_loaded_us,
    }
    shifts = [] if vitals.cls is None else [f"CLS {vitals.cls:.3f}"]
    return [*_known(paints), *shifts, *_known(whole)]


def _known(durations_us: Mapping[str, int | None]) -> list[str]:
    return [f"{name} {format_duration(us)}" for name, us in durations_us.items() if us is not None]


def _in_lines(facts: Sequence[str], canvas: Canvas) -> list[str]:
    """All of them, in as many lines as they need."""
    lines: list[str] = []
    for fact in facts:
        longer = f"{lines[-1]} · {fact}" if lines else fact
        lines[-1:] = [longer] if columns_of(longer) <= canvas.columns else [*lines[-1:], fact]
    return [fit(line, canvas.columns) for line in lines]


def _short(url: str) -> str:
    """Host and path without scheme and query: what tells rows apart."""
    return url.partition("://")[2].partition("?")[0] or url
