"""For which part of the time a site could be reached, as pages show it. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from uuid import UUID

from backend.alerts.models import Outage
from backend.alerts.states import State
from backend.alerts.wording import length
from backend.analysis.spans import Span
from backend.analysis.uptime import Seen, Uptime, uptime_in
from backend.instants import to_us
from backend.kept import retention_start
from backend.spreadsheets import Cell
from backend.web import units
from backend.web.overview import Level
from workers.measurement.messages import Kind

DAYS, MONTHS = 90, 12
DAY_COLUMNS = ("day", "uptime", "measured_s", "down_s", "partly_down_s", "outages")
OUTAGE_COLUMNS = ("began_at", "ended_at", "lasted_s", "extent", "regions", "seen_by", "why")
# What stands beside other figures of a site.
USUAL, LONGEST = timedelta(days=30), timedelta(days=DAYS)
_PERIODS = (timedelta(days=1), timedelta(days=7), USUAL, LONGEST)
# Of a bar's height: less would not be seen, and a day is not all bad for a minute.
_LEAST_CAP_PCT = 30
_KINDS = {Kind.PROBE.value: "Probe", Kind.PAGE.value: "Page load"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A stretch of time in words. `cap_pct` is how much of its bar tells what was not well."""

    name: str
    share: str
    note: str
    level: Level
    cap_pct: int

    @property
    def text(self) -> str:
        """All of it on one line."""
        told = self.note if self.level == "quiet" else f"{self.share}, {self.note}"
        return f"{self.name}: {told}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageLine:
    """An outage in the list. `run_id` is a run that shows it."""

    began_at: datetime
    ended_at: datetime | None
    lasted: str
    level: Level
    what: str
    where: str
    by: str
    why: str
    run_id: UUID | None


def needed_since(now: datetime, zone: tzinfo) -> datetime:
    """From when on anything has to be known for all that is shown."""
    return _months(now, zone)[-1][0]


def periods(seen: Seen, now: datetime) -> list[Figures]:
    """The last hours and days up to now."""
    return [last(span, seen, now) for span in _PERIODS]


def last(span: timedelta, seen: Seen, now: datetime) -> Figures:
    """So much time up to now."""
    name = f"{span.days} days" if span.days > 1 else "24 hours"
    return _figures(name, seen, (to_us(now - span), to_us(now)))


def days(seen: Seen, now: datetime, zone: tzinfo) -> list[Figures]:
    """Each of the last days, as the zone's calendar has them, the newest at the end."""
    today = now.astimezone(zone).date()
    shown = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    return [
        _figures(f"{day:%a} {day.day} {day:%b %Y}", seen, _between(day, day + timedelta(days=1), zone)) for day in shown
    ]


def months(seen: Seen, now: datetime, zone: tzinfo) -> list[Figures]:
    """Each of the last months in which anything was measured, the newest first."""
    found = [_figures(f"{since:%B %Y}", seen, (to_us(since), to_us(until))) for since, until in _months(now, zone)]
    return [month for month in found if month.level != "quiet"]


def day_cells(seen: Seen, now: datetime, zone: tzinfo) -> Iterator[Sequence[Cell]]:
    """The days of these months on which anything was measured, the newest first, as DAY_COLUMNS."""
    first, today = needed_since(now, zone).date(), now.astimezone(zone).date()
    for back in range((today - first).days + 1):
        day = today - timedelta(days=back)
        uptime = uptime_in(seen, _between(day, day + timedelta(days=1), zone))
        if uptime.share is not None:
            spent = (uptime.measured_us, uptime.down_us, uptime.partly_us)
            yield day.isoformat(), units.floored_share(uptime.share), *(us // 1_000_000 for us in spent), uptime.outages


def outage_cells(outage: Outage) -> Sequence[Cell]:
    """One outage as OUTAGE_COLUMNS; without an end while it goes on."""
    spent = None if outage.ended_at is None else outage.ended_at - outage.began_at
    return (
        outage.began_at.isoformat(),
        "" if outage.ended_at is None else outage.ended_at.isoformat(),
        "" if spent is None else round(spent.total_seconds()),
        "down" if outage.state == State.FAILING else "partly",
        " ".join(outage.regions),
        outage.monitor.kind,
        outage.why,
    )


def line_of(outage: Outage, now: datetime, *, region_names: dict[str, str]) -> OutageLine:
    """One outage as its row says it; its run only while runs are kept."""
    is_down = outage.state == State.FAILING
    return OutageLine(
        began_at=outage.began_at,
        ended_at=outage.ended_at,
        lasted=length((outage.ended_at or now) - outage.began_at),
        level="bad" if is_down else "warn",
        what="Down" if is_down else "Down from some regions",
        where=", ".join(region_names.get(code, code) for code in outage.regions),
        by=_KINDS[outage.monitor.kind],
        why=outage.why,
        run_id=outage.run_id if outage.began_at >= retention_start(now) else None,
    )


def _between(since: date, until: date, zone: tzinfo) -> Span:
    return to_us(_midnight(since, zone)), to_us(_midnight(until, zone))


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, tzinfo=zone)


def _months(now: datetime, zone: tzinfo) -> Sequence[tuple[datetime, datetime]]:
    """Begin and end of this month and of those before it, the newest first."""
    today = now.astimezone(zone).date()
    firsts = [date(*_month_before(today.year, today.month, back), 1) for back in range(-1, MONTHS)]
    begins = [_midnight(first, zone) for first in firsts]
    return list(zip(begins[1:], begins[:-1], strict=True))


def _month_before(year: int, month: int, back: int) -> tuple[int, int]:
    years, index = divmod(year * 12 + month - 1 - back, 12)
    return years, index + 1


def _figures(name: str, seen: Seen, within: Span) -> Figures:
    uptime = uptime_in(seen, within)
    level = _level(uptime)
    down_pct = round(100 * uptime.down_us / uptime.measured_us) if uptime.measured_us else 0
    return Figures(
        name=name,
        share=units.share_of_time(uptime.share),
        note=_note(uptime),
        level=level,
        cap_pct=max(_LEAST_CAP_PCT, down_pct) if level in ("bad", "warn") else 0,
    )


def _level(uptime: Uptime) -> Level:
    if not uptime.measured_us:
        return "quiet"
    if uptime.down_us:
        return "bad"
    return "warn" if uptime.partly_us else "good"


def _note(uptime: Uptime) -> str:
    """`down 20 min in 2 outages, 5 min more from some regions`."""
    if not uptime.measured_us:
        return "not measured"
    parts = []
    if uptime.down_us:
        times = "" if uptime.outages == 1 else f" in {units.count(uptime.outages)} outages"
        parts.append(f"down {_length(uptime.down_us)}{times}")
    if uptime.partly_us:
        more = " more" if uptime.down_us else ""
        parts.append(f"{'' if more else 'down '}{_length(uptime.partly_us)}{more} from some regions")
    return ", ".join(parts) or "never down"


def _length(us: int) -> str:
    return length(timedelta(microseconds=us))
