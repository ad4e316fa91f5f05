"""How the sites of an organisation were in a week. Pure.

A report is written once and read for years: what it says are the names and figures of its time.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from backend.analysis.weeks import Course, MonitorWeek, RegionWeek

WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class UptimeWeek:
    """As `analysis.uptime.Uptime`; `before` is the share of the week before, None where nothing was measured then."""

    share: float | None
    before: float | None
    down_us: int
    partly_us: int
    outages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseWeek:
    """What was to be mended first as the report was written, by the words of the agent that judged it."""

    finding: str
    severity: str
    saving_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteWeek:
    """A site: `probe` tells of its first byte and `page` of its largest paint, None where there was no value; `alerts`
    are those that channels heard of."""

    site_id: str
    name: str
    url: str
    uptime: UptimeWeek
    alerts: int
    probe: MonitorWeek | None
    page: MonitorWeek | None
    cause: CauseWeek | None

    @property
    def courses(self) -> tuple[Course, ...]:
        """How its monitors went beside the week before, as far as they can be compared."""
        return tuple(one.course for one in (self.probe, self.page) if one is not None and one.course is not None)

    @property
    def was_down(self) -> bool:
        return self.uptime.down_us > 0

    @property
    def became_slower(self) -> bool:
        return not {Course.SLOWER, Course.MIXED}.isdisjoint(self.courses)

    @property
    def became_faster(self) -> bool:
        return Course.FASTER in self.courses and not self.became_slower


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertWeek:
    """An alert that began in the week; `ended_at` is None where it went on as the report was written."""

    incident_id: str
    title: str
    severity: str
    began_at: str
    ended_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`week` is its Monday. Sites are those of which anything was measured, those that need attention first; `alerts`
    are the first of `alert_count`."""

    week: date
    sites: tuple[SiteWeek, ...]
    alerts: tuple[AlertWeek, ...]
    alert_count: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"week": self.week.isoformat()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Report":
        """What `to_json` wrote."""
        return cls(
            week=date.fromisoformat(stored["week"]),
            sites=tuple(_site(one) for one in stored["sites"]),
            alerts=tuple(AlertWeek(**one) for one in stored["alerts"]),
            alert_count=stored["alert_count"],
        )


def begin_of(week: date) -> datetime:
    """When the day begins, by UTC."""
    return datetime.combine(week, time.min, tzinfo=UTC)


def last_week(now: datetime) -> date:
    """The Monday of the last week that is over."""
    today = now.astimezone(UTC).date()
    return today - timedelta(days=today.weekday()) - WEEK


def _site(stored: Mapping[str, Any]) -> SiteWeek:
    cause = stored["cause"]
    read = {
        "uptime": UptimeWeek(**stored["uptime"]),
        "probe": _monitor(stored["probe"]),
        "page": _monitor(stored["page"]),
        "cause": cause and CauseWeek(**cause),
    }
    return SiteWeek(**{**stored, **read})


def _monitor(stored: Mapping[str, Any] | None) -> MonitorWeek | None:
    if stored is None:
        return None
    regions = {name: tuple(_region(one) for one in stored[name]) for name in ("slower", "faster")}
    return MonitorWeek(**{**stored, **regions, "course": _course(stored["course"])})


def _region(stored: Mapping[str, Any]) -> RegionWeek:
    return RegionWeek(**{**stored, "course": _course(stored["course"])})


def _course(text: str | None) -> Course | None:
    return None if text is None else Course(text)
