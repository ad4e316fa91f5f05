"""Bars for a terminal, all on an axis that begins at 0 and ends at `scale_us`. Pure."""

import math
from collections.abc import Iterable

from workers.measurement.canvas import COLOURS, DIM, GAP, OPEN, SHADES, Canvas
from workers.measurement.timing import PHASES, Span, Timing

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHADES = SHADES | {"open": OPEN}


def bar_of(span: Span, scale_us: int, columns: int, shade: str | None) -> str:
    """A bar in eighths of a column, or in columns of a shade. A span of no length is nothing, the shortest one is the
    least that there is.
    """
    if span.duration_us == 0:
        return ""
    scale = columns * 8 / max(1, scale_us)
    # Blocks grow from the left edge of a column, so a bar begins at one.
    left = min(columns - 1, int(span.start_us * scale) // 8)
    whole, rest = divmod(min((columns - left) * 8, max(1, round(span.duration_us * scale))), 8)
    return " " * left + ("█" * whole + _EIGHTHS[rest].strip() if shade is None else shade * max(1, whole))


def shared_bar(
    timings: Iterable[Timing], scale_us: int, columns: int, canvas: Canvas, still_open: Span | None = None
) -> str:
    """All phases of several exchanges in one bar, told apart by shade and colour; gaps are dots, and what is still open
    is dashed.
    """
    cells: list[str | None] = [None] * columns
    if still_open is not None:
        _fill(cells, still_open.start_us, still_open.end_us, scale_us, "open")
    for timing in timings:
        if timing.end_us is not None:
            _fill(cells, timing.start_us, timing.end_us, scale_us, "gap")
        for phase in PHASES:
            span = getattr(timing, phase)
            if span is not None and span.duration_us > 0:
                _fill(cells, span.start_us, span.end_us, scale_us, phase)
    drawn = [" " if cell is None else canvas.paint(_SHADES.get(cell, GAP), COLOURS.get(cell, DIM)) for cell in cells]
    return "".join(drawn).rstrip()


def _fill(cells: list[str | None], start_us: int, stop_us: int, scale_us: int, mark: str) -> None:
    """At least one cell for whatever has happened, however short it was; what lies before the axis has the first."""
    scale = len(cells) / max(1, scale_us)
    first = max(0, min(len(cells) - 1, int(start_us * scale)))
    last = min(len(cells), max(first + 1, math.ceil(stop_us * scale)))
    cells[first:last] = [mark] * (last - first)
