"""Over HTTP/1.1 a request waits until the answer before it has come over its connection."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable

from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.instants import CLOCKS_US
from workers.measurement.waterfall import Request


class Queues:
    """Of every connection that carries one request at a time."""

    def __init__(self, rows: Iterable[Request]) -> None:
        self._ended: dict[int, list[Request]] = defaultdict(list)
        for row in sorted(rows, key=_ended_us):
            if row.connection is not None and row.protocol in ONE_AT_A_TIME:
                self._ended[row.connection].append(row)

    def ahead_of(self, row: Request) -> Request | None:
        """The one whose last byte a row waited for, to be sent over the same connection."""
        if row.connection is None or row.timing.send is None:
            return None
        sent_us, ended = row.timing.send.start_us, self._ended.get(row.connection, [])
        place = bisect_right(ended, sent_us + CLOCKS_US, key=_ended_us)
        last = ended[place - 1] if place else row
        is_awaited = last.timing.start_us <= row.timing.start_us < _ended_us(last) < _ended_us(row)
        return last if is_awaited and sent_us - _ended_us(last) <= CLOCKS_US else None

    def sooner_us(self, row: Request, own_us: Callable[[Request], int]) -> int:
        """By how much sooner a row comes where each comes sooner by so much for itself: it is sent as much sooner as
        the one ahead of it comes, and never before it was asked for."""
        queue = [row]
        while (before := self.ahead_of(queue[-1])) is not None:
            queue.append(before)
        sooner_us = 0
        for one in reversed(queue):
            sooner_us = max(own_us(one), min(sooner_us, _waited_us(one)))
        return sooner_us


def _waited_us(row: Request) -> int:
    return 0 if row.timing.send is None else row.timing.send.start_us - row.timing.start_us


def _ended_us(row: Request) -> int:
    return row.timing.end_us or 0
