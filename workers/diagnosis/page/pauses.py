"""How long nothing came over a connection while answers were on their way: what a line takes for bytes it takes while
they flow, and a pause of whatever cause is none of their doing."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice, takewhile

from workers.diagnosis.page.spans import merged, overlaps, within
from workers.measurement.connection import Pause
from workers.measurement.timing import Span
from workers.measurement.waterfall import Waterfall

# Of a line that had something else to bring for so much of a pause nobody knows that it stood still.
_IDLE = 0.5
# Where so much came at once behind pauses, what is left says little of the line.
_MOST = 0.75


def idle_pauses(waterfall: Waterfall) -> dict[int | None, tuple[Pause, ...]]:
    """By the number of each connection its pauses in which nothing came over another one either; none where nobody
    looked."""
    coming = [(one.connection, one.timing.download) for one in waterfall.requests if one.timing.download]
    found: dict[int | None, tuple[Pause, ...]] = {}
    for connection in waterfall.connections:
        if connection.pauses:
            others = merged(download for number, download in coming if number != connection.number)
            found[connection.number] = tuple(one for one in connection.pauses if _is_idle(one.span, others))
    return found


def _is_idle(pause: Span, others: Sequence[Span]) -> bool:
    """`others` lie behind one another."""
    first = max(0, bisect_right(others, pause.start_us, key=lambda one: one.start_us) - 1)
    near = takewhile(lambda one: one.start_us < pause.end_us, islice(others, first, None))
    return sum(within(one, pause).duration_us for one in near if overlaps(one, pause)) < _IDLE * pause.duration_us


def flow_rate(size_bytes: float, span: Span, pauses: Sequence[Pause]) -> float:
    """Bytes in a microsecond that a connection brought between its pauses, of so many that came over it in a span;
    infinite where most came at once behind them."""
    ended = [one for one in pauses if span.start_us < one.span.end_us <= span.end_us]
    behind_bytes = sum(one.behind_bytes for one in ended)
    if behind_bytes >= _MOST * size_bytes:
        return math.inf
    paused_us = sum(one.span.end_us - max(one.span.start_us, span.start_us) for one in ended)
    return (size_bytes - behind_bytes) / max(1, span.duration_us - paused_us)
