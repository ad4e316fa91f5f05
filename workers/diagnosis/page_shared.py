"""What a page asked for twice at once: a browser that brings a file already asks nobody for it again."""

from collections.abc import Iterable, Sequence

from workers.diagnosis.page_instants import CLOCKS_US
from workers.measurement.waterfall import Request, ServedFrom


def carriers(rows: Iterable[Request], asked: Sequence[Request]) -> dict[int, int]:
    """By the number of each row that waited for the same file on its way here, that of the row that brought it: a hint
    that does not match (another `as`, no `crossorigin`) and a frame bring what the page then takes out of the cache."""
    found = {row.number: _carrier(row, asked) for row in rows if row.served_from is ServedFrom.DISK_CACHE}
    return {number: one.number for number, one in found.items() if one is not None}


def _carrier(row: Request, asked: Sequence[Request]) -> Request | None:
    """What came before it was asked for had it wait for nothing."""
    return next(
        (
            one
            for one in asked
            if one.url == row.url and one.number < row.number and one.served_from is ServedFrom.NETWORK
            if row.timing.start_us < (one.timing.end_us or 0) <= (row.timing.end_us or 0) + CLOCKS_US
        ),
        None,
    )
