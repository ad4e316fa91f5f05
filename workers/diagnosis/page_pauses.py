"""How long nothing came over a connection while answers were on their way: what a line takes for bytes it takes while
they flow, and a pause of whatever cause is none of their doing."""

import math
from collections.abc import Iterable, Sequence

from workers.diagnosis.page_case import PageCase
from workers.diagnosis.spans import covered_us, overlaps, within
from workers.measurement.connection import Pause
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# Of a line that had something else to bring for so much of a pause nobody knows that it stood still.
_IDLE = 0.5
# Where so much came at once behind pauses, what is left says little of the line.
_MOST = 0.75


def pauses_of(case: PageCase, row: Request) -> tuple[Pause, ...]:
    """Those of a row's connection while nothing came over another one either. Empty where nobody looked."""
    connection = case.connection_of(row)
    if connection is None or not connection.pauses:
        return ()
    others = [one.timing.download for one in case.rows if one.connection != row.connection and one.timing.download]
    return tuple(one for one in connection.pauses if _is_idle(one.span, others))


def _is_idle(pause: Span, others: Iterable[Span]) -> bool:
    return covered_us(within(one, pause) for one in others if overlaps(one, pause)) < _IDLE * pause.duration_us


def flow_rate(size_bytes: float, span: Span, pauses: Sequence[Pause]) -> float:
    """Bytes in a microsecond that a connection brought between its pauses, of so many that came over it in a span;
    infinite where most came at once behind them."""
    ended = [one for one in pauses if span.start_us < one.span.end_us <= span.end_us]
    behind_bytes = sum(one.behind_bytes for one in ended)
    if behind_bytes >= _MOST * size_bytes:
        return math.inf
    paused_us = sum(one.span.end_us - max(one.span.start_us, span.start_us) for one in ended)
    return (size_bytes - behind_bytes) / max(1, span.duration_us - paused_us)
