"""WebPageTest's own JSON (`jsonResult.php`): runs, first and repeat views, steps. Times are milliseconds from the
start of the view, and -1 is "not applicable"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from workers.measurement.compute.texts import MAX_HEADERS, plain
from workers.measurement.connection import Header
from workers.measurement.imports.askers import with_askers
from workers.measurement.imports.draft import Draft, Rows, View, rows_of
from workers.measurement.imports.fields import (
    Fields,
    UnreadableError,
    address_or_none,
    count_or_none,
    list_of,
    number_or_none,
    object_of,
    text_or_none,
    url_or_none,
    word_or_none,
)
from workers.measurement.imports.har_row import tls_version_of
from workers.measurement.imports.imported import MAX_NAME_CHARS, Ledger, Source
from workers.measurement.imports.metrics import vitals_in
from workers.measurement.imports.source import UnreadableFileError
from workers.measurement.imports.spans import Exchange, placed
from workers.measurement.imports.words import (
    blocks_of,
    header_of,
    joined,
    parts_of,
    protocol_of,
    type_of,
    url_of,
)
from workers.measurement.statuses import REDIRECTS
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, TimingSource

MAX_VIEWS = 40
_SUCCESS = (0, 99999)
# Seconds since 1970.
_YEAR_2000, _YEAR_2100 = 946_684_800, 4_102_444_800


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A view in the file."""

    run: int
    repeat: bool
    step: int
    fields: Fields

    @property
    def label(self) -> str:
        step = f", step {self.step}" if self.step > 1 else ""
        return f"run {self.run}, {'repeat' if self.repeat else 'first'} view{step}"


def is_webpagetest(document: Fields) -> bool:
    return isinstance(_test(document).get("runs"), dict | list)


def read_webpagetest(document: Fields, ledger: Ledger) -> tuple[Source, list[View]]:
    """The views in the file. Raises UnreadableFileError."""
    test = _test(document)
    places = list(_places(test))
    if len(places) > MAX_VIEWS:
        ledger.skip(f"The file has {len(places)} views, of which {MAX_VIEWS} are read.", len(places) - MAX_VIEWS)
    views = _views(places[:MAX_VIEWS], test, ledger)
    if not views and not ledger.skipped:
        raise UnreadableFileError("The file has no view with requests. Ask WebPageTest for it with requests=1.")
    version = text_or_none(document, "webPagetestVersion", MAX_NAME_CHARS)
    return Source(format="WebPageTest JSON", tool="WebPageTest", tool_version=version), views


def _test(document: Fields) -> Fields:
    """Within `data`, as the server answers, or alone, as some tools keep it."""
    inner = object_of(document, "data")
    return inner if "runs" in inner else document


def _places(test: Fields) -> Iterator[_Place]:
    runs = test["runs"]
    numbered = enumerate(runs, start=1) if isinstance(runs, list) else runs.items()
    for number, run in numbered:
        digits = str(number)
        if not isinstance(run, dict) or not (digits.isascii() and digits.isdigit() and len(digits) < 5):
            continue
        for name, repeat in (("firstView", False), ("repeatView", True)):
            view = object_of(run, name)
            steps: list[Fields] = [step for step in list_of(view, "steps") if isinstance(step, dict)]
            # Of a run that failed its first view is empty; a repeat view that is was not asked for.
            if not steps and (view or not repeat):
                steps = [view]
            for step, fields in enumerate(steps, start=1):
                yield _Place(run=int(digits), repeat=repeat, step=step, fields=fields)


def _views(places: Sequence[_Place], test: Fields, ledger: Ledger) -> list[View]:
    """Those with requests; where none has any, those with figures."""
    listing = [place for place in places if list_of(place.fields, "requests")]
    if listing:
        for place in places:
            if place not in listing:
                ledger.note(f"{place.label}: it holds no requests.")
        return [view for place in listing if (view := _view(place, test, ledger)) is not None]
    bare = [_shown(place, test, Rows()) for place in places if vitals_in((place.fields,), "") != Vitals()]
    if bare:
        ledger.note("The file has no requests, only figures. Ask WebPageTest for it with requests=1.")
    return bare


def _view(place: _Place, test: Fields, ledger: Ledger) -> View | None:
    drafts = _drafts(place, list_of(place.fields, "requests"), ledger)
    return _shown(place, test, rows_of(with_askers(drafts))) if drafts else None


def _shown(place: _Place, test: Fields, rows: Rows) -> View:
    fields, requests = place.fields, rows.waterfall.requests
    document = next((row.url for row in requests if row.number == rows.document), requests[0].url if requests else "")
    return View(
        label=place.label,
        url=url_or_none(fields, "URL") or url_or_none(test, "url") or document,
        started_at=_started_at(fields, test),
        waterfall=rows.waterfall,
        vitals=vitals_in((fields,), ""),
        document=rows.document,
        title=text_or_none(fields, "title", 300),
        browser=_browser(fields),
        run=place.run,
        repeat=place.repeat,
        step=place.step,
        succeeded=count_or_none(fields, "result") in (None, *_SUCCESS),
    )


def _drafts(place: _Place, listed: list[Any], ledger: Ledger) -> list[Draft]:
    drafts = []
    for number, request in enumerate(listed, start=1):
        try:
            drafts.append(_draft(request))
        except UnreadableError as error:
            ledger.skip(f"{place.label}, request {number}: {error}")
    return drafts


def _draft(fields: Any) -> Draft:
    if not isinstance(fields, dict):
        raise UnreadableError("it is not an object")
    url = url_or_none(fields, "full_url")
    if url is None:
        raise UnreadableError("full_url is missing")
    socket = count_or_none(fields, "socket")
    return Draft(
        request=_row(fields, url),
        connection=f"socket {socket}" if socket else None,
        tls_version=tls_version_of(fields, ""),
        final=fields.get("final_base_page") is True,
        frame=text_or_none(fields, "frame_id", MAX_NAME_CHARS),
    )


def _row(fields: Fields, url: str) -> Request:
    protocol, parts = protocol_of(fields.get("protocol")), parts_of(url)
    timing = placed(fields, "", Exchange(begin_us=0, protocol=protocol))
    if timing is None:
        raise UnreadableError("load_start is missing")
    status = count_or_none(fields, "responseCode")
    status = status if status and status < 1000 else None
    mime_type = word_or_none(fields, "contentType")
    response_headers = _headers(fields, "response")
    blocking, render_blocking = blocks_of(fields.get("renderBlocking"))
    return Request(
        number=0,
        url=url_of(url),
        method=text_or_none(fields, "method", 32) or "GET",
        resource_type=type_of(text_or_none(fields, "request_type", 32), mime_type, parts),
        timing=timing,
        timing_source=TimingSource.ARCHIVE,
        status=status,
        protocol=protocol,
        address=address_or_none(fields.get("ip_addr")),
        mime_type=mime_type,
        transferred_bytes=count_or_none(fields, "bytesIn"),
        body_bytes=count_or_none(fields, "objectSizeUncompressed"),
        priority=word_or_none(fields, "priority"),
        initiator_url=None if (by := url_or_none(fields, "initiator")) is None else url_of(by),
        blocking=blocking,
        render_blocking=render_blocking,
        redirected_to=_redirected_to(url, status, response_headers),
        request_headers=_headers(fields, "request"),
        response_headers=response_headers,
    )


def _redirected_to(url: str, status: int | None, headers: tuple[Header, ...]) -> str | None:
    target = next((header.value for header in headers if header.name.lower() == "location"), None)
    return joined(url, target) if target and status in REDIRECTS else None


def _headers(fields: Fields, side: str) -> tuple[Header, ...]:
    """Lines of "name: value"; names of HTTP/2's own begin with a colon. The status line is none."""
    lines = list_of(object_of(fields, "headers"), side)[:MAX_HEADERS]
    pairs = [line[:4096].lstrip(":").partition(":") for line in lines if isinstance(line, str)]
    made = (header_of(name.strip(), value.strip()) for name, colon, value in pairs if colon and " " not in name.strip())
    return tuple(header for header in made if header is not None)


def _started_at(fields: Fields, test: Fields) -> datetime:
    """The view's own clock, else when the test was completed. Raises UnreadableFileError where neither is known."""
    for source, name in ((fields, "date"), (test, "completed")):
        value = number_or_none(source, name)
        if value is not None and _YEAR_2000 < value < _YEAR_2100:
            return datetime.fromtimestamp(value, UTC)
    raise UnreadableFileError("The file does not say when the test was made (data.completed is missing).")


def _browser(fields: Fields) -> str | None:
    version = text_or_none(fields, "browser_version", 50) or text_or_none(fields, "browserVersion", 50)
    parts = (text_or_none(fields, "browser_name", 50), version)
    return plain(" ".join(part for part in parts if part), 100) or None
