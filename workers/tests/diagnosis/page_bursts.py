"""By how much sooner rows come of which fewer bytes come, without a page around them."""

from collections.abc import Mapping, Sequence

from workers.diagnosis.page.burst import Lighter
from workers.diagnosis.page.layout import Layout
from workers.measurement.connection import Pause
from workers.measurement.waterfall import Request


def sooner_by_fewer_us(
    row: Request,
    rows: Sequence[Request],
    fewer: Mapping[int, int],
    trip_us: int,
    pauses: Sequence[Pause] = (),
    paused: Mapping[int | None, Sequence[Pause]] | None = None,
) -> int:
    """`pauses` are those of the row's connection in which the line was idle, `paused` all of each connection where
    anybody looked."""
    layout = Layout(rows=rows, trip_us=lambda _: trip_us, paused=paused or {}, idle={row.connection: pauses})
    burst = layout.burst_of(row)
    return 0 if burst is None else Lighter(fewer, burst).sooner_us(row)
