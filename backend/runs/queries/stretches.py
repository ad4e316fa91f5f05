"""What hours or days of several monitors are rolled up into, added up to blocks."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet

from backend.analysis.side_by_side import Blocks, Middle, Plan
from backend.analysis.sketch import median
from backend.runs.models import Rollup

# Rows that are held at once: a sketch has some fifty counts, and little is kept of it.
_AT_ONCE = 2_000
# The keys of a monitor and a region.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """What is read: hours or days of these monitors from these regions, as `plan` numbers them back from `until`."""

    monitors: Collection[int]
    regions: Collection[int]
    since: datetime
    until: datetime
    plan: Plan

    def number_of(self, at: datetime) -> int:
        return (self.until - at) // timedelta(seconds=self.plan.width_s) - 1

    def rows(self) -> "QuerySet[Rollup]":
        return Rollup.objects.filter(
            monitor__in=self.monitors,
            region__in=self.regions,
            width_s=self.plan.width_s,
            at__gte=self.since,
            at__lt=self.until,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Runs of a stretch by what came of them. `comparable` are those measured that others' work did not disturb, where
    any of them has the metric."""

    at: datetime
    measured: int
    failed: int
    missed: int
    disturbed: int
    comparable: int


@dataclass(slots=True)
class Sums:
    """Sketches added up, by metric: of all stretches that count, and of the first metric by block and by stretch.
    `failed` are runs by block: of whose time nothing is known."""

    whole: list[Counter[int]]
    blocks: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    failed: Counter[int] = field(default_factory=Counter)
    medians_us: dict[int, float] = field(default_factory=dict)

    def medians_of_blocks(self) -> Blocks:
        found = {block: median(counts, self.failed[block]) for block, counts in self.blocks.items()}
        return {
            block: Middle(value_us=one[0], error_us=one[1]) for block, one in sorted(found.items()) if one is not None
        }


def counts_of(stretches: Stretches, metric: str) -> dict[Place, dict[int, Counts]]:
    """By place and the number of the stretch. One statement."""
    has_metric = ExpressionWrapper(Q(sketches__has_key=metric), output_field=BooleanField())
    rows = stretches.rows().annotate(has_metric=has_metric).order_by("at")
    columns = ("monitor_id", "region_id", "at", "measured", "failed", "missed", "disturbed", "has_metric")
    found: dict[Place, dict[int, Counts]] = defaultdict(dict)
    for monitor, region, at, measured, failed, missed, disturbed, is_there in rows.values_list(*columns):
        found[monitor, region][stretches.number_of(at)] = Counts(
            at=at,
            measured=measured,
            failed=failed,
            missed=missed,
            disturbed=disturbed,
            comparable=measured - disturbed if is_there else 0,
        )
    return found


def sums_of(
    stretches: Stretches, metrics: Sequence[str], counting: Mapping[Place, Collection[int]]
) -> dict[Place, Sums]:
    """By place: of the stretches that count there, while medians are of all that are comparable. One statement."""
    # Where all runs were disturbed, they are in the sketches all the same.
    rows = stretches.rows().filter(disturbed__lt=F("measured"))
    columns = ("monitor_id", "region_id", "at", "failed", *(f"sketches__{metric}" for metric in metrics))
    found: dict[Place, Sums] = defaultdict(lambda: Sums([Counter() for _ in metrics]))
    for monitor, region, at, failed, *sketches in rows.values_list(*columns).iterator(_AT_ONCE):
        number, sums = stretches.number_of(at), found[monitor, region]
        # JSON knows only texts as keys.
        counts = [{int(bucket): count for bucket, count in (one or {}).items()} for one in sketches]
        middle = median(counts[0])
        if middle is not None:
            sums.medians_us[number] = middle[0]
        if number in counting.get((monitor, region), ()):
            block = stretches.plan.block_of(number)
            sums.blocks[block].update(counts[0])
            sums.failed[block] += failed
            for whole, one in zip(sums.whole, counts, strict=True):
                whole.update(one)
    return found
