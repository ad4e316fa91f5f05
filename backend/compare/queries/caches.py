"""How often the CDN had an asset, over time: what its caches said to the first exchange of each pair.

The second one comes right after it, and finds what the first has brought.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backend.compare.models import Pairing
from backend.compare.samples import Window
from backend.fleet.models import Region
from backend.runs.sql import fetch
from workers.measurement.pair import CacheState

# As many as can be told apart on a phone: an hour each of a day, six hours each of a week.
BUCKETS = 28
_LEAST_WIDTH = timedelta(hours=1)
_HITS = """
SELECT run.region_id, floor(extract(epoch FROM run.scheduled_for - %(since)s) / %(width_s)s)::int AS place,
    count(*) FILTER (WHERE leg.cache = %(hit)s), count(*)
FROM runs_run run JOIN runs_leg leg ON leg.run_id = run.run_id AND leg.scheduled_for = run.scheduled_for
WHERE run.monitor_id = %(monitor)s AND run.region_id = ANY(%(regions)s::bigint[])
    AND run.scheduled_for >= %(from)s AND run.scheduled_for < %(until)s AND leg.scheduled_for >= %(from)s
    AND run.outcome = 'measured' AND run.trigger = 'schedule'
    AND leg.leg = 'a' AND NOT leg.reused AND leg.cache <> %(unknown)s
GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """Of so many answers that said so, how many came from the cache."""

    hits: int = 0
    told: int = 0

    @property
    def rate(self) -> float | None:
        return self.hits / self.told if self.told else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionHits:
    """One region over time: a bucket each `width` from `since` on, the oldest first."""

    region: Region
    since: datetime
    width: timedelta
    buckets: tuple[Hits, ...]

    @property
    def all(self) -> Hits:
        return Hits(hits=sum(one.hits for one in self.buckets), told=sum(one.told for one in self.buckets))


def hits_over_time(pairing: Pairing, regions: Sequence[Region], window: Window) -> list[RegionHits]:
    """Of a pairing's CDN, by region. One statement."""
    period = window.until - window.since
    width = max(period / BUCKETS, _LEAST_WIDTH)
    parameters = {
        "monitor": pairing.monitor_id,
        "regions": [region.pk for region in regions],
        "since": window.since,
        "from": max(window.since, pairing.compared_from),
        "until": window.until,
        "width_s": width.total_seconds(),
        "hit": CacheState.HIT.value,
        "unknown": CacheState.UNKNOWN.value,
    }
    found = {(region, place): Hits(hits=hits, told=told) for region, place, hits, told in fetch(_HITS, parameters)}
    count = -(-period // width)
    return [
        RegionHits(
            region=region,
            since=window.since,
            width=width,
            buckets=tuple(found.get((region.pk, place), Hits()) for place in range(count)),
        )
        for region in regions
    ]
