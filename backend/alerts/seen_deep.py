"""What deep probes and page loads found, read in bulk for those who judge it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from backend.alerts.judgement.findings import DeepLook, Found
from backend.alerts.parameters import MAX_DEEP_RUNS
from backend.instants import to_us
from backend.kept import retention_start
from backend.runs.queries.findings import JUDGED_SQL
from backend.runs.queries.rows import AT_HOME_SQL, ELSEWHERE_SQL
from backend.runs.sql import Row, array, fetch

# Of those that could not judge a cause one looks further back.
MAX_LOOKS = 3 * MAX_DEEP_RUNS
# What light runs found within this is news, if the last deep run did not find it.
NEWS_WITHIN = timedelta(minutes=10)

# Regions by code, with causes that light runs show there.
News = Mapping[str, Sequence[str]]

_DEEP = f"""
SELECT s.monitor_id, r.code, run.run_id, run.scheduled_for
FROM runs_schedule s JOIN fleet_region r ON r.id = s.region_id LEFT JOIN LATERAL (
    SELECT run_id, scheduled_for FROM runs_run
    WHERE runs_run.monitor_id = s.monitor_id AND runs_run.region_id = s.region_id
        AND scheduled_for >= %(since)s AND scheduled_for < %(until)s AND {JUDGED_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT %(limit)s
) run ON true
WHERE s.monitor_id = ANY(%(monitors)s::bigint[]) AND s.enabled
ORDER BY s.monitor_id, r.code, run.scheduled_for
"""
_CAUSES = """
SELECT run_id, finding, severity, saving_us FROM runs_finding
WHERE run_id = ANY(%(runs)s::uuid[]) AND scheduled_for >= %(since)s AND scheduled_for < %(until)s
ORDER BY run_id, position
"""
# What a deep run found that was refused for the certificate may be mended where one was measured since.
_NEWEST = f"""
SELECT s.monitor_id, r.code, deep.run_id, deep.scheduled_for, deep.outcome = 'failed' AND EXISTS (
    SELECT FROM runs_run WHERE runs_run.monitor_id = s.monitor_id AND runs_run.region_id = s.region_id
        AND runs_run.scheduled_for > deep.scheduled_for AND runs_run.scheduled_for < %(until)s
        AND outcome = 'measured' AND {AT_HOME_SQL}
)
FROM runs_schedule s JOIN fleet_region r ON r.id = s.region_id LEFT JOIN LATERAL (
    SELECT run_id, scheduled_for, outcome FROM runs_run
    WHERE runs_run.monitor_id = s.monitor_id AND runs_run.region_id = s.region_id
        AND scheduled_for >= %(since)s AND scheduled_for < %(until)s AND {JUDGED_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT 1
) deep ON true
WHERE s.monitor_id = ANY(%(monitors)s::bigint[]) AND s.enabled
"""
# The newest deep run of each region knows the cause, or could not judge it: then it is no news.
_NEWS = f"""
SELECT DISTINCT light.monitor_id, r.code, light.finding
FROM runs_finding light JOIN fleet_region r ON r.id = light.region_id
JOIN LATERAL (
    SELECT run_id, scheduled_for FROM runs_run
    WHERE runs_run.monitor_id = light.monitor_id AND runs_run.region_id = light.region_id
        AND scheduled_for >= %(since)s AND scheduled_for < %(until)s AND {JUDGED_SQL}
    ORDER BY scheduled_for DESC, attempt DESC LIMIT 1
) deep ON deep.scheduled_for < light.scheduled_for
WHERE light.monitor_id = ANY(%(monitors)s::bigint[]) AND light.scheduled_for >= %(lately)s
    AND light.scheduled_for < %(until)s AND light.severity IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM runs_run elsewhere WHERE elsewhere.run_id = light.run_id
            AND elsewhere.scheduled_for = light.scheduled_for AND elsewhere.trigger IN ({ELSEWHERE_SQL})
    )
    AND NOT EXISTS (
        SELECT FROM runs_finding known WHERE known.run_id = deep.run_id AND known.scheduled_for = deep.scheduled_for
            AND known.finding = light.finding
    )
"""


class Newest(NamedTuple):
    """The last deep run of a region, and its slot; None where there is none. `taken_again`: it was refused, and one was
    measured since."""

    run_id: UUID | None
    at: datetime | None
    taken_again: bool


def newest_of(monitors: Iterable[int], now: datetime) -> dict[int, dict[str, Newest]]:
    """By monitor and region. One statement."""
    found: dict[int, dict[str, Newest]] = defaultdict(dict)
    for monitor_id, code, run_id, at, taken_again in fetch(_NEWEST, _bounds(monitors, now)):
        found[monitor_id][code] = Newest(run_id, at, bool(taken_again))
    return dict(found)


def deep_looks(
    monitors: Iterable[int], now: datetime, *, since: datetime | None = None, limit: int = MAX_LOOKS
) -> dict[int, dict[str, list[DeepLook]]]:
    """The last deep runs by monitor and region, the newest last. Two statements, none without monitors."""
    chosen = list(monitors)
    if not chosen:
        return {}
    bounds = _bounds(chosen, now)
    if since is not None:
        bounds["since"] = max(since, retention_start(now))
    rows = [row for row in fetch(_DEEP, bounds | {"limit": limit}) if row[2] is not None]
    causes = _causes(rows, bounds)
    found: dict[int, dict[str, list[DeepLook]]] = defaultdict(lambda: defaultdict(list))
    for monitor_id, code, run_id, at in rows:
        found[monitor_id][code].append(_look(code, at, run_id, causes.get(run_id, ())))
    return {monitor_id: dict(regions) for monitor_id, regions in found.items()}


def new_in_light_runs(monitors: Iterable[int], now: datetime) -> dict[int, News]:
    """Causes that light runs found a moment ago and the last deep run of their region did not. One statement."""
    found: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    parameters = _bounds(monitors, now) | {"lately": now - NEWS_WITHIN}
    for monitor_id, code, finding in fetch(_NEWS, parameters):
        found[monitor_id][code].append(finding)
    return {monitor_id: dict(regions) for monitor_id, regions in found.items()}


def _bounds(monitors: Iterable[int], now: datetime) -> dict[str, object]:
    # A slot may lie ahead of our clock by as much as another process's clock does.
    return {"monitors": array(monitors), "since": retention_start(now), "until": now + timedelta(seconds=5)}


def _causes(rows: Sequence[Row], bounds: Mapping[str, object]) -> dict[UUID, list[Row]]:
    found: dict[UUID, list[Row]] = defaultdict(list)
    for row in fetch(_CAUSES, {**bounds, "runs": array(row[2] for row in rows)}) if rows else ():
        found[row[0]].append(row)
    return found


def _look(code: str, at: datetime, run_id: UUID, causes: Iterable[Row]) -> DeepLook:
    found: dict[str, Found] = {}
    open_ones = set()
    for _, finding, severity, saving_us in causes:
        if severity is None:
            open_ones.add(finding)
        else:
            # They come in the order in which to mend them: the first of several hosts is the worst.
            found.setdefault(finding, Found(severity, saving_us))
    return DeepLook(region=code, at_us=to_us(at), run_id=run_id.hex, found=found, not_judged=frozenset(open_ones))
