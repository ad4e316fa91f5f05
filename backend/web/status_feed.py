"""What happens on a status page as a feed (Atom, RFC 4287), for readers and for bots in chats. Pure."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape

from backend.alerts.wording import length
from backend.analysis.spans import Span, without
from backend.instants import from_us, to_us
from backend.status.queries import KNOWN_FOR, LATELY, Condition, PublicPage, PublicSite
from backend.web.status_page import STAGES, WORDS
from backend.web.times import handed_on
from backend.web.waterfall.text import printable

MOST_ENTRIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`id` stays the same while what it tells of goes on, and so does `published` unless that turns out to have begun
    before; `updated` is when something was said of it last."""

    id: str
    title: str
    text: str
    published: datetime
    updated: datetime


def feed_of(page: PublicPage, address: str) -> str:
    """The feed of a page that guests find at an address."""
    feed = Atom1Feed(
        title=printable(page.title),
        link=address,
        description=None,
        author_name=printable(page.title),
        feed_url=f"{address}feed.atom",
        language="en",
    )
    entries = sorted(entries_of(page, address), key=lambda entry: entry.updated, reverse=True)
    for entry in entries[:MOST_ENTRIES]:
        feed.add_item(
            title=printable(entry.title),
            link=address,
            # Django says of it that it is HTML.
            description="<br>".join(escape(printable(line)) for line in entry.text.splitlines()),
            unique_id=entry.id,
            pubdate=entry.published,
            updateddate=entry.updated,
        )
    return str(feed.writeString("utf-8"))


def entries_of(page: PublicPage, address: str) -> Iterator[Entry]:
    """What people said, and the outages of two weeks, each of which is one entry from its begin to its end."""
    for one in page.announcements:
        for said in one.updates:
            title = f"{STAGES[said.stage].text}: {one.title}"
            yield Entry(id=said.public_id.urn, title=title, text=said.text, published=said.at, updated=said.at)
    for site in page.sites:
        yield from _outages(site, page.at, address)


def _outages(site: PublicSite, now: datetime, address: str) -> Iterator[Entry]:
    """When one began that is cut where knowledge begins nobody knows: it would be another at each look."""
    for spans, condition in ((site.seen.down, Condition.DOWN), (site.seen.partly, Condition.PARTLY)):
        parts: Counter[int | None] = Counter()
        for span in without(spans, site.seen.planned):
            first = _first_judged(site, condition, span)
            parts[first] += 1
            if span[0] > to_us(now - KNOWN_FOR) and span[1] > to_us(now - LATELY):
                name = f"{address}{site.public_id}/{condition}/{first}/{parts[first]}"
                yield _outage(site, condition, span, now, name)


def _first_judged(site: PublicSite, condition: Condition, span: Span) -> int | None:
    """What an outage is known by: the first that the judge was sure of, which stays while its begin may move. Planned
    work parts one into several."""
    keys = (
        one.key
        for one in site.judged
        if one.condition is condition and one.since_us < span[1] and one.until_us > span[0]
    )
    return next(keys, None)


def _outage(site: PublicSite, condition: Condition, span: Span, now: datetime, name: str) -> Entry:
    since_us, until_us = span
    since, is_over = from_us(since_us), until_us < to_us(now)
    word = WORDS[condition].text
    if not is_over:
        text, updated = f"Since {handed_on(since)}.", since
    else:
        spent = length(timedelta(microseconds=until_us - since_us))
        text, updated = f"From {handed_on(since)} to {handed_on(from_us(until_us))} ({spent}).", from_us(until_us)
    return Entry(
        id=uuid5(NAMESPACE_URL, name).urn,
        title=f"{site.name}: {word[:1].lower()}{word[1:]}{', over' if is_over else ''}",
        text=text,
        published=since,
        updated=updated,
    )
