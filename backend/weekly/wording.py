"""What channels are told of a week. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from backend.alerts.channels.slack_blocks import SECTION_CHARS
from backend.alerts.message import Event, Fact, Link, Message, Severity
from backend.alerts.metrics import LABELS, written
from backend.alerts.wording import joined, length
from backend.analysis.weeks import Course, MonitorWeek, RegionWeek
from backend.weekly.report import Report, SiteWeek, begin_of
from workers.diagnosis.catalogue import title_of
from workers.measurement.finding import LEAST_COST_US, FindingId
from workers.measurement.finding import Severity as CauseSeverity

# Of a message that people read to its end, and that Slack shows whole, with how many more there are.
_MOST_SITES, _MOST_REGIONS, _MOST_CHARS = 7, 3, SECTION_CHARS - 50
_BY = "Monday to Sunday, by UTC. Slower and faster are told where each day was so beside the same day a week before."


def message_of(report: Report, report_id: UUID) -> Message:
    """The week in a few sentences, and the way to all of it."""
    to_mend = tuple(_to_mend(report))
    return Message(
        event=Event.WEEKLY,
        severity=Severity.INFO,
        title=f"Week of {day(report)}: {headline(report)}",
        at=begin_of(report.week),
        sentences=(*_sentences(report, _MOST_CHARS - sum(map(len, to_mend))), *to_mend),
        facts=tuple(_facts(report)),
        context=(_BY,),
        links=(Link(label="The whole week", path=f"/weekly/{report.week}/"),),
        data={"report": str(report_id), "week": report.week.isoformat()},
    )


def _sentences(report: Report, room: int) -> Iterator[str]:
    """Of those sites of which there is something to tell, as many as there is room for, at least of one."""
    told = [site for site in report.sites if site.was_down or site.became_slower or site.became_faster]
    shown = 0
    for sentence in map(sentence_of, told[:_MOST_SITES]):
        room -= len(sentence) + 1
        if shown and room < 0:
            break
        shown += 1
        yield sentence
    if more := len(told) - shown:
        yield f"{more:,} more {'was' if more == 1 else 'were'} down, slower or faster."


def day(report: Report) -> str:
    """`23 Nov 2026`."""
    return f"{report.week.day} {report.week:%b %Y}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A week in a list: how many sites were down, became slower and faster, and how many alerts there were."""

    headline: str
    down: int
    slower: int
    faster: int
    alerts: int


def line_of(report: Report) -> Line:
    """What a list says of a week."""
    return Line(
        headline=headline(report),
        down=sum(site.was_down for site in report.sites),
        slower=sum(site.became_slower for site in report.sites),
        faster=sum(site.became_faster for site in report.sites),
        alerts=report.alert_count,
    )


def headline(report: Report) -> str:
    """`Shop was down for 13 min and became slower, 2 sites became faster`."""
    parts: list[str] = []
    last: Sequence[SiteWeek] = ()
    for sites, one, many in _changes(report):
        if len(sites) == 1 and sites == last:
            parts[-1] += f" and {one}"
        elif sites:
            parts.append(f"{sites[0].name} {one}" if len(sites) == 1 else f"{len(sites):,} sites {many}")
        last = sites or last
    return ", ".join(parts) or "nothing was down, and nothing became slower"


def _changes(report: Report) -> Iterator[tuple[Sequence[SiteWeek], str, str]]:
    """Sites of which the same is to be told, and what: of one, and of many."""
    down = [site for site in report.sites if site.was_down]
    spent = _length(down[0].uptime.down_us) if down else ""
    yield down, f"was down for {spent}", "were down"
    yield [site for site in report.sites if site.became_slower], "became slower", "became slower"
    yield [site for site in report.sites if site.became_faster], "became faster", "became faster"


def sentence_of(site: SiteWeek) -> str:
    """`Shop: down for 13 min in 2 outages; first byte slower in Frankfurt (412 ms, was 316 ms).`."""
    parts = [downtime(site)] if site.was_down else []
    for column, week in (("ttfb", site.probe), ("lcp", site.page)):
        if week is not None and week.course not in (None, Course.SAME):
            parts.append(f"{LABELS[column].lower()} {course_of(week)}")
    return f"{site.name}: {'; '.join(parts)}."


def course_of(week: MonitorWeek) -> str:
    """`slower in Frankfurt (412 ms, was 316 ms)`."""
    told = (("slower", week.slower), ("faster", week.faster))
    return " and ".join(f"{how} {_where(regions)}" for how, regions in told if regions)


def _where(regions: Sequence[RegionWeek]) -> str:
    shown = [f"{one.region} ({figures_of(one)})" for one in regions[:_MOST_REGIONS]]
    more = len(regions) - len(shown)
    return f"in {joined([*shown, f'{more:,} more'] if more else shown)}"


def figures_of(one: RegionWeek) -> str:
    """`412 ms, was 316 ms`."""
    now, before = written("ttfb_ms", one.now_us / 1_000), written("ttfb_ms", (one.before_us or 0) / 1_000)
    return f"{now}, was {before}"


def cause_title(site: SiteWeek) -> str | None:
    """`The key exchange …: 210 ms`: what to mend first; None where nothing is to be mended, or nobody knows it here."""
    if site.cause is None or site.cause.finding not in set(FindingId):
        return None
    saving_us = site.cause.saving_us or 0
    cost = f": {written('ttfb_ms', saving_us / 1_000)}" if saving_us >= LEAST_COST_US else ""
    return f"{title_of(FindingId(site.cause.finding), CauseSeverity(site.cause.severity))}{cost}"


def _to_mend(report: Report) -> Iterator[str]:
    """What costs most of all."""
    costly = [site for site in report.sites if site.cause is not None and (site.cause.saving_us or 0) >= LEAST_COST_US]
    if costly:
        worst = max(costly, key=lambda site: site.cause.saving_us or 0 if site.cause else 0)
        if title := cause_title(worst):
            yield f"What costs most now, at {worst.name}: {title}."


def _facts(report: Report) -> Iterator[Fact]:
    yield Fact(label="Sites", value=f"{len(report.sites):,}")
    yield Fact(label="Never down", value=f"{sum(not site.was_down for site in report.sites):,}")
    yield Fact(label="Alerts", value=f"{report.alert_count:,}")


def downtime(site: SiteWeek) -> str:
    """`down for 13 min in 2 outages`."""
    times = "" if site.uptime.outages == 1 else f" in {site.uptime.outages:,} outages"
    return f"down for {_length(site.uptime.down_us)}{times}"


def _length(us: int) -> str:
    return length(timedelta(microseconds=us))
