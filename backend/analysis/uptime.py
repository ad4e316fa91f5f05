"""For which part of a time a site could be reached, as far as anybody knows. Pure.

What was not measured is neither up nor down, and what is planned (maintenance) counts for neither: both are left out
of the time that the share is of, as service level agreements have it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from backend.analysis.spans import Span, Spans, common, length_us, union, without


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of a site: when it was measured, was down, was down from a part of the regions only, and when
    nobody was to expect it."""

    measured: Spans
    down: Spans
    partly: Spans
    planned: Spans = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Uptime:
    """A time in figures: for how long it was measured outside what was planned, and for how long of that the site was
    down, or down from a part of the regions only; `outages` are the times in which it was down."""

    measured_us: int
    down_us: int
    partly_us: int
    outages: int

    @property
    def share(self) -> float | None:
        """The part of the measured time in which it was up, from 0 to 1; None where nothing was measured. From a
        part of the regions only it was up."""
        return 1 - self.down_us / self.measured_us if self.measured_us else None


def uptime_in(seen: Seen, within: Span) -> Uptime:
    """The figures of a stretch of time."""
    counting = without(common(seen.measured, (within,)), seen.planned)
    down = common(seen.down, counting)
    return Uptime(
        measured_us=length_us(counting),
        down_us=length_us(down),
        partly_us=length_us(without(common(seen.partly, counting), down)),
        outages=sum(bool(common((outage,), counting)) for outage in seen.down),
    )


def together(many: Iterable[Seen], planned: Spans = ()) -> Seen:
    """What is known of a site that several monitors measure: it is down when one of them says so."""
    found = list(many)
    return Seen(
        measured=union(*(one.measured for one in found)),
        down=union(*(one.down for one in found)),
        partly=union(*(one.partly for one in found)),
        planned=planned,
    )
