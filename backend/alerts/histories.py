"""The past of a monitor as `backend.analysis` asks for it: out of stored runs that the schedule asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from backend.alerts.growth import BEFORE_FIRST_BYTE, left_us
from backend.alerts.judgement.steps import PHASES
from backend.alerts.metrics import BESIDE_PHASES, METRICS, metric_of
from backend.analysis.history import Series
from backend.analysis.user_timings import is_user_timing
from backend.runs.sql import COMPARABLE, Row, fetch
from backend.sites.models import Site
from backend.sites.queries import deploys_between

# A user timing of a run, in microseconds.
TIMING_SQL = "(run.timings->>%(metric)s)::bigint"
# What are phases themselves, or a part of one.
_PARTS = frozenset({*PHASES, "rtt_ms"})
# These end with the first byte: what the body takes is no part of them.
_WITHOUT_BODY = frozenset({"ttfb_ms", *_PARTS} - {"download_ms"})
_OF_FIRST_BYTE = ("ttfb_us", *BEFORE_FIRST_BYTE)
# Attribution needs a picture of before and after, not every run of a week.
_MOST_PHASE_RUNS = 5_000
_AT = "extract(epoch FROM run.scheduled_for)::float8"
_OF = f"""
FROM runs_run run WHERE run.monitor_id = %(monitor)s AND run.region_id = ANY(%(regions)s::bigint[])
    AND run.scheduled_for > %(since)s AND run.scheduled_for <= %(until)s
    AND run.trigger = 'schedule' AND run.outcome = 'measured' AND {COMPARABLE}
"""
_SAMPLES = "SELECT run.region_id, {at}, {value} {of} AND {value} IS NOT NULL ORDER BY 1, 2"
_PHASES = "SELECT run.region_id, {at}, {columns} {of} ORDER BY run.scheduled_for DESC LIMIT {limit}"
# Region by region, each by the end of its index: runs of a month would be read and sorted else.
_LAST = """
SELECT max({at}) FROM unnest(%(regions)s::bigint[]) AS region (id), LATERAL (
    SELECT run.scheduled_for {of} AND run.region_id = region.id AND run.scheduled_for < %(until)s
    ORDER BY run.scheduled_for DESC LIMIT 1
) run
"""
_TYPICAL = """
WITH mine AS (SELECT run.run_id, {value} AS value {of} AND {value} IS NOT NULL)
SELECT run_id FROM mine
ORDER BY abs(value - (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FROM mine)) LIMIT 1
"""


def instant(at: float) -> datetime:
    """Of Unix seconds."""
    return datetime.fromtimestamp(at, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHistory:
    """One metric of one monitor of that kind, in the door's unit. `regions` are codes by id."""

    monitor_id: int
    kind: str
    metric: str
    regions: Mapping[int, str]
    site: Site

    def samples(self, since: float, until: float) -> Mapping[str, Series]:
        """By region, what was measured in since < at <= until. One statement."""
        metric = metric_of(self.metric)
        statement = _SAMPLES.format(at=_AT, value=self._value, of=_OF)
        found: dict[str, tuple[list[float], list[float]]] = {code: ([], []) for code in self.regions.values()}
        for region_id, at, value in fetch(statement, self._between(since, until)):
            times, values = found[self.regions[region_id]]
            times.append(at)
            values.append(value * metric.scale)
        return found

    def deploys(self, since: float, until: float) -> Sequence[float]:
        """When new versions were deployed in since < at <= until. One statement."""
        after = timedelta(microseconds=1)
        found = deploys_between(self.site, instant(since) + after, instant(until) + after)
        return [deploy.at.timestamp() for deploy in found]

    def phases(self, codes: Sequence[str], *stretches: tuple[float, float]) -> dict[str, list[Series]]:
        """The phases that are part of the metric, and what a first byte took beside them, each by region of these, in
        since < at <= until of stretches that follow on one another, in order of time. One statement a stretch.
        """
        chosen = PHASES[:-1] if self.metric in _WITHOUT_BODY else PHASES
        columns = list(dict.fromkeys((*_OF_FIRST_BYTE, *(METRICS[phase].column for phase in chosen))))
        named = ", ".join(f"run.{column}" for column in columns)
        statement = _PHASES.format(at=_AT, columns=named, of=_OF, limit=_MOST_PHASE_RUNS)
        found_in = (fetch(statement, self._between(since, until, codes)) for since, until in stretches)
        rows = [row for found in found_in for row in reversed(found)]
        took = [dict(zip(columns, row[2:], strict=True)) for row in rows]
        found = {phase: self._by_region(rows, [one[METRICS[phase].column] for one in took]) for phase in chosen}
        if self.metric not in _PARTS:
            found[BESIDE_PHASES[self.kind].name] = self._by_region(rows, [left_us(one, "ttfb_us") for one in took])
        return found

    def _by_region(self, rows: Sequence[Row], values_us: Sequence[float | None]) -> list[Series]:
        found: dict[int, tuple[list[float], list[float]]] = {region_id: ([], []) for region_id in self.regions}
        for row, value_us in zip(rows, values_us, strict=True):
            if value_us is not None:
                times, values = found[row[0]]
                times.append(row[1])
                values.append(value_us / 1000)
        return list(found.values())

    def last_before(self, codes: Sequence[str], at: float) -> float | None:
        """When regions were measured last before an instant. One statement."""
        ((last,),) = fetch(_LAST.format(at=_AT, of=_OF), self._between(0, at, codes))
        return None if last is None else float(last)

    def typical_run(self, code: str, since: float, until: float) -> UUID | None:
        """The run of a region in the middle of its own: regions differ by more than changes do. One statement."""
        statement = _TYPICAL.format(of=_OF, value=self._value)
        rows = fetch(statement, self._between(since, until, [code]))
        return rows[0][0] if rows else None

    @property
    def _value(self) -> str:
        """What of a run it is. The name of a user timing is a parameter: it may be any text."""
        return TIMING_SQL if is_user_timing(self.metric) else f"run.{METRICS[self.metric].column}"

    def _between(self, since: float, until: float, codes: Sequence[str] | None = None) -> dict[str, object]:
        chosen = [region_id for region_id, code in self.regions.items() if codes is None or code in codes]
        return {
            "monitor": self.monitor_id,
            "metric": self.metric,
            "regions": chosen,
            "since": instant(max(since, 0)),
            "until": instant(until),
        }
