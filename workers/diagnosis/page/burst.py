"""What came together over a line, and by how much sooner each of it comes where some have become smaller: it need not
wait for what no longer comes."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import inf

from workers.diagnosis.page.hosts import ONE_AT_A_TIME
from workers.diagnosis.page.line import ends_us
from workers.diagnosis.page.loads import Load, begun, rest_rate, size_of, whole_of
from workers.diagnosis.page.pauses import flow_rate
from workers.diagnosis.page.spans import overlaps
from workers.diagnosis.probe.slow_start import FIRST_FLIGHT_BYTES, further_flights, line_rate
from workers.measurement.connection import Pause
from workers.measurement.timing import Span
from workers.measurement.waterfall import Request

# A line that carries less than this share of what it was seen to carry waits for something else.
_FULL = 0.75
# What is less than this share of all bytes says little of the line.
_PART = 0.25
# So near to what was seen a model explains it, as a share of the time.
_ALIKE = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class Burst:
    """By number, what came while others of it did, as one connection was seen, whose rows are `rows` and whose pauses
    `pauses` where the line was idle. `is_one_window`: all came over that."""

    seen: Mapping[int, Load]
    rows: Sequence[Request]
    pauses: Sequence[Pause]
    trip_us: int
    is_one_window: bool

    @cached_property
    def loads(self) -> dict[int, Load]:
        """With what the line took for the record that the first one began with: it carried none of it quicker than the
        rest."""
        number, first = min(self.seen.items(), key=lambda one: one[1].span.start_us)
        rate = rest_rate(self.seen.values(), self.pauses)
        if not first.held_bytes or not rate:
            return dict(self.seen)
        took_us = min(first.held_us, round(first.held_bytes / rate))
        return dict(self.seen) | {number: begun(first, first.span.start_us - took_us)}

    @cached_property
    def whole(self) -> Span:
        return whole_of(self.loads.values())

    @cached_property
    def size_bytes(self) -> int:
        return sum(map(size_of, self.loads.values()))

    @cached_property
    def _quick_rate(self) -> float:
        return _quick_rate(self.loads.values())

    @cached_property
    def is_full(self) -> bool:
        """Whether it left the line idle at no time."""
        return self.size_bytes / self.whole.duration_us >= _FULL * self._quick_rate

    @cached_property
    def line_rate(self) -> float:
        """Bytes in a microsecond."""
        return max(self.size_bytes / self.whole.duration_us, self._quick_rate)

    @cached_property
    def has_grown(self) -> bool:
        """Whether the window of its connection had grown as large as its line is: it had stood still for less than a
        round trip, so that such pauses were seen, and did so no more."""
        before = (one for one in self.pauses if one.span.end_us <= self.whole.start_us)
        has_paused = any(one.span.duration_us < self.trip_us for one in before)
        return self.is_one_window and has_paused and not any(overlaps(one.span, self.whole) for one in self.pauses)

    @cached_property
    def grown_rate(self) -> float:
        """What the line carries once the window of its connection has grown, and between its pauses."""
        rate = line_rate(self.size_bytes, self.whole.duration_us, self.trip_us)
        if self.has_grown or not self.is_one_window or rate == inf:
            return self.line_rate
        return max(self.line_rate, rate, flow_rate(self.size_bytes, self.whole, self.pauses))

    @cached_property
    def shared_ends_us(self) -> dict[int, float]:
        """When each would have come, had all shared the line equally."""
        return shared_ends_us(self.loads, self.grown_rate)

    @cached_property
    def ended(self) -> tuple[list[int], list[int]]:
        """When they had come, in order, and their numbers."""
        ends = sorted((load.span.end_us, number) for number, load in self.loads.items())
        return [end_us for end_us, _ in ends], [number for _, number in ends]

    @cached_property
    def ended_bytes(self) -> list[int]:
        """How many bytes the first so many of these have."""
        return list(accumulate((self.loads[number].size_bytes for number in self.ended[1]), initial=0))


@dataclass(frozen=True)
class Lighter:
    """The same where so many bytes fewer come of each, by number."""

    fewer: Mapping[int, int]
    burst: Burst

    def sooner_us(self, row: Request) -> int:
        """By how much sooner the last byte of one of these comes: nothing where they left the line idle at times. The
        first byte comes as late as it did, what it waited for not being known, but where it waited for its turn."""
        burst, own = self.burst, self.burst.loads[row.number]
        if not burst.is_full:
            return 0
        lost, left = self._lost_until(own.span.end_us)
        least_us = max(
            own.span.start_us + self._loads[row.number].size_bytes / burst.grown_rate,
            burst.whole.start_us + burst.trip_us * further_flights(left, FIRST_FLIGHT_BYTES + self._before_bytes),
            self._flown_us(row),
        )
        gained_us = max(lost / burst.grown_rate, self._shared_gain_us(row.number))
        return max(0, round(min(gained_us, own.span.end_us - least_us)))

    @cached_property
    def _loads(self) -> dict[int, Load]:
        loads = self.burst.loads.items()
        return {
            number: replace(one, size_bytes=max(1, one.size_bytes - self.fewer.get(number, 0))) for number, one in loads
        }

    @cached_property
    def _before_bytes(self) -> int:
        """What would have come over a connection before, whose window had grown."""
        at_us, rows = self.burst.whole.start_us, self.burst.rows if self.burst.has_grown else ()
        before = (one for one in rows if (one.timing.end_us or at_us) < at_us)
        return sum((one.transferred_bytes or 0) - self.fewer.get(one.number, 0) for one in before)

    @cached_property
    def _ended_lost(self) -> list[int]:
        return list(accumulate(map(self._lost, self.burst.ended[1]), initial=0))

    def _lost(self, number: int) -> int:
        return self.burst.loads[number].size_bytes - self._loads[number].size_bytes

    def _lost_until(self, at_us: int) -> tuple[float, float]:
        """Of what had come at an instant, how many bytes come no more and how many do: of those still on their way
        together no more than the line had to spare."""
        burst, (ends, numbers) = self.burst, self.burst.ended
        place, span = bisect_right(ends, at_us), Span(start_us=self.burst.whole.start_us, end_us=at_us)
        later = {number: burst.loads[number].bytes_in(span) for number in numbers[place:]}
        later_bytes = sum(later.values())
        spare = max(0.0, burst.line_rate * span.duration_us - burst.ended_bytes[place])
        share = min(1.0, spare / max(1.0, later_bytes))
        lost_later = sum(came * self._lost(number) / burst.loads[number].size_bytes for number, came in later.items())
        lost = self._ended_lost[place] + share * lost_later
        return lost, burst.ended_bytes[place] + share * later_bytes - lost

    def _flown_us(self, row: Request) -> int:
        """When the last flight of one comes at the earliest that had begun to come before its first byte could be read,
        and had a window for itself."""
        load, first_us = self._loads[row.number], row.timing.first_byte_us or 0
        is_alone = row.protocol in ONE_AT_A_TIME and load.span.start_us < first_us
        return load.span.start_us + self.burst.trip_us * further_flights(load.size_bytes) if is_alone else 0

    def _shared_gain_us(self, number: int) -> float:
        """Where all shared the line equally, a smaller file has less to wait for of those that stay as they were.
        Nothing where they came in another way."""
        span, now_us = self.burst.loads[number].span, self.burst.shared_ends_us[number]
        return now_us - self._ends_us[number] if abs(now_us - span.end_us) <= _ALIKE * span.duration_us else 0.0

    @cached_property
    def _ends_us(self) -> dict[int, float]:
        return shared_ends_us(self._loads, self.burst.grown_rate)


def shared_ends_us(loads: Mapping[int, Load], rate: float) -> dict[int, float]:
    """When each would come, if all shared a line of that rate equally."""
    return dict(zip(loads, ends_us([*loads.values()], rate), strict=True))


def _quick_rate(loads: Collection[Load]) -> float:
    """What the quickest came at, as far as they are no small part: a few bytes come at any rate."""
    rates = sorted(((_rate_of(load), load.size_bytes) for load in loads), reverse=True)
    part, sums = _PART * sum(load.size_bytes for load in loads), accumulate(size_bytes for _, size_bytes in rates)
    return next(rate for (rate, _), so_far in zip(rates, sums, strict=True) if so_far >= part)


def _rate_of(load: Load) -> float:
    return (load.size_bytes - load.held_bytes) / load.span.duration_us
