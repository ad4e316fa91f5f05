"""A page load on a screen: its waterfall and figures, what costs time, and what to know of it."""

from dataclasses import replace

from workers.diagnosis.diagnosis_drawing import draw_diagnosis
from workers.diagnosis.outcome_drawing import draw_outcome
from workers.measurement.canvas import RED, Canvas, hanging
from workers.measurement.contention import contention_told
from workers.measurement.messages import Failed, Measured, PageMeasurement

# An empty line before each part below the waterfall.
_AROUND = 2


def draw_page(outcome: Measured | Failed, canvas: Canvas) -> list[str]:
    """A screen: all figures, what costs time below them, and above them the waterfall's beginning, which is what
    visitors wait for, in a third of it at least.
    """
    page = outcome.measurement
    if not isinstance(page, PageMeasurement):
        return draw_outcome(outcome, canvas)
    busy = contention_told(page.vitals)
    warnings = page.warnings if busy is None else (busy, *page.warnings)
    told = [line for warning in warnings for line in hanging("! ", warning, canvas, RED)]
    room = below = None
    if canvas.rows is not None:
        figures = len(draw_outcome(outcome, replace(canvas, rows=0)))
        room = canvas.rows - len(told) - figures - _AROUND
        below = room - min(len(page.waterfall.requests), canvas.rows // 3)
    found = draw_diagnosis(page, canvas, rows=below)
    if room is not None:
        canvas = replace(canvas, rows=max(1, room - len(found)))
    return [*draw_outcome(outcome, canvas), *(["", *found] if found else []), *(["", *told] if told else [])]
