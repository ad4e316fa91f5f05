"""How much sooner a file comes that is asked for sooner, as by a hint in the document's head, all else as it was."""

from workers.diagnosis.page import line
from workers.diagnosis.page.case import PageCase
from workers.diagnosis.page.largest_paint import LargestPaint
from workers.diagnosis.page.spare import spare_us
from workers.diagnosis.page.windows import growing_us
from workers.measurement.waterfall import Request


def asked_sooner_us(case: PageCase, row: Request, asked: Request, late_us: int) -> int:
    """After the connection that it found open and would have had to wait for, and over a window that had not grown yet,
    behind what the paint waits for anyway. `asked` is what was asked for first where it led to the file."""
    waits_us = case.would_wait_us(asked, case.hint_us or 0)
    sooner_us = max(0, late_us - waits_us - growing_us(case, row))
    on_line_us = line.sooner_us(row, case.page.waterfall.requests, sooner_us)
    return min(on_line_us, spare_us(case, row, asked, sooner_us))


def lateness_us(case: PageCase, largest: LargestPaint) -> int:
    """How much later than with a hint in the document's head it was asked for; 0 where that is not known. What a cache
    had would have come from the network then, for as long as it did."""
    coming_us = 0 if largest.brought is None else _lasted_us(largest.brought) - _lasted_us(largest.asked)
    return 0 if case.hint_us is None else max(0, largest.asked_us - case.hint_us - coming_us)


def _lasted_us(row: Request) -> int:
    return (row.timing.end_us or 0) - row.timing.start_us


def comes_sooner_us(case: PageCase, largest: LargestPaint) -> int:
    """How much sooner a hint in the document's head has it come. What something else had brought comes as much sooner
    as that does, and does not lie there until the page asks for it."""
    brought = largest.brought
    if brought is None:
        return asked_sooner_us(case, largest.row, largest.asked, lateness_us(case, largest))
    lay_us = (largest.row.timing.end_us or 0) - (brought.timing.end_us or 0)
    brought_late_us = max(0, brought.timing.start_us - (case.hint_us or 0))
    return lay_us + asked_sooner_us(case, brought, brought, brought_late_us)
