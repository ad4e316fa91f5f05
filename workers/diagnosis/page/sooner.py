"""How much sooner a file comes that is asked for sooner, as by a hint in the document's head, all else as it was."""

from workers.diagnosis.page import line
from workers.diagnosis.page.case import PageCase
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
