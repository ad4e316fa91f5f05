"""A file of another tool, read: HTTP Archives of any tool, and WebPageTest's JSON."""

from collections.abc import Sequence
from itertools import groupby

from workers.measurement.compute.deliveries import deliveries_of
from workers.measurement.compute.page.representative import representative
from workers.measurement.compute.texts import short_url
from workers.measurement.failure import FailureKind
from workers.measurement.imports.draft import View
from workers.measurement.imports.fields import Fields, object_of, text_or_none
from workers.measurement.imports.har_file import read_har
from workers.measurement.imports.imported import Imported, ImportedPage, Ledger
from workers.measurement.imports.source import UnreadableFileError, document_in, stranger
from workers.measurement.imports.webpagetest import is_webpagetest, read_webpagetest
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.page_view import RepeatView, ViewSample
from workers.measurement.waterfall import received_bytes

__all__ = ["UnreadableFileError", "read_import"]


def read_import(data: bytes) -> Imported:
    """Every page load in the file. Raises UnreadableFileError, whose text is a sentence for people."""
    document = document_in(data)
    ledger = Ledger()
    if isinstance(document.get("log"), dict):
        source, views = read_har(document, ledger)
    elif is_webpagetest(document):
        source, views = read_webpagetest(document, ledger)
    else:
        raise UnreadableFileError(_named(document))
    pages = tuple(page for loads in _series(views) for page in _pages(loads))
    if not pages:
        if not ledger.skipped:
            raise UnreadableFileError(
                "The file holds no requests. Load the page while the tool records, and export again."
            )
        reason = f" The first: {ledger.remarks[0]}" if ledger.remarks else ""
        raise UnreadableFileError(f"None of the file's requests can be read.{reason}".rstrip(".") + ".")
    if any(page.measurement.waterfall.truncated for page in pages):
        ledger.note("A page has more requests than are kept.")
    return Imported(source=source, pages=pages, skipped=ledger.skipped, remarks=tuple(ledger.remarks))


def _named(document: Fields) -> str:
    """What a file is that is none of those that are read."""
    status = text_or_none(document, "statusText", 200) or text_or_none(object_of(document, "data"), "statusText", 200)
    if "statusCode" in document and status is not None:
        return f"The file holds no result. WebPageTest says: {status.rstrip('.')}."
    return (
        stranger(document)
        or "The file is neither an HTTP Archive (it has no log) nor WebPageTest's JSON (it has no data.runs)."
    )


def _series(views: Sequence[View]) -> list[list[View]]:
    """Views that are loads of one page: WebPageTest numbers them. Where nobody does, each stands alone. Several steps
    of a script may be at one address.
    """

    def place(view: View) -> tuple[str, int]:
        return view.url, view.step

    numbered = sorted((view for view in views if view.run is not None), key=place)
    series = [list(loads) for _, loads in groupby(numbered, key=place)]
    return series + [[view] for view in views if view.run is None]


def _pages(loads: Sequence[View]) -> list[ImportedPage]:
    """The representative load with its repeat view, and the figures of all. A load that came twice stands alone."""
    seen: dict[tuple[int, bool], View] = {}
    again: list[View] = []
    for view in loads:
        key = (view.run or 1, view.repeat)
        (again.append(view) if key in seen else seen.setdefault(key, view))
    samples = tuple(_sample(view) for view in seen.values())
    firsts = {load: view for (load, repeat), view in seen.items() if not repeat}
    repeats = {load: view for (load, repeat), view in seen.items() if repeat}
    chosen = representative(samples) or min(firsts or repeats)
    front = firsts.get(chosen) or repeats[chosen]
    repeat = repeats.get(chosen) if chosen in firsts else None
    page = ImportedPage(
        measurement=_measurement(front, samples if len(samples) > 1 else (), repeat),
        url=short_url(front.url),
        started_at=front.started_at,
        label=front.label,
    )
    return [page, *(one for view in again for one in _pages([view]))]


def _measurement(view: View, samples: tuple[ViewSample, ...], repeat: View | None) -> PageMeasurement:
    return PageMeasurement(
        waterfall=view.waterfall,
        vitals=view.vitals,
        document=view.document,
        title=view.title,
        browser_version=view.browser,
        only_protocol=view.only_protocol,
        state=_state(view),
        samples=samples,
        deliveries=deliveries_of(view.waterfall.requests),
        repeat=None
        if repeat is None
        else RepeatView(
            state=_state(repeat), waterfall=repeat.waterfall, vitals=repeat.vitals, document=repeat.document
        ),
    )


def _sample(view: View) -> ViewSample:
    rows = view.waterfall.requests
    document = next((row for row in rows if row.number == view.document), None)
    return ViewSample(
        load=view.run or 1,
        state=_state(view),
        vitals=view.vitals,
        ttfb_us=None if document is None else document.timing.first_byte_us,
        requests=len(rows) or None,
        received_bytes=received_bytes(rows) if rows else None,
        failure=None if view.succeeded else FailureKind.PAGE_ERROR.value,
    )


def _state(view: View) -> PageState:
    """WebPageTest's repeat view begins with a warm cache and no connections."""
    return PageState.WARM_CACHE if view.repeat else PageState.COLD
