"""A measurement as an HTTP Archive, HAR 1.2, for every tool that reads one. Pure.

In HAR `connect` contains `ssl`, a phase that did not happen is -1, and the phases add up to `time`; what lay between
them is `blocked` (see `har_timing`). What it shows is a level of `redaction`. A page's second view is a second page.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from workers.measurement.compute.page.representative import representative
from workers.measurement.compute.probe.pair_hops import as_probe
from workers.measurement.connection import Connection
from workers.measurement.har_entry import Scene, entry_of_hop, entry_of_request, known
from workers.measurement.har_timing import ms_or_none, ms_or_unknown
from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement
from workers.measurement.page_options import PageState
from workers.measurement.redaction import Masks, Redaction
from workers.measurement.vitals import TimingKind, Vitals
from workers.measurement.waterfall import Waterfall

Document = dict[str, Any]

VERSION = "1.2"
CREATOR = "Firstbyte"
_FIRST, _SECOND = "page_1", "page_2"
_SECOND_VIEW = "The second view."
_UNKNOWN_BEGIN = "When it began is not kept: its clock begins where the first view's last request ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the archive says beside the measurement. `started_at` is the agent's wall clock when the run began, for what
    does not say itself when it did; `version` is that of ours."""

    url: str
    started_at: datetime
    version: str
    redaction: Redaction = Redaction.STANDARD


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """One load, as a page of the archive."""

    id: str
    started_at: datetime
    waterfall: Waterfall
    vitals: Vitals
    state: PageState
    document: int | None


def har_document(measurement: Measurement | None, about: About) -> Document:
    """The archive. Without a measurement it holds no entries."""
    seen = None if measurement is None else as_probe(measurement)
    masks = Masks(about.redaction)
    log: Document = {"version": VERSION, "creator": {"name": CREATOR, "version": about.version}}
    if isinstance(seen, PageMeasurement):
        views = _views(seen, about)
        log |= {"browser": browser_of(seen.browser_version)} if seen.browser_version else {}
        log["pages"] = [_page_of_view(view, seen, about, masks) for view in views]
        log["entries"] = [entry for view in views for entry in _entries_of_view(view, masks)]
    else:
        log["pages"] = [_page(_FIRST, about.started_at, masks.url(about.url))]
        log["entries"] = [] if seen is None else _entries_of_probe(seen, about, masks)
    return {"log": log}


def browser_of(told: str) -> Document:
    """The name and the number in what a page's measurement says of its browser, Chromium where it names none."""
    name, _, number = told.rpartition(" ")
    return {"name": name or "Chromium", "version": number}


def _views(page: PageMeasurement, about: About) -> list[_View]:
    first = _View(
        id=_FIRST,
        started_at=page.began_at or about.started_at,
        waterfall=page.waterfall,
        vitals=page.vitals,
        state=page.state,
        document=page.document,
    )
    if page.repeat is None:
        return [first]
    ended_us = max((row.timing.last_us for row in page.waterfall.requests), default=0)
    second = _View(
        id=_SECOND,
        started_at=page.repeat.began_at or first.started_at + timedelta(microseconds=ended_us),
        waterfall=page.repeat.waterfall,
        vitals=page.repeat.vitals,
        state=page.repeat.state,
        document=page.repeat.document,
    )
    return [first, second]


def _page_of_view(view: _View, page: PageMeasurement, about: About, masks: Masks) -> Document:
    made = _page(view.id, view.started_at, masks.only_below_strict(page.title) or masks.url(about.url))
    made["pageTimings"] = _page_timings(view.vitals)
    if view.id == _SECOND:
        is_known = page.repeat is not None and page.repeat.began_at is not None
        made["comment"] = _SECOND_VIEW if is_known else f"{_SECOND_VIEW} {_UNKNOWN_BEGIN}"
    # WebPageTest's word for the view; a connection that is kept is none of its states.
    cached = 0 if view.state is PageState.COLD else 1
    load = representative(page.samples) or 1
    return made | known(_state=str(view.state), _run=load, _cached=cached, **_metrics(view, masks))


def _page(page_id: str, started_at: datetime, title: str) -> Document:
    at = started_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {
        "startedDateTime": at,
        "id": page_id,
        "title": title,
        "pageTimings": {"onContentLoad": ms_or_unknown(None), "onLoad": ms_or_unknown(None)},
    }


def _page_timings(vitals: Vitals) -> Document:
    """Those of HAR, and in browsertime's names what people look for first."""
    return {
        "onContentLoad": ms_or_unknown(vitals.dom_content_loaded_us),
        "onLoad": ms_or_unknown(vitals.load_us),
    } | known(
        _firstContentfulPaint=ms_or_none(vitals.fcp_us),
        _largestContentfulPaint=ms_or_none(vitals.lcp_us),
        _cumulativeLayoutShift=vitals.cls,
        _fullyLoaded=ms_or_none(vitals.fully_loaded_us),
        _startRender=ms_or_none(vitals.start_render_us),
    )


def _metrics(view: _View, masks: Masks) -> Document:
    """In WebPageTest's names, at the page itself."""
    vitals = view.vitals
    document = next((row for row in view.waterfall.requests if row.number == view.document), None)
    first_byte_us = document.timing.first_byte_us if document else None
    tasks = vitals.long_tasks
    return {
        "_TTFB": ms_or_none(first_byte_us),
        "_loadTime": ms_or_none(vitals.load_us),
        "_fullyLoaded": ms_or_none(vitals.fully_loaded_us),
        "_domInteractive": ms_or_none(vitals.dom_interactive_us),
        "_firstContentfulPaint": ms_or_none(vitals.fcp_us),
        "_LargestContentfulPaint": ms_or_none(vitals.lcp_us),
        "_render": ms_or_none(vitals.start_render_us),
        "_SpeedIndex": ms_or_none(vitals.speed_index_us),
        "_visualComplete": ms_or_none(vitals.visually_complete_us),
        "_TotalBlockingTime": ms_or_none(vitals.tbt_us),
        "_longTasks": None if tasks is None else [[ms_or_none(t.start_us), ms_or_none(t.end_us)] for t in tasks],
        **_user_timings(vitals, masks),
        "_lcpElement": masks.only_below_strict(vitals.lcp_element),
        "_lcpUrl": None if vitals.lcp_url is None else masks.url(vitals.lcp_url),
    }


def _user_timings(vitals: Vitals, masks: Masks) -> Document:
    """What the page itself measured, in WebPageTest's two ways; its names tell of more than speed."""
    timings = () if masks.is_strict else vitals.user_timings or ()
    instants = {masks.bare(one.name): ms_or_none(one.at_us) for one in timings if one.kind is not TimingKind.MEASURE}
    measures = [
        {
            "name": masks.bare(one.name),
            "startTime": ms_or_none(one.at_us),
            "duration": ms_or_none(one.duration_us),
        }
        for one in timings
        if one.kind is TimingKind.MEASURE
    ]
    return {"_userTimes": instants, "_userTimingMeasures": measures} if timings else {}


def _entries_of_view(view: _View, masks: Masks) -> list[Document]:
    scene = Scene(
        page=view.id,
        started_at=view.started_at,
        masks=masks,
        connections=_by_number(view.waterfall.connections),
        document=view.document,
    )
    return [entry_of_request(row, scene) for row in view.waterfall.requests]


def _entries_of_probe(probe: ProbeMeasurement, about: About, masks: Masks) -> list[Document]:
    connections = _by_number(probe.connections)
    scene = Scene(page=_FIRST, started_at=about.started_at, masks=masks, connections=connections)
    return [entry_of_hop(hop, scene) for hop in probe.hops]


def _by_number(connections: Iterable[Connection]) -> dict[int, Connection]:
    return {connection.number: connection for connection in connections}
