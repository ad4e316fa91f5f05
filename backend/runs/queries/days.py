"""What is rolled up of days, of many monitors at once."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import date, datetime

from django.db.models import F

from backend.analysis.sketch import quantile
from backend.runs.models import Rollup

# How long what a day is rolled up into is.
DAY_S = 86_400
# Rows that are held at once: a sketch has some fifty counts, and nothing is kept of it but a number.
_AT_ONCE = 2_000

# Medians in us of days, by the key of a monitor and then by that of a region.
DaysOf = Mapping[int, Mapping[int, Mapping[date, float]]]


def medians_of_days(monitors: Collection[int], metric: str, since: datetime, until: datetime) -> DaysOf:
    """Those of one of METRICS for each day in UTC that begins from `since` until before `until`; days without any value
    that can be compared are left out. One statement."""
    rows = Rollup.objects.filter(monitor__in=monitors, width_s=DAY_S, at__gte=since, at__lt=until)
    # Where all runs were disturbed, they are in the sketches all the same.
    comparable = rows.filter(disturbed__lt=F("measured"))
    columns = comparable.values_list("monitor_id", "region_id", "at", f"sketches__{metric}")
    found: dict[int, dict[int, dict[date, float]]] = defaultdict(lambda: defaultdict(dict))
    for monitor, region, at, counts in columns.iterator(_AT_ONCE):
        # JSON knows only texts as keys.
        value_us = quantile({int(bucket): count for bucket, count in (counts or {}).items()}, 0.5)
        if value_us is not None:
            found[monitor][region][at.date()] = value_us
    return found
