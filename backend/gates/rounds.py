"""Which run a gate makes next, and when a look is complete. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

# So many runs of a region may say nothing before it is given up: one for each that it should make, and a few more.
_SPARE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """So many runs a region at the first look, twice as many at each further one, up to the most."""

    per_region: int
    most: int
    discard: int

    @property
    def looks(self) -> int:
        return 1 + ceil(log2(self.most / self.per_region))

    def runs_at(self, look: int) -> int:
        """How many runs that count a region has at a look."""
        return min(self.per_region << (look - 1), self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The runs of one monitor in one region. `counting` have ended and say something of the site."""

    pending: int = 0
    discarded: int = 0
    counting: int = 0
    nothing: int = 0


def is_complete(tallies: Iterable[Tally], wanted: int) -> bool:
    """Whether every monitor in every region that is left has its runs."""
    return all(tally.counting >= wanted for tally in tallies)


def next_monitor(tallies: Mapping[int, Tally], plan: Plan, look: int) -> int | None:
    """Which monitor a region measures next; None while a run is under way, or when it has all.

    One at a time, so that a gate does not measure itself, and in turns, so that what drifts touches all alike.
    """
    if any(tally.pending for tally in tallies.values()):
        return None
    wanted = plan.runs_at(look)
    short = [monitor for monitor, tally in tallies.items() if tally.counting < wanted]
    return min(short, key=lambda monitor: (_done(tallies[monitor]), monitor), default=None)


def is_discarded(tally: Tally, plan: Plan) -> bool:
    """Whether the next run of a monitor only warms caches."""
    return tally.discarded < plan.discard


def is_hopeless(tallies: Sequence[Tally], plan: Plan) -> bool:
    """Whether a region's runs say nothing so often that it is left out."""
    return any(tally.nothing > max(_SPARE, plan.per_region) for tally in tallies)


def _done(tally: Tally) -> int:
    return tally.discarded + tally.counting
