"""In which times runs told anything of their sites, by the hour, for as far back as anything is kept."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from backend.analysis.spans import Spans
from backend.instants import to_us
from backend.runs.queries.rollups import rolled_up_until
from backend.runs.sql import array, fetch
from backend.sites.models import MAX_INTERVAL_S

_HOUR = timedelta(hours=1)
# No run holds for longer.
_LONGEST = timedelta(seconds=MAX_INTERVAL_S)
# What a run says holds for its hour, and where monitors run less often until the next is due.
_TOLD = """
WITH hour AS (
    SELECT monitor_id, at, measured > 0 AS answered, failed > 0 AS failed FROM runs_rollup
    WHERE monitor_id = ANY(%(monitors)s::bigint[]) AND width_s = 3600
        AND at > %(before)s AND at < %(until)s
    UNION ALL
    SELECT monitor_id, date_trunc('hour', scheduled_for, 'UTC'), outcome = 'measured', outcome = 'failed'
    FROM runs_run
    WHERE monitor_id = ANY(%(monitors)s::bigint[]) AND trigger = 'schedule'
        AND scheduled_for >= %(newer)s AND scheduled_for < %(until)s
    GROUP BY 1, 2, 3, 4
), stretch AS (
    SELECT hour.*, tstzrange(at, at + greatest(interval '1 hour', monitor.interval_s * interval '1 second')) AS held
    FROM hour JOIN sites_monitor monitor ON monitor.id = hour.monitor_id
)
SELECT monitor_id, range_agg(held) FILTER (WHERE answered), range_agg(held) FILTER (WHERE failed)
FROM stretch GROUP BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """When a monitor's runs by the clock said anything: hours in which one was answered, and in which one failed, by
    the site's fault or by ours."""

    answered: Spans = ()
    failed: Spans = ()


def told_by(monitors: Collection[int], since: datetime, until: datetime) -> Mapping[int, Told]:
    """By monitor; of those that are not there nothing was told. It may reach beyond the time that is asked for. Two
    statements: of runs that are rolled up no partition is looked into."""
    before = since - _LONGEST
    newer = max(before, rolled_up_until(_HOUR))
    rows = fetch(_TOLD, {"monitors": array(monitors), "before": before, "newer": newer, "until": until})
    return {monitor: Told(answered=_spans(answered), failed=_spans(failed)) for monitor, answered, failed in rows}


def _spans(ranges: Any) -> Spans:
    """Disjoint and in order already, as PostgreSQL's multiranges are."""
    return tuple((to_us(one.lower), to_us(one.upper)) for one in ranges or ())
