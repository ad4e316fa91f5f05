"""A status page in words and bars, for guests, whose clocks nobody knows here: all is told in UTC. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from backend.alerts.wording import joined, length
from backend.analysis.spans import without
from backend.analysis.uptime import uptime_in
from backend.instants import from_us, to_us
from backend.status.models import AnnouncementStage
from backend.status.queries import LATELY, Condition, Planned, PublicAnnouncement, PublicPage, PublicSite
from backend.web import units
from backend.web.overview import Level, Word
from backend.web.times import handed_on
from backend.web.uptime_page import LONGEST, Figures, days, last

WORDS = {
    Condition.DOWN: Word(level="bad", text="Down"),
    Condition.PARTLY: Word(level="warn", text="Down from some regions"),
    Condition.UNKNOWN: Word(level="quiet", text="Not measured now"),
    Condition.MAINTENANCE: Word(level="info", text="Maintenance"),
    Condition.UP: Word(level="good", text="Up"),
}
STAGES = {
    AnnouncementStage.INVESTIGATING: Word(level="warn", text="Investigating"),
    AnnouncementStage.IDENTIFIED: Word(level="warn", text="Identified"),
    AnnouncementStage.MONITORING: Word(level="info", text="Monitoring"),
    AnnouncementStage.RESOLVED: Word(level="good", text="Resolved"),
}
_MOST_OUTAGES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A site with its bars. `uptime` is of as many days as there are bars."""

    public_id: UUID
    name: str
    word: Word
    since: str
    uptime: Figures
    days: Sequence[Figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An outage of the last two weeks, without what only its owner is to know."""

    name: str
    level: Level
    what: str
    when: str
    began_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What people said at a time, in lines."""

    word: Word
    lines: Sequence[str]
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What people announced, and what they said about it, the newest first."""

    title: str
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The whole page: what people say (`told`), the worst that is measured in one sentence, then each site;
    `told_before` is what they said of what is over."""

    title: str
    verdict: Word
    at: str
    rows: Sequence[Row]
    planned: Sequence[tuple[str, str]]
    past: Sequence[Past]
    told: Sequence[Told]
    told_before: Sequence[Told]


def shown(page: PublicPage) -> Shown:
    """What is drawn of a page."""
    past = sorted((one for site in page.sites for one in _past(site, page.at)), key=lambda one: -one.began_us)
    return Shown(
        title=page.title,
        verdict=verdict_of(page),
        at=handed_on(page.at),
        rows=[_row(site, page.at) for site in page.sites],
        planned=[
            (_places(one, page), f"{handed_on(one.starts_at)} to {handed_on(one.ends_at)}") for one in page.planned
        ],
        past=past[:_MOST_OUTAGES],
        told=[told(one) for one in page.announcements if one.is_open],
        told_before=[told(one) for one in page.announcements if not one.is_open],
    )


def told(one: PublicAnnouncement) -> Told:
    """An announcement as guests read it."""
    steps = [Step(word=STAGES[said.stage], lines=said.text.splitlines(), at=handed_on(said.at)) for said in one.updates]
    return Told(title=one.title, steps=steps)


def verdict_of(page: PublicPage) -> Word:
    """How all of its sites are together, in one sentence."""
    word = WORDS[page.condition]
    named = [site.name for site in page.sites if site.condition is page.condition]
    many = len(named) > 1
    match page.condition:
        case Condition.UP:
            text = "All is up" if many else f"{named[0]} is up"
        case Condition.UNKNOWN:
            text = f"{_names(named)} not measured now" if named else "Nothing is measured now"
        case Condition.MAINTENANCE:
            text = f"{_names(named)} under maintenance"
        case _:
            text = f"{_names(named)} {word.text[:1].lower()}{word.text[1:]}"
    return Word(level="warn" if word.level == "quiet" else word.level, text=text)


def as_json(page: PublicPage) -> dict[str, object]:
    """The same for programs: states are the words of `Condition`."""
    return {
        "title": page.title,
        "at": page.at.isoformat(),
        "status": page.condition,
        "sites": [
            {
                "id": str(site.public_id),
                "name": site.name,
                "status": site.condition,
                "since": site.since and site.since.isoformat(),
                "uptime_90_days": uptime_in(site.seen, (to_us(page.at - LONGEST), to_us(page.at))).share,
            }
            for site in page.sites
        ],
        "announcements": [
            {
                "id": str(one.public_id),
                "title": one.title,
                "open": one.is_open,
                "updates": [
                    {"stage": said.stage, "text": said.text, "at": said.at.isoformat()} for said in one.updates
                ],
            }
            for one in page.announcements
        ],
    }


def _names(names: Sequence[str]) -> str:
    """`Shop is`, `Shop and Blog are`, `Shop and 4 more are`."""
    if len(names) == 1:
        return f"{names[0]} is"
    return f"{joined(names) if len(names) < 4 else f'{names[0]} and {units.count(len(names) - 1)} more'} are"


def _places(one: Planned, page: PublicPage) -> str:
    return "All of it" if len(one.names) == len(page.sites) > 1 else joined(one.names)


def _row(site: PublicSite, at: datetime) -> Row:
    return Row(
        public_id=site.public_id,
        name=site.name,
        word=WORDS[site.condition],
        since=f"since {handed_on(site.since)}" if site.since else "",
        uptime=last(LONGEST, site.seen, at),
        days=days(site.seen, at, UTC),
    )


def _past(site: PublicSite, at: datetime) -> Sequence[Past]:
    """What was planned is none."""
    kinds = ((site.seen.down, Condition.DOWN), (site.seen.partly, Condition.PARTLY))
    return [
        _outage(site.name, condition, since_us, until_us, at)
        for spans, condition in kinds
        for since_us, until_us in without(spans, site.seen.planned)
        if until_us > to_us(at - LATELY)
    ]


def _outage(name: str, condition: Condition, since_us: int, until_us: int, at: datetime) -> Past:
    word, since, until = WORDS[condition], from_us(since_us), from_us(until_us)
    stretch = f"since {handed_on(since)}" if until >= at else f"{handed_on(since)} to {handed_on(until)}"
    return Past(
        name=name,
        level=word.level,
        what=word.text,
        when=f"{stretch} ({length(until - since)})",
        began_us=since_us,
    )
