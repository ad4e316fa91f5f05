"""Which of several sites is quickest, and by how much, by the medians of blocks of days. Pure.

Like is held against like: from one region, only those hours or days count in which all were measured, so that agents
that stood still, sites that joined late and a site that was down make none look faster. The time is cut into blocks of
whole days: runs of one day are alike, as are hours that follow each other, and days hardly are. A block has a median of
each site, however many its runs, and only the differences of blocks are judged: by their mean without the largest and
the smallest one, so that one bad day moves nothing, and the interval that belongs to it, Student's of the winsorised
deviation (Tukey and McLaughlin, Sankhya A 25, 1963). Each site has busy hours of its own, and a day cannot tell them
from chance: what is shorter than a week is shown and not judged. Nor is a site that is measured more seldom than each
four hours: it is met at the same hours of each day, busy or quiet. Where runs fail in busy hours, what is left of a day
is quicker than the day: a median is known only as far as the failed ones leave it (`sketch.median`).

Neighbouring days are alike all the same where something lasts: with noise that is correlated over eight hours, the
medians of days are by a quarter. The interval is wider by what that hides (`_ALIKE`).
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import TypeVar

from backend.analysis.settings import DAY_S, HOUR_S
from backend.analysis.students import students

Key = TypeVar("Key", bound=Hashable)

DOUBT = 0.05
# What cannot be told apart says which difference is found four times in five.
_POWER = 0.8
_LEAST_DAYS, _BLOCKS = 7, 10
# Without the two outermost ones three are left.
LEAST_BLOCKS = 5
# What is measured less often is so at a few hours of the day, always the same: with eight busy hours that are slower by
# a third, of runs each six hours 68 of a hundred intervals of 30 days hold, of runs each four hours 97.
SELDOM_S = int(4 * HOUR_S)
# By how much a mean of blocks scatters more than it would if they were independent: the root of what a correlation of
# a quarter between neighbours adds to the variance of their mean, and takes from that among them.
_ALIKE = 1.25
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a time is cut: into `blocks` of `per_block` stretches of `width_s`. Stretches are numbered from 0, the newest
    one, on; those beyond the last block count for nothing. With fewer than LEAST_BLOCKS nothing is judged."""

    width_s: int
    blocks: int
    per_block: int

    @property
    def is_judged(self) -> bool:
        return self.blocks >= LEAST_BLOCKS

    def block_of(self, stretch: int) -> int:
        return stretch // self.per_block

    def full(self, stretches: Collection[int]) -> frozenset[int]:
        """The blocks of which these are at least half."""
        counts = [0] * self.blocks
        for stretch in stretches:
            if self.block_of(stretch) < self.blocks:
                counts[self.block_of(stretch)] += 1
        return frozenset(block for block, count in enumerate(counts) if 2 * count >= self.per_block)


@dataclass(frozen=True, slots=True, kw_only=True)
class Middle:
    """A median in us, and by how much it may be off."""

    value_us: float
    error_us: float


# By the number of a block.
Blocks = Mapping[int, Middle]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much longer one site takes than another, below zero where it is faster; `low_us` to `high_us` holds the truth
    as surely as was asked for. `least_us` is what would have been told from none four times in five."""

    value_us: float
    low_us: float
    high_us: float
    least_us: float

    @property
    def is_slower(self) -> bool:
        return self.low_us > 0

    @property
    def is_faster(self) -> bool:
        return self.high_us < 0


def plan_of(span_s: int, longest_interval_s: int) -> Plan:
    """By the hour up to a week, where all are measured each hour, and else by the day. A week is seven blocks, what is
    longer ten; one is what is shorter, or where one is measured too seldom."""
    days = int(span_s // DAY_S)
    width_s = int(HOUR_S if days <= _LEAST_DAYS and longest_interval_s <= HOUR_S else DAY_S)
    if days < _LEAST_DAYS or longest_interval_s > SELDOM_S:
        return Plan(width_s=width_s, blocks=1, per_block=max(1, span_s // width_s))
    blocks = min(days, _BLOCKS)
    return Plan(width_s=width_s, blocks=blocks, per_block=int(days // blocks * DAY_S) // width_s)


def is_enough(runs: int, plan: Plan, interval_s: int) -> bool:
    """Whether a stretch says how a site was in it: at least half of what was due was measured."""
    return 2 * runs * interval_s >= plan.width_s


def held_together(measured: Mapping[Key, Collection[int]], plan: Plan) -> tuple[frozenset[Key], frozenset[int]]:
    """Which of some sites can be compared from a region, by the stretches in which each was measured enough, and the
    stretches that count: those of all of them. There are none of either where these are too few."""
    least = min(plan.blocks, LEAST_BLOCKS)
    able = frozenset(key for key, own in measured.items() if len(plan.full(own)) >= least)
    common = frozenset.intersection(*(frozenset(measured[key]) for key in able)) if able else frozenset()
    blocks = plan.full(common)
    if len(blocks) < least:
        return frozenset(), frozenset()
    return able, frozenset(stretch for stretch in common if plan.block_of(stretch) in blocks)


def averaged(regions: Sequence[Blocks]) -> Blocks:
    """A site from several regions, each of which counts as much, by the blocks that all of them have."""
    common = frozenset.intersection(*(frozenset(blocks) for blocks in regions)) if regions else frozenset()
    return {block: _mean([blocks[block] for blocks in regions]) for block in sorted(common)}


def differences(reference: Blocks, others: Mapping[Key, Blocks]) -> dict[Key, Difference]:
    """By how much each of the others takes longer, without those of which too few blocks are known. All intervals hold
    the truth together, with a doubt of DOUBT (Bonferroni)."""
    found = {key: _difference(reference, other, DOUBT / len(others)) for key, other in others.items()}
    return {key: one for key, one in found.items() if one is not None}


def _difference(reference: Blocks, other: Blocks, doubt: float) -> Difference | None:
    both = sorted(reference.keys() & other.keys())
    if len(both) < LEAST_BLOCKS:
        return None
    values = sorted(other[block].value_us - reference[block].value_us for block in both)
    inner = values[1:-1]
    winsorised = [inner[0], *inner, inner[-1]]
    error_us = _ALIKE * stdev(winsorised) * len(values) ** 0.5 / len(inner)
    off_us = fmean(other[block].error_us + reference[block].error_us for block in both)
    freedom = len(inner) - 1
    bound_us = students(_NORMAL.inv_cdf(1 - doubt / 2), freedom) * error_us + off_us
    value_us = fmean(inner)
    return Difference(
        value_us=value_us,
        low_us=value_us - bound_us,
        high_us=value_us + bound_us,
        least_us=bound_us + students(_NORMAL.inv_cdf(_POWER), freedom) * error_us,
    )


def _mean(middles: Sequence[Middle]) -> Middle:
    return Middle(value_us=fmean(one.value_us for one in middles), error_us=fmean(one.error_us for one in middles))
