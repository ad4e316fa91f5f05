"""Which run a gate makes next, and when a look is complete. Pure.

Where a gate compares two addresses, it measures them in turns: before, after, after, before. So whatever drifts
meanwhile touches both alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

from backend.analysis.gate_types import MIN_FRESH
from backend.gates.models import Gate, Side

# A monitor and what it measures.
Subject = tuple[int, str]

# So many runs of a region may say nothing before it is given up: one for each that it should make, and a few more.
_SPARE = 3
_OTHER: Mapping[str, Side] = {Side.BEFORE: Side.AFTER, Side.AFTER: Side.BEFORE}


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


def rounds_of(gate: Gate) -> Plan:
    return Plan(per_region=gate.runs_per_region, most=gate.max_per_region, discard=gate.discard_first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The runs of one subject in one region. `counting` have ended and say something of the site, if only that they
    failed; of these are `lost` those that failed, or whose other half of a pair did."""

    pending: int = 0
    discarded: int = 0
    counting: int = 0
    lost: int = 0
    nothing: int = 0


def is_complete(tallies: Mapping[Subject, Tally], plan: Plan, look: int) -> bool:
    """Whether every subject of a region has its runs."""
    return not any(_is_short(tally, plan, look) for tally in tallies.values())


def next_subject(tallies: Mapping[Subject, Tally], plan: Plan, look: int, *, turn: int = 0) -> Subject | None:
    """What a region measures next; None while a run is under way, or when it has all.

    One at a time, so that a gate does not measure itself, and in turns, so that what drifts touches all alike. The
    second run of a pair follows its first at once; `turn` is the region's number: every other begins the other way.
    """
    if any(tally.pending for tally in tallies.values()):
        return None
    short = [subject for subject, tally in tallies.items() if _is_short(tally, plan, look)]

    def order(subject: Subject) -> tuple[bool, int, int, bool]:
        monitor, side = subject
        done = _done(tallies[subject])
        other = tallies.get(other_half(subject))
        leads = side == (Side.BEFORE if (done + turn) % 2 == 0 else Side.AFTER)
        return other is None or _done(other) <= done, done, monitor, not leads

    return min(short, key=order, default=None)


def is_discarded(tally: Tally, plan: Plan) -> bool:
    """Whether the next run of a subject only warms caches."""
    return tally.discarded < plan.discard


def is_hopeless(tallies: Sequence[Tally], plan: Plan) -> bool:
    """Whether a region's runs say nothing so often that it is left out."""
    return any(tally.nothing > max(_SPARE, plan.per_region) for tally in tallies)


def _is_short(tally: Tally, plan: Plan, look: int) -> bool:
    """Where one run of three, or one pair, is lost there is another, since two say too little and would leave the
    region out. Where most are there is not."""
    is_spoilt = tally.counting - tally.lost < MIN_FRESH and 2 * tally.lost < tally.counting
    return tally.counting < plan.runs_at(look) or is_spoilt


def other_half(subject: Subject) -> Subject:
    """The other side of the same monitor."""
    monitor, side = subject
    return monitor, _OTHER[side]


def _done(tally: Tally) -> int:
    return tally.discarded + tally.counting
