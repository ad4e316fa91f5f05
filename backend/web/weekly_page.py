"""A report of a week as its page shows it. Pure."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from backend.alerts.message import Severity
from backend.alerts.wording import joined, length
from backend.analysis.weeks import Course, MonitorWeek, RegionWeek
from backend.web import units
from backend.web.overview import Level
from backend.web.phrases import number_of
from backend.web.times import as_read
from backend.weekly.report import AlertWeek, Report, SiteWeek
from backend.weekly.wording import cause_title, downtime

_WORDS: dict[Course, tuple[Level, str]] = {
    Course.SLOWER: ("warn", "slower"),
    Course.FASTER: ("good", "faster"),
    Course.MIXED: ("warn", "slower"),
    Course.SAME: ("quiet", "as before"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A median of the week, what is said of it beside the week before, and where that is so."""

    value: str
    before: str
    level: Level
    word: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A site in the table; a figure is None where there was no value, `site_id` once the site is deleted."""

    site_id: UUID | None
    name: str
    uptime: str
    uptime_note: str
    level: Level
    alerts: str
    probe: Figure | None
    page: Figure | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """An alert in the list; `ended_at` is None where it went on as the report was written, `incident_id` once it
    is gone with its site."""

    incident_id: UUID | None
    title: str
    level: Level
    began_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """A number in a card, and what it counts."""

    label: str
    value: str
    note: str


def rows_of(report: Report, there: Container[str]) -> list[Row]:
    """Its sites, those that need attention first; the ids of those that are `there` still lead somewhere."""
    return [_row(site, _id(site.site_id, there)) for site in report.sites]


def alerts_of(report: Report, there: Container[str]) -> list[AlertRow]:
    """The alerts that it names, the worst first."""
    return [_alert(alert, _id(alert.incident_id, there)) for alert in report.alerts]


def tallies_of(report: Report) -> Iterator[Tally]:
    """What is seen before anything is read."""
    sites = report.sites
    slower, faster = sum(site.became_slower for site in sites), sum(site.became_faster for site in sites)
    compared = sum(bool(site.courses) for site in sites)
    held = f"of {units.count(compared)} with two weeks to compare"
    yield Tally(
        label="Never down",
        value=f"{units.count(sum(not site.was_down for site in sites))} of {units.count(len(sites))}",
        note="sites that were measured",
    )
    yield Tally(label="Slower", value=units.count(slower), note=held)
    yield Tally(label="Faster", value=units.count(faster), note=held)
    yield Tally(label="Alerts", value=units.count(report.alert_count), note="that channels heard of")


def _id(text: str, there: Container[str]) -> UUID | None:
    return UUID(text) if text in there else None


def _row(site: SiteWeek, site_id: UUID | None) -> Row:
    return Row(
        site_id=site_id,
        name=site.name,
        uptime=units.share_of_time(site.uptime.share),
        uptime_note=_uptime_note(site),
        level=_uptime_level(site),
        alerts=units.count(site.alerts) if site.alerts else "none",
        probe=_figure(site.probe),
        page=_figure(site.page),
        cause=cause_title(site),
    )


def _uptime_level(site: SiteWeek) -> Level:
    if site.was_down:
        return "bad"
    return "warn" if site.uptime.partly_us else "quiet"


def _uptime_note(site: SiteWeek) -> str:
    parts = [downtime(site)] if site.was_down else []
    if site.uptime.partly_us:
        parts.append(f"down for {length(timedelta(microseconds=site.uptime.partly_us))} from some regions only")
    if site.uptime.before is not None and site.uptime.before != site.uptime.share:
        parts.append(f"{units.share_of_time(site.uptime.before)} the week before")
    return ", ".join(parts)


def _figure(week: MonitorWeek | None) -> Figure | None:
    if week is None:
        return None
    level, word = _WORDS[week.course] if week.course is not None else ("quiet", "")
    before = "" if week.before_us is None else f"{units.duration(round(week.before_us))} the week before"
    return Figure(value=units.duration(round(week.now_us)), before=before, level=level, word=word, where=_where(week))


def _where(week: MonitorWeek) -> str:
    """`in Frankfurt and Singapore`; of what became slower `in Oslo, faster in Rome` where it did there."""
    if week.slower and week.faster:
        return f"{_in(week.slower)}, faster {_in(week.faster)}"
    return _in(week.slower or week.faster)


def _in(regions: Sequence[RegionWeek]) -> str:
    if not regions:
        return ""
    shown = joined([one.region for one in regions]) if len(regions) <= 2 else number_of(len(regions), "region")
    return f"in {shown}"


def _alert(alert: AlertWeek, incident_id: UUID | None) -> AlertRow:
    return AlertRow(
        incident_id=incident_id,
        title=as_read(alert.title),
        level="bad" if alert.severity == Severity.CRITICAL else "warn",
        began_at=datetime.fromisoformat(alert.began_at),
        ended_at=None if alert.ended_at is None else datetime.fromisoformat(alert.ended_at),
    )
