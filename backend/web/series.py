"""What a chart of phases over time is given: milliseconds at this door, one list of points a region. Pure."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """Medians of one stretch of time; `at_ms` is Unix time, `runs` counts what was measured."""

    at_ms: int
    runs: int
    failed: int
    missed: int
    dns_ms: float | None
    connect_ms: float | None
    tls_ms: float | None
    wait_ms: float | None
    download_ms: float | None
    ttfb_ms: float | None
    total_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSeries:
    region: str
    name: str
    points: tuple[SeriesPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSeries:
    """`since_ms` to `until_ms` is the whole axis, also where nothing was measured."""

    since_ms: int
    until_ms: int
    bucket_ms: int
    regions: tuple[RegionSeries, ...]


def to_ms(us: float | None) -> float | None:
    """Microseconds as milliseconds of microsecond precision."""
    return None if us is None else round(us / 1000, 3)


def to_unix_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
