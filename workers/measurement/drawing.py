"""A run as text for a terminal:
phases as bars for a probe, a waterfall for a page. Pure: no terminal is asked anything.
"""

import math
from collections.abc import Sequence

from workers.measurement.canvas import (
    BOLD,
    COLOURS,
    DIM,
    RED,
    SHADES,
    Canvas,
    columns_of,
    fit,
    format_bytes,
    format_duration,
    pad,
)
from workers.measurement.compute.pair_hops import as_probe
from workers.measurement.connection import Connection
from workers.measurement.failure import Failure
from workers.measurement.messages import Failed, Hop, Measurement, Missed, Outcome, PageMeasurement, ProbeMeasurement
from workers.measurement.page_view import ConsoleLevel
from workers.measurement.timing import PHASES, Timing, phases_of
from workers.measurement.views_drawing import view_facts
from workers.measurement.waterfall import Request, received_bytes

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LABELS = {"dns": "DNS", "connect": "Connect", "tls": "TLS", "send": "Send", "wait": "Wait", "download": "Download"}
# The gaps between phases in a waterfall are the browser's own time.
_GAP = "·"
_USUAL = Canvas()
# Behind the paints, of which it tells how they moved.
_SHIFTS_AT = 3


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
    return _page(seen, canvas) if isinstance(seen, PageMeasurement) else _probe(seen, canvas)


def _failure(failure: Failure, canvas: Canvas) -> list[str]:
    text = fit(f"Failed ({failure.stage}): {failure.detail}", canvas.columns)
    return [canvas.paint(text, RED), f"  kind {failure.kind}, to blame: {failure.blame}"]


def _probe(probe: ProbeMeasurement, canvas: Canvas) -> list[str]:
    end_us = max((_end_us(hop.timing) for hop in probe.hops), default=0)
    connections = {connection.number: connection for connection in probe.connections}
    lines = [line for hop in probe.hops for line in _hop(hop, connections.get(hop.connection), end_us, canvas)]
    facts = _summary(probe, connections.get(probe.hops[-1].connection)) if probe.hops else []
    return [*lines, _joined(facts, canvas)] if facts else lines


def _hop(hop: Hop, connection: Connection | None, end_us: int, canvas: Canvas) -> list[str]:
    facts = [str(hop.status or "no answer"), *_connection_facts(connection)]
    lines = [canvas.paint(fit(hop.url, canvas.columns), BOLD), fit(f"  {'  '.join(facts)}", canvas.columns)]
    for phase in PHASES:
        span = getattr(hop.timing, phase)
        if span is not None:
            label = f"  {_LABELS[phase]:<9}{format_duration(span.duration_us):>9}  "
            bar = _bar(span.start_us, span.end_us, end_us, canvas.columns - len(label))
            lines.append(label + canvas.paint(bar, COLOURS[phase]))
    return lines


def _connection_facts(connection: Connection | None) -> list[str]:
    if connection is None:
        return []
    address = f"[{connection.address}]" if ":" in (connection.address or "") else connection.address
    where = f"{address}:{connection.port}" if address else None
    return [fact for fact in (connection.protocol, connection.tls_version, where) if fact]


def _summary(probe: ProbeMeasurement, connection: Connection | None) -> list[str]:
    phases = phases_of(probe.hops[-1].timing)
    marks = (("first byte", phases.ttfb_us), ("total", phases.total_us))
    parts = [f"{name} {format_duration(us)}" for name, us in marks if us is not None]
    if connection is not None and connection.rtt_us is not None:
        parts.append(f"round trip {format_duration(connection.rtt_us)}")
    if connection is not None and connection.tls_round_trips is not None:
        parts.append(f"TLS in {_count(connection.tls_round_trips, 'round trip')}")
    if len(probe.hops) > 1:
        parts.append(f"after {_count(len(probe.hops) - 1, 'redirect')}")
    return parts


def _page(page: PageMeasurement, canvas: Canvas) -> list[str]:
    rows = page.waterfall.requests
    end_us = max([_end_us(row.timing) for row in rows] + [page.vitals.load_us or 0], default=0)
    label_columns = max(16, canvas.columns * 2 // 5 - 16)
    lines = [_row(row, end_us, label_columns, canvas) for row in rows[: canvas.rows]]
    if len(rows) > canvas.rows:
        lines.append(canvas.paint(f"… and {len(rows) - canvas.rows} more requests", DIM))
    kinds = [*_page_summary(page), *view_facts(page)]
    return [*lines, *(line for facts in kinds for line in _in_lines(facts, canvas)), _legend(canvas)]


def _row(row: Request, end_us: int, label_columns: int, canvas: Canvas) -> str:
    status = "✗" if row.failure else str(row.status or "-")
    cells = (
        f"{row.number:>3} {pad(_short(row.url), label_columns)} {status:>3} {format_bytes(row.transferred_bytes):>8}"
    )
    text = f"{cells} {format_duration(row.timing.total_us):>8} "
    bars = _bars(row.timing, end_us, canvas.columns - columns_of(text), canvas)
    bad = row.failure is not None or (row.status or 0) >= 400
    return (canvas.paint(text, RED) if bad else text) + bars


def _bars(timing: Timing, end_us: int, columns: int, canvas: Canvas) -> str:
    cells: list[str | None] = [None] * columns
    if timing.end_us is not None:
        _fill(cells, timing.start_us, timing.end_us, end_us, "gap")
    for phase in PHASES:
        span = getattr(timing, phase)
        if span is not None and span.duration_us > 0:
            _fill(cells, span.start_us, span.end_us, end_us, phase)
    drawn = [" " if cell is None else canvas.paint(SHADES.get(cell, _GAP), COLOURS.get(cell, DIM)) for cell in cells]
    return "".join(drawn).rstrip()


def _fill(cells: list[str | None], start_us: int, stop_us: int, end_us: int, mark: str) -> None:
    """At least one cell for whatever has happened, however short it was."""
    scale = len(cells) / max(1, end_us)
    first = min(len(cells) - 1, int(start_us * scale))
    last = min(len(cells), max(first + 1, math.ceil(stop_us * scale)))
    cells[first:last] = [mark] * (last - first)


def _bar(start_us: int, stop_us: int, end_us: int, columns: int) -> str:
    """A bar in eighths of a column; a span of no length is nothing, the shortest one an eighth."""
    if stop_us <= start_us:
        return ""
    scale = columns * 8 / max(1, end_us)
    # Blocks grow from the left edge of a column, so a bar begins at one.
    left = min(columns - 1, int(start_us * scale) // 8)
    whole, rest = divmod(min((columns - left) * 8, max(1, round((stop_us - start_us) * scale))), 8)
    return " " * left + "█" * whole + _EIGHTHS[rest].strip()


def _page_summary(page: PageMeasurement) -> list[list[str]]:
    rows = page.waterfall.requests
    received = received_bytes(rows)
    failed = sum(row.failure is not None for row in rows)
    seen = [f"{name} {format_duration(us)}" for name, us in _marks(page) if us is not None]
    if page.vitals.cls is not None:
        seen.insert(min(_SHIFTS_AT, len(seen)), f"CLS {page.vitals.cls:.3f}")
    counts = [
        _count(len(rows), "request"),
        format_bytes(received) if rows and received is not None else "",
        f"{failed} failed" if failed else "",
        _errors(page),
    ]
    return [facts for facts in (seen, [count for count in counts if count]) if facts]


def _errors(page: PageMeasurement) -> str:
    count = sum(message.level is ConsoleLevel.ERROR for message in page.console)
    return _count(count, "console error") if count else ""


def _marks(page: PageMeasurement) -> list[tuple[str, int | None]]:
    vitals = page.vitals
    document = next((row for row in page.waterfall.requests if row.number == page.document), None)
    return [
        ("first byte", document.timing.first_byte_us if document else None),
        ("FCP", vitals.fcp_us),
        ("LCP", vitals.lcp_us),
        ("load", vitals.load_us),
        ("TBT", vitals.tbt_us),
        ("speed index", vitals.speed_index_us),
        ("fully loaded", vitals.fully_loaded_us),
    ]


def _legend(canvas: Canvas) -> str:
    return " ".join(f"{canvas.paint(SHADES[phase], COLOURS[phase])} {_LABELS[phase].lower()}" for phase in PHASES)


def _end_us(timing: Timing) -> int:
    """The last instant that a timing knows."""
    spans = (timing.dns, timing.connect, timing.tls, timing.send, timing.wait, timing.download)
    return max([timing.start_us, timing.end_us or 0, *(span.end_us for span in spans if span is not None)])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _joined(facts: Sequence[str], canvas: Canvas) -> str:
    """As many facts as fit, the first ones first."""
    while len(facts) > 1 and columns_of(" · ".join(facts)) > canvas.columns:
        facts = facts[:-1]
    return fit(" · ".join(facts), canvas.columns)


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
