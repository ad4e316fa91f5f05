"""From what the database knows of a monitor to what its page draws: the trend, the strip of last runs, their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.utils import timezone

from backend.fleet.models import Region
from backend.runs import queries
from backend.runs.models import Outcome, Run
from backend.runs.queries import RunLine
from backend.runs.queries.series import MAX_POINTS, RANGES
from backend.sites.models import Deploy, Monitor
from backend.web import times, units
from backend.web.disturbed import disturbed_text
from backend.web.phrases import listed
from backend.web.series import (
    METRIC_NAMES,
    PHASES,
    DeployMark,
    PhaseSeries,
    RegionSeries,
    SeriesPoint,
    metrics_of,
)
from backend.web.series import name_of as metric_name
from backend.web.waterfall.text import printable
from workers.measurement.document import milliseconds
from workers.measurement.messages import Kind

DEFAULT_RANGE = "24h"
# Of each stretch of time; what the address names them by, and how they are called. A median is named by nothing.
STATISTICS = {"": "Median", "75": "p75", "95": "p95"}
_SPOKEN = {"": "Medians", "75": "75th percentiles", "95": "95th percentiles"}
# Stretches are longer where a tail is looked at: of three runs every high percentile is the slowest.
_POINTS, _POINTS_OF_TAILS = MAX_POINTS, MAX_POINTS // 4
STRIP_HEIGHT = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the reader looks at: every part of it stands in the URL."""

    kind: str
    range: str
    region: str
    metric: str
    percentile: str

    @property
    def quantile(self) -> float:
        """From 0 to 1."""
        return int(self.percentile or 50) / 100

    @property
    def max_points(self) -> int:
        """Of each region."""
        return _POINTS_OF_TAILS if self.percentile else _POINTS

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is drawn: of one region all phases, of every region the one that was chosen."""
        return PHASES if self.region else (self.metric,)

    @property
    def statistic(self) -> str:
        """What is drawn of each stretch: `Medians`, `75th percentiles`."""
        return _SPOKEN[self.percentile]

    def query(self, changes: Mapping[str, str]) -> str:
        """The URL's query with parts changed; an empty part is left out: `?kind=page&range=7d`."""
        parts = {
            "kind": self.kind,
            "range": self.range,
            "region": self.region,
            "metric": self.metric,
            "percentile": self.percentile,
            **changes,
        }
        return "?" + urlencode({name: value for name, value in parts.items() if value})


@dataclass(frozen=True, slots=True, kw_only=True)
class StripBar:
    """One run as a bar: `height` of STRIP_HEIGHT by how long it took; 0 where nothing was measured. `look` is its
    outcome, or `disturbed`.
    """

    url_id: str
    look: str
    height: int
    text: str

    @property
    def top(self) -> int:
        return STRIP_HEIGHT - self.height


def choice_of(parameters: Mapping[str, str], monitors: Sequence[Monitor], regions: Sequence[Region]) -> Choice:
    """From a URL's parameters, whatever they hold, of a site with these monitors."""
    monitor = next((one for one in monitors if one.kind == parameters.get("kind")), monitors[0])
    kind = monitor.kind
    region = parameters.get("region", "")
    span, percentile = parameters.get("range", ""), parameters.get("percentile", "")
    usual = "lcp_ms" if kind == Kind.PAGE else "ttfb_ms"
    return Choice(
        kind=kind,
        range=span if span in RANGES else DEFAULT_RANGE,
        region=region if region in {one.code for one in regions} else "",
        metric=next((metric for metric in offered(monitor) if metric == parameters.get("metric")), usual),
        percentile=percentile if percentile in STATISTICS else "",
    )


def offered(monitor: Monitor) -> tuple[str, ...]:
    """The metrics that can be drawn of a monitor."""
    return (*metrics_of(monitor.kind), *monitor.user_timings)


def trend_of(
    found: Sequence[queries.RegionSeries],
    choice: Choice,
    since: datetime,
    until: datetime,
    deploys: Sequence[Deploy],
) -> PhaseSeries:
    """What was found of the choice's metrics, by the names of regions."""
    by_name = sorted(found, key=lambda one: (one.region.name, one.region.code))
    return PhaseSeries(
        since_ms=round(since.timestamp() * 1000),
        until_ms=round(until.timestamp() * 1000),
        zone=timezone.get_current_timezone_name(),
        metrics=choice.metrics,
        names=tuple(map(metric_name, choice.metrics)),
        regions=tuple(_region_series(one) for one in by_name),
        deploys=tuple(map(mark_of, deploys)),
    )


def name_of(deploy: Deploy) -> str:
    """What a release is called."""
    return printable(deploy.version or deploy.external_id or "a release", 100)


def mark_of(deploy: Deploy) -> DeployMark:
    """A release in the chart."""
    return DeployMark(at_ms=round(deploy.at.timestamp() * 1000), name=name_of(deploy))


def strips_of(lines: Sequence[RunLine]) -> list[tuple[str, list[StripBar]]]:
    """The last runs of each region by its name, the oldest first; the longest of all is as high as the strip, but for
    those that other work made longer.
    """
    took_us = [(main_us(line.run) or 0, line.run.contended) for line in lines]
    undisturbed_us = [us for us, contended in took_us if us and not contended]
    longest_us = max(undisturbed_us or [us for us, _ in took_us], default=0)
    strips: dict[str, list[StripBar]] = {}
    for line in reversed(lines):
        strips.setdefault(line.region.name, []).append(_bar(line, longest_us))
    return sorted(strips.items())


def main_us(run: Run) -> int | None:
    """The one figure of a run: largest paint of a page, first byte of a probe; None where it was not seen."""
    if run.outcome != Outcome.MEASURED:
        return None
    # No other figure stands in for it: it would be read under the wrong name.
    return run.lcp_us if run.kind == Kind.PAGE else run.ttfb_us


def main_name(kind: str) -> str:
    return METRIC_NAMES["lcp_ms" if kind == Kind.PAGE else "ttfb_ms"]


def outcome_text(run: Run) -> str:
    """What came of a run, in a few words."""
    if run.outcome == Outcome.FAILED:
        return printable(run.failure_detail or "failed", 200)
    if run.outcome == Outcome.MISSED:
        return (run.missed_reason or "").replace("_", " ")
    if run.profile_verified is False:
        return "profile not kept"
    us = main_us(run)
    told = f"no {main_name(run.kind).lower()} was seen" if us is None else units.duration(us)
    return f"{told}, machine busy" if run.contended else told


def disturbed_of(lines: Sequence[RunLine]) -> str:
    """A sentence where other work disturbed half of these page loads or more, so that rules see little; else empty."""
    loads = [line for line in lines if line.run.outcome == Outcome.MEASURED]
    busy = [line for line in loads if line.run.contended]
    names = sorted({line.region.name for line in busy})
    where = f", in {listed(names)}" if names else ""
    return disturbed_text(len(busy), len(loads), whose="the agents'", where=where)


def _bar(line: RunLine, longest_us: int) -> StripBar:
    us = main_us(line.run)
    is_measured = line.run.outcome == Outcome.MEASURED
    height = round(STRIP_HEIGHT * min(1, (us or 0) / max(longest_us, 1)))
    missed = "missed: " if line.run.outcome == Outcome.MISSED else ""
    text = f"{line.region.name}, {times.short(line.run.scheduled_for)}: {missed}{outcome_text(line.run)}"
    return StripBar(
        url_id=str(line.run.run_id),
        look="disturbed" if is_measured and line.run.contended else line.run.outcome,
        height=max(2, height) if is_measured else 0,
        text=text,
    )


def _region_series(one: queries.RegionSeries) -> RegionSeries:
    return RegionSeries(region=one.region.code, name=one.region.name, points=tuple(map(point_of, one.points)))


def point_of(point: queries.SeriesPoint) -> SeriesPoint:
    """A stretch of time in the chart."""
    return SeriesPoint(
        at_ms=round(point.at.timestamp() * 1000),
        failed=point.failed,
        missed=point.missed,
        disturbed=point.disturbed if point.disturbed == point.measured else 0,
        values=tuple(milliseconds(value) for value in point.values),
    )
