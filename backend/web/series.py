"""What a chart of phases over time is given: milliseconds at this door, one list of points a region. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime

from backend.alerts.metrics import METRICS, measured_by, metric_of

# What of all sites is drawn; what a monitor follows of its page comes beside it.
_CHARTED = (
    "ttfb_ms",
    "dns_ms",
    "connect_ms",
    "tls_ms",
    "wait_ms",
    "download_ms",
    "total_ms",
    "fcp_ms",
    "lcp_ms",
    "load_ms",
    "fully_loaded_ms",
    "start_render_ms",
    "speed_index",
    "tbt_ms",
)
# A sentence says "Connecting" and "Waiting for the server"; a legend and the head of a column have less room.
_IN_BRIEF = {"connect_ms": "Connect (TCP)", "wait_ms": "Waiting"}
METRIC_NAMES = {name: _IN_BRIEF.get(name, METRICS[name].label) for name in _CHARTED}
PHASES = ("ttfb_ms", "dns_ms", "connect_ms", "tls_ms", "wait_ms", "download_ms")
# As many as a chart has points.
_MOST_ROWS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One stretch of time from `at_ms` (Unix time): how many runs failed or did not take place, and of those measured
    what is drawn, in the order of the series' metrics; what was not seen is null. `disturbed` counts those measured
    where other work disturbed each of them.
    """

    at_ms: int
    failed: int
    missed: int
    disturbed: int
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSeries:
    region: str
    name: str
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployMark:
    """A release: when it came into force in Unix time, and what it is called."""

    at_ms: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSeries:
    """`since_ms` to `until_ms` is the whole axis, `zone` the time zone of its reader. One region is drawn with all
    `metrics`, several with the first; `names` are what people call them. `deploys` are the releases within it, the
    oldest first.
    """

    since_ms: int
    until_ms: int
    zone: str
    metrics: tuple[str, ...]
    names: tuple[str, ...]
    regions: tuple[RegionSeries, ...]
    deploys: tuple[DeployMark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """One line of the table; values in microseconds, in the order of the columns."""

    at_ms: int
    values: tuple[int | None, ...]
    failed: int
    missed: int
    disturbed: int

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.at_ms / 1000, tz=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesTable:
    """The same as text, newest first: a column for each metric of one region, or for each region."""

    columns: tuple[str, ...]
    rows: tuple[SeriesRow, ...]


def metrics_of(kind: str) -> tuple[str, ...]:
    """What any monitor of this kind measures."""
    return tuple(metric for metric in METRIC_NAMES if measured_by(metric, kind))


def name_of(metric: str) -> str:
    """What a legend, the head of a column or a choice says of a metric."""
    return METRIC_NAMES.get(metric) or metric_of(metric).label


def series_table(series: PhaseSeries) -> SeriesTable:
    """The newest stretches of the series in words; what is drawn can be read."""
    if len(series.regions) == 1:
        columns = series.names
        lines = [_line(point) for point in series.regions[0].points]
    else:
        columns = tuple(region.name for region in series.regions)
        lines = _by_time(series)
    newest = sorted(lines, key=lambda line: line.at_ms, reverse=True)
    return SeriesTable(columns=columns, rows=tuple(newest[:_MOST_ROWS]))


def _line(point: SeriesPoint) -> SeriesRow:
    values = tuple(_us(value) for value in point.values)
    return SeriesRow(
        at_ms=point.at_ms, values=values, failed=point.failed, missed=point.missed, disturbed=point.disturbed
    )


def _by_time(series: PhaseSeries) -> list[SeriesRow]:
    """One line a stretch, with the first metric of each region; a region that did not run then is absent."""
    points = [{point.at_ms: point for point in region.points} for region in series.regions]
    return [
        SeriesRow(
            at_ms=at_ms,
            values=tuple(_us(region[at_ms].values[0]) if at_ms in region else None for region in points),
            failed=sum(region[at_ms].failed for region in points if at_ms in region),
            missed=sum(region[at_ms].missed for region in points if at_ms in region),
            disturbed=sum(region[at_ms].disturbed for region in points if at_ms in region),
        )
        for at_ms in {at_ms for region in points for at_ms in region}
    ]


def _us(value_ms: float | None) -> int | None:
    return None if value_ms is None else round(value_ms * 1000)
