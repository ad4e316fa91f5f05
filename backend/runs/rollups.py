"""What stays when raw runs go: outcomes and sketches of every hour and day of the schedule, which can be added up.

An hour is written when it is over, and looked at again two hours long, a day for one day, for results that came late:
those that come later than that are in the runs only.
"""

from datetime import datetime, timedelta
from math import log

from backend.analysis.sketch import GAMMA
from backend.instants import EPOCH
from backend.kept import retention_start
from backend.runs.queries.series import METRICS
from backend.runs.sql import COMPARABLE, execute, fetch

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# How many stretches back a stretch is looked at again, for results that came late.
_AGAIN = {HOUR: 2, DAY: 1}
# The sweeper has other duties: after a long pause the rest follows at its next turns.
_STRETCHES_AT_ONCE = 48

_VALUES = ", ".join(f"('{metric}', {metric})" for metric in METRICS)
_IN_STRETCH = "scheduled_for >= %(since)s AND scheduled_for < %(until)s AND trigger = 'schedule'"
# Runs are only ever added: what is written, and counts as many, is right. Most of a stretch is so at its second turn.
_ROLL_UP = f"""
WITH counted AS (
    SELECT monitor_id, region_id, count(*) FILTER (WHERE outcome = 'measured') AS measured,
        count(*) FILTER (WHERE outcome = 'failed') AS failed, count(*) FILTER (WHERE outcome = 'missed') AS missed,
        count(*) FILTER (WHERE outcome = 'measured' AND NOT ({COMPARABLE})) AS disturbed
    FROM runs_run WHERE {_IN_STRETCH} GROUP BY 1, 2
), changed AS (
    SELECT counted.* FROM counted
    JOIN sites_monitor monitor ON monitor.id = counted.monitor_id
    JOIN fleet_region region ON region.id = counted.region_id
    LEFT JOIN runs_rollup known ON known.monitor_id = counted.monitor_id AND known.region_id = counted.region_id
        AND known.width_s = %(width_s)s AND known.at = %(since)s
    WHERE (known.measured, known.failed, known.missed)
        IS DISTINCT FROM (counted.measured, counted.failed, counted.missed)
), cell AS (
    SELECT monitor_id, region_id, metric,
        CASE WHEN value > 1 THEN ceil(ln(value::float8) / {log(GAMMA)!r})::int ELSE 0 END AS bucket, count(*) AS values
    FROM runs_run JOIN changed USING (monitor_id, region_id), LATERAL (
        VALUES {_VALUES} UNION ALL SELECT key, value::bigint FROM jsonb_each_text(timings)
    ) AS seen (metric, value)
    WHERE {_IN_STRETCH} AND outcome = 'measured' AND value IS NOT NULL AND (disturbed = measured OR {COMPARABLE})
    GROUP BY 1, 2, 3, 4
), sketch AS (
    SELECT monitor_id, region_id, metric, jsonb_object_agg(bucket, values) AS counts FROM cell GROUP BY 1, 2, 3
), sketches AS (
    SELECT monitor_id, region_id, jsonb_object_agg(metric, counts) AS by_metric FROM sketch GROUP BY 1, 2
)
INSERT INTO runs_rollup (monitor_id, region_id, width_s, at, measured, failed, missed, disturbed, sketches)
SELECT monitor_id, region_id, %(width_s)s, %(since)s, measured, failed, missed, disturbed, coalesce(by_metric, '{{}}')
FROM changed LEFT JOIN sketches USING (monitor_id, region_id)
ON CONFLICT (monitor_id, region_id, width_s, at) DO UPDATE SET measured = excluded.measured, failed = excluded.failed,
    missed = excluded.missed, disturbed = excluded.disturbed, sketches = excluded.sketches
"""


def roll_up(now: datetime) -> int:
    """Writes the hours and days that are over, at most 48 new ones of each; how many rows were new or have changed.
    Harmless to repeat.
    """
    return sum(_roll_up_stretch(since, width) for width in (HOUR, DAY) for since in _due(now, width))


def _due(now: datetime, width: timedelta) -> list[datetime]:
    """The stretches to look at, oldest first: the newest written ones again, then what follows from the next run on."""
    newest = _newest(width)
    again = [] if newest is None else [newest - step * width for step in reversed(range(_AGAIN[width]))]
    first = _next_run(retention_start(now) if newest is None else newest + width)
    if first is None:
        return again
    begin = _begin(first, width)
    count = max(0, (_begin(now, width) - begin) // width)
    return again + [begin + step * width for step in range(min(count, _STRETCHES_AT_ONCE))]


def _begin(at: datetime, width: timedelta) -> datetime:
    return EPOCH + (at - EPOCH) // width * width


def _newest(width: timedelta) -> datetime | None:
    """The newest stretch written."""
    ((newest,),) = fetch("SELECT max(at) FROM runs_rollup WHERE width_s = %s", [width.total_seconds()])
    return newest if isinstance(newest, datetime) else None


def _next_run(since: datetime) -> datetime | None:
    """When the first run at or after an instant was due."""
    ((at,),) = fetch("SELECT min(scheduled_for) FROM runs_run WHERE scheduled_for >= %s", [since])
    return at if isinstance(at, datetime) else None


def _roll_up_stretch(since: datetime, width: timedelta) -> int:
    return execute(_ROLL_UP, {"since": since, "until": since + width, "width_s": width.total_seconds()})
