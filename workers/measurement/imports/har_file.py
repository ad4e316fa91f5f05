"""An HTTP Archive as views: each of its pages is one, and so are entries that belong to none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median_low
from typing import Any, TypedDict, TypeGuard

from workers.measurement.compute.texts import MAX_TITLE_CHARS, plain_or_none
from workers.measurement.imports.askers import with_askers
from workers.measurement.imports.draft import Draft, Rows, View, rows_of
from workers.measurement.imports.fields import (
    Fields,
    UnreadableError,
    duration,
    instant,
    list_of,
    object_of,
    text_or_none,
)
from workers.measurement.imports.har_row import LONGEST, Dialect, draft_of
from workers.measurement.imports.imported import MAX_NAME_CHARS, Ledger, Source
from workers.measurement.imports.metrics import numbered, vitals_in
from workers.measurement.imports.source import UnreadableFileError
from workers.measurement.imports.words import parts_of
from workers.measurement.page_options import Protocol
from workers.measurement.vitals import Vitals

MAX_PAGES = 20
MAX_ENTRIES = 10_000
# A page whose requests are all further from its start was stamped by another clock.
_FAR = timedelta(minutes=10)
_ONE_US = timedelta(microseconds=1)
# These count TLS inside `connect`, as HAR asks, though the sums of some say otherwise.
_BY_THE_BOOK = (
    "webinspector",
    "webkit web inspector",
    "playwright",
    "webpagetest",
    "browsertime",
    "sitespeed",
    "firstbyte",
)
# Proxies that ask every server in HTTP/1.1, whatever it and the browser speak.
_OLD_ONLY = ("fiddler", "browsermob")
_VERSIONS = ("1.0", "1.1", "1.2", "1.3")


class _Place(TypedDict):
    """Which load of a series a page is, in the words of a View."""

    run: int | None
    repeat: bool
    step: int


@dataclass(slots=True)
class _Group:
    """A page's own fields, and its entries with their places in the file."""

    page: Fields
    entries: list[tuple[int, Any]]


def read_har(document: Fields, ledger: Ledger) -> tuple[Source, list[View]]:
    """The views in the file. Raises UnreadableFileError."""
    log = object_of(document, "log")
    entries = log.get("entries")
    if not isinstance(entries, list):
        raise UnreadableFileError("The file's log has no entries: it is no HTTP Archive.")
    if len(entries) > MAX_ENTRIES:
        ledger.skip(
            f"The file has {len(entries):,} entries, of which {MAX_ENTRIES:,} are read.", len(entries) - MAX_ENTRIES
        )
        entries = entries[:MAX_ENTRIES]
    source, dialect = _source(log), _dialect(log, entries)
    groups = _groups(log, entries)
    if not entries:
        return source, _bare_views(groups, log, ledger)
    groups = _with_entries(groups, ledger)
    if len(groups) > MAX_PAGES:
        left = sum(len(group.entries) for group in groups[MAX_PAGES:])
        ledger.skip(f"The file has {len(groups)} pages, of which {MAX_PAGES} are read.", left)
    views = [_view(group, log, dialect, ledger) for group in groups[:MAX_PAGES]]
    return source, [view for view in views if view is not None]


def _source(log: Fields) -> Source:
    creator = object_of(log, "creator")
    version = text_or_none(log, "version", 10)
    return Source(
        format=f"HAR {version}" if version in _VERSIONS else "HAR",
        tool=text_or_none(creator, "name", MAX_NAME_CHARS),
        tool_version=text_or_none(creator, "version", MAX_NAME_CHARS),
    )


def _dialect(log: Fields, entries: Sequence[Any]) -> Dialect:
    tool = _tool(log)
    by_the_book = tool.startswith(_BY_THE_BOOK)
    is_firefox = tool.startswith("firefox")
    return Dialect(
        ssl_apart=is_firefox or (not by_the_book and _sums_say_apart(entries)),
        ports_for_connections=_are_ports(entries),
        size_in_body=is_firefox,
        no_start=tool.startswith("playwright"),
        sends_queue=tool.startswith("webkit"),
    )


def _tool(log: Fields) -> str:
    return (text_or_none(object_of(log, "creator"), "name", MAX_NAME_CHARS) or "").lower()


def _sums_say_apart(entries: Sequence[Any]) -> bool:
    """Whether most sums are right only when TLS is added to `connect`."""
    votes = 0
    for entry in entries:
        timings = object_of(entry, "timings") if isinstance(entry, dict) else {}
        try:
            took = {
                name: duration(timings, name) or 0
                for name in ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")
            }
            total = duration(entry, "time") if took["ssl"] and took["connect"] else None
        except UnreadableError:
            continue
        if total:
            apart = sum(took.values())
            votes += 1 if abs(total - apart) < abs(total - (apart - took["ssl"])) else -1
    return votes > 0


def _are_ports(entries: Sequence[Any]) -> bool:
    """Firefox has the server's port where HAR asks for an id: as such it would make one connection of all."""
    named = [entry for entry in entries if isinstance(entry, dict) and entry.get("connection")]
    return bool(named) and all(str(entry["connection"]) == _port(entry) for entry in named)


def _port(entry: Fields) -> str:
    parts = parts_of(str(object_of(entry, "request").get("url", ""))[:4096])
    try:
        port = None if parts is None else parts.port
    except ValueError:
        port = None
    return str(port or (80 if parts is not None and parts.scheme in ("http", "ws") else 443))


def _groups(log: Fields, entries: Sequence[Any]) -> list[_Group]:
    """Entries by their page; one that names none belongs to the page before it."""
    pages = [page for page in list_of(log, "pages") if isinstance(page, dict)]
    groups = [_Group(page, []) for page in pages] or [_Group({}, [])]
    by_id: Mapping[str, _Group] = {
        str(group.page["id"]): group for group in reversed(groups) if isinstance(group.page.get("id"), str | int)
    }
    last = groups[0]
    for place, entry in enumerate(entries, start=1):
        named = entry.get("pageref") if isinstance(entry, dict) else None
        last = by_id.get(str(named), last)
        last.entries.append((place, entry))
    return groups


def _with_entries(groups: Sequence[_Group], ledger: Ledger) -> list[_Group]:
    # Of a file that is read in part nobody knows which of its pages have none.
    for number, group in enumerate(groups, start=1):
        if not group.entries and not ledger.skipped:
            ledger.note(f"page {number}: the file has no requests of it.")
    return [group for group in groups if group.entries]


def _bare_views(groups: Sequence[_Group], log: Fields, ledger: Ledger) -> list[View]:
    """The pages of an archive without requests that have figures of their own."""
    views = []
    for number, group in enumerate([one for one in groups if one.page][:MAX_PAGES], start=1):
        started_at, vitals = _start_of(group.page), _vitals(group.page, 0, ledger)
        if started_at is None or vitals == Vitals():
            ledger.note(f"page {number}: the file has neither requests nor figures of it.")
            continue
        title = text_or_none(group.page, "title", MAX_TITLE_CHARS)
        views.append(
            View(
                label=title or text_or_none(group.page, "id", MAX_NAME_CHARS) or f"page {number}",
                url=title if _is_address(title) else "",
                started_at=started_at,
                vitals=vitals,
                title=_title(group.page, title),
                browser=_browser(log),
                **_place_of(group.page),
            )
        )
    if views:
        ledger.note("The file has no requests of its page loads, only their figures.")
    return views


def _view(group: _Group, log: Fields, dialect: Dialect, ledger: Ledger) -> View | None:
    """A page; None when none of its entries can be read."""
    starts = [start for _, entry in group.entries if (start := _start_of(entry)) is not None]
    if not starts:
        _skip_all(group, ledger)
        return None
    own, first = _start_of(group.page), _first(starts)
    is_known = own is not None and any(abs(start - own) <= _FAR for start in starts)
    zero = own if own is not None and is_known and not dialect.no_start else first
    rows = _rows(group, zero, dialect, ledger)
    if rows is None:
        return None
    if (began_us := _began_us(rows)) < 0:
        zero += began_us * _ONE_US
        rows = _rows(group, zero, dialect, Ledger()) or rows
    title = text_or_none(group.page, "title", MAX_TITLE_CHARS)
    url = _url(rows, title)
    return View(
        label=(title or text_or_none(group.page, "id", MAX_NAME_CHARS) or url)[:MAX_TITLE_CHARS],
        url=url,
        started_at=zero,
        waterfall=rows.waterfall,
        vitals=_vitals(group.page, (zero - own) // _ONE_US if own is not None and is_known else None, ledger),
        document=rows.document,
        title=_title(group.page, title),
        browser=_browser(log),
        only_protocol=_only_protocol(log),
        **_place_of(group.page),
    )


def _only_protocol(log: Fields) -> Protocol | None:
    return Protocol.H1 if _tool(log).startswith(_OLD_ONLY) else None


def _rows(group: _Group, zero: datetime, dialect: Dialect, ledger: Ledger) -> Rows | None:
    drafts = _drafts(group, zero, dialect, ledger)
    return rows_of(with_askers(drafts)) if drafts else None


def _began_us(rows: Rows) -> int:
    """When the first address was asked for that led to the document, on the clock of the page's own start: Chrome lets
    a page start with its document, behind all redirects."""
    kept = rows.waterfall.requests[: rows.document or 0]
    first = kept[-1] if kept else None
    for row in reversed(kept):
        first = row if first and row.redirected_to == first.url else first
    return first.timing.start_us if first and first is not kept[-1] else 0


def _url(rows: Rows, title: str | None) -> str:
    """The address of the document; where the file has none, what it calls the page, or else its first request."""
    requests = rows.waterfall.requests
    document = next((row.url for row in requests if row.number == rows.document), None)
    return document or (title if _is_address(title) else requests[0].url)


def _is_address(title: str | None) -> TypeGuard[str]:
    """Chrome calls a page by its address."""
    return title is not None and "://" in title


def _place_of(page: Fields) -> _Place:
    cached = page.get("_cached")
    return {
        "run": numbered(page, "_run"),
        "repeat": cached is True or cached == 1,
        "step": numbered(page, "_step") or 1,
    }


def _first(starts: Sequence[datetime]) -> datetime:
    """The earliest, but for those that another clock has stamped: rows further off than this are left out."""
    middle = median_low(starts)
    return min(start for start in starts if middle - start < LONGEST)


def _skip_all(group: _Group, ledger: Ledger) -> None:
    place, entry = group.entries[0]
    try:
        instant(entry if isinstance(entry, dict) else {}, "startedDateTime")
    except UnreadableError as error:
        ledger.skip(f"entry {place}: {error}", len(group.entries))


def _drafts(group: _Group, zero: datetime, dialect: Dialect, ledger: Ledger) -> list[Draft]:
    drafts = []
    for place, entry in group.entries:
        try:
            drafts.append(draft_of(entry, zero, dialect))
        except UnreadableError as error:
            ledger.skip(f"entry {place}: {error}")
    return drafts


def _start_of(fields: Any) -> datetime | None:
    try:
        return instant(fields, "startedDateTime") if isinstance(fields, dict) else None
    except UnreadableError:
        return None


def _vitals(page: Fields, shift_us: int | None, ledger: Ledger) -> Vitals:
    """None without a start from which they could be counted."""
    sources = (page, object_of(page, "pageTimings"))
    if shift_us is not None:
        return vitals_in(sources, "_", shift_us=shift_us)
    found = vitals_in(sources, "_")
    if found != Vitals():
        ledger.note("A page's figures are left out: its start is missing, or far from that of its requests.")
    return replace(Vitals(), cls=found.cls)


def _title(page: Fields, title: str | None) -> str | None:
    """What the page calls itself. WebPageTest has a sentence about the run there."""
    if title is None or _is_address(title) or ("_run" in page and title.startswith("Run ")):
        return None
    return plain_or_none(title, MAX_TITLE_CHARS)


def _browser(log: Fields) -> str | None:
    browser = object_of(log, "browser")
    parts = (text_or_none(browser, "name", 50), text_or_none(browser, "version", 50))
    return " ".join(part for part in parts if part) or None
