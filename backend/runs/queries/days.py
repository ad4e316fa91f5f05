"""What is rolled up of days, of many monitors at once."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import date, datetime

from backend.analysis.sketch import Sketch
from backend.runs.models import Rollup

# How long what a day is rolled up into is.
DAY_S = 86_400

# By the keys of a monitor and a region.
DaysOf = Mapping[tuple[int, int], Mapping[date, Sketch]]


def days_of(monitors: Collection[int], metric: str, since: datetime, until: datetime) -> DaysOf:
    """Sketches of one of METRICS for each day in UTC that begins from `since` until before `until`; days without any
    value are left out. One statement."""
    rows = Rollup.objects.filter(monitor__in=monitors, width_s=DAY_S, at__gte=since, at__lt=until)
    found: dict[tuple[int, int], dict[date, Sketch]] = defaultdict(dict)
    for monitor, region, at, counts in rows.values_list("monitor_id", "region_id", "at", f"sketches__{metric}"):
        if counts:
            # JSON knows only texts as keys.
            found[monitor, region][at.date()] = {int(bucket): count for bucket, count in counts.items()}
    return found
