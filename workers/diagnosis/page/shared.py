"""What a page asked for twice at once: a browser that brings a file already asks nobody for it again."""

from collections.abc import Iterable

from workers.diagnosis.page.instants import CLOCKS_US
from workers.measurement.waterfall import Request, ServedFrom


def carriers(rows: Iterable[Request], asked: Iterable[Request]) -> dict[int, int]:
    """By the number of each row that waited for the same file on its way here, that of the row that brought it: a hint
    that does not match (another `as`, no `crossorigin`) and a frame bring what the page then takes out of the cache."""
    waiting = [row for row in rows if row.served_from is ServedFrom.DISK_CACHE]
    by_url: dict[str, list[Request]] = {row.url: [] for row in waiting}
    for one in asked:
        if one.url in by_url and one.served_from is ServedFrom.NETWORK:
            by_url[one.url].append(one)
    found = {row.number: next((one for one in by_url[row.url] if _carries(one, row)), None) for row in waiting}
    return {number: one.number for number, one in found.items() if one is not None}


def _carries(one: Request, row: Request) -> bool:
    """Whether it came before the row was asked for had that waited for nothing."""
    end_us, row_end_us = one.timing.end_us or 0, row.timing.end_us or 0
    return one.number < row.number and row.timing.start_us < end_us <= row_end_us + CLOCKS_US
