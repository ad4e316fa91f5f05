"""From what a browser brought back to the outcome of the run: every view computed and judged, one load chosen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from workers.browser.capture import Loaded
from workers.browser.sight import see
from workers.browser.views import Load
from workers.measurement.captures_page import NetlogCapture
from workers.measurement.compute.page.outcome import document_of, judge_page
from workers.measurement.compute.page.page import compute_page
from workers.measurement.compute.page.representative import representative
from workers.measurement.failure import Failure
from workers.measurement.messages import Failed, Measured, PageMeasurement, RunRequest
from workers.measurement.page_options import PageState, Protocol
from workers.measurement.page_view import RepeatView, ViewSample
from workers.measurement.routes import PictureKind
from workers.measurement.vitals import Vitals

_PROTOCOLS = frozenset(map(str, Protocol))
MayMeasure = Callable[[str], bool]
_NO_REPEAT = "There is no second view: after the first one the browser could not be used again."
_RESTLESS = "The page never stopped asking for more: when it was fully loaded, and how long it blocked, is not known."
_SECOND_TRY = "This is a second try: the first was cut short when a network of the agent's machine came or went ({})."


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRun:
    """The outcome of a page run; the pictures are JPEG, 1 MB at most each. `netlog` is what the phases come from."""

    outcome: Measured | Failed
    pictures: Mapping[PictureKind, bytes] = field(default_factory=dict)
    netlog: NetlogCapture | None = None

    @property
    def screenshot(self) -> bytes | None:
        return self.pictures.get(PictureKind.SCREENSHOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view: what came of it, as the run's outcome would be if there were no other."""

    load: int
    state: PageState
    run: PageRun

    @property
    def page(self) -> PageMeasurement | None:
        measurement = self.run.outcome.measurement
        return measurement if isinstance(measurement, PageMeasurement) else None

    @property
    def failure(self) -> Failure | None:
        return self.run.outcome.failure if isinstance(self.run.outcome, Failed) else None


def views_of(request: RunRequest, number: int, load: Load, may_measure: MayMeasure) -> list[View]:
    """The views of the `number`th load, the first one first."""

    def may_lead(address: str) -> bool:
        return address == load.hole or may_measure(address)

    first = run_of(request, load.first, may_lead)
    if request.page.repeat is not None and load.repeat is None:
        first = _without_repeat(first)
    views = [View(load=number, state=PageState.COLD, run=first)]
    if load.repeat is not None and request.page.repeat is not None:
        run = run_of(request, load.repeat, may_lead)
        views.append(View(load=number, state=request.page.repeat, run=run))
    return views


def _without_repeat(run: PageRun) -> PageRun:
    """A failed load has said already why nobody came back."""
    return run if isinstance(run.outcome, Failed) else _warned(run, _NO_REPEAT)


def _warned(run: PageRun, text: str) -> PageRun:
    page = run.outcome.measurement
    if not isinstance(page, PageMeasurement):
        return run
    told = replace(page, warnings=(*page.warnings, text))
    return replace(run, outcome=replace(run.outcome, measurement=told))


def second_try(view: View, name: str) -> View:
    """A view of a load that was made in place of one that was cut short (`cut_short_by`)."""
    return replace(view, run=_warned(view.run, _SECOND_TRY.format(name)))


def failed_view(number: int, reason: Failure) -> View:
    """A load of which nothing was seen."""
    return View(load=number, state=PageState.COLD, run=PageRun(outcome=Failed(failure=reason)))


def run_of(request: RunRequest, loaded: Loaded, may_measure: MayMeasure) -> PageRun:
    """One view computed and judged, for itself."""
    page = compute_page(loaded.capture)
    looked, film = see(page.measurement, loaded.capture, loaded.sight, request)
    seen = replace(
        looked,
        has_screenshot=loaded.screenshot is not None,
        warnings=looked.warnings + _warnings(request, looked),
        only_protocol=request.page.protocol,
    )
    outcome = judge_page(request, loaded.capture, replace(page, measurement=seen), may_measure)
    if outcome.measurement is None:
        return PageRun(outcome=outcome)
    return PageRun(outcome=outcome, pictures=_pictures(loaded, film), netlog=loaded.capture.netlog)


def _warnings(request: RunRequest, page: PageMeasurement) -> tuple[str, ...]:
    """What of the options showed: who was waited for in vain or not at all, and who spoke otherwise than was asked."""
    rows = page.waterfall.requests
    asked = {urlsplit(row.url).hostname for row in rows}
    dead = {urlsplit(row.url).hostname for row in rows if row.status is None} & set(request.page.black_holes)
    without = "." if page.vitals.fcp_us is not None else ", and the page showed nothing."
    warnings = [f"{host} was made not to answer{without}" for host in sorted(filter(None, dead))]
    if page.document is not None and not page.waterfall.truncated:
        unasked = sorted(set(request.page.black_holes) - asked)
        warnings += [f"The page asked nothing of {host}, which was made not to answer." for host in unasked]
    protocol = request.page.protocol
    others = sum(row.protocol in _PROTOCOLS - {protocol} for row in rows)
    if protocol is not None and others:
        warnings.append(f"{others} of {len(rows)} requests were not answered over {protocol}: their hosts lack it.")
    accepted = {one.host for one in page.waterfall.connections if one.certificate_error and one.requests}
    if request.ignore_certificate_errors and accepted:
        warnings.append(f"Certificates that do not verify were accepted all the same: {', '.join(sorted(accepted))}.")
    if page.vitals.load_us is not None and page.vitals.fully_loaded_us is None:
        warnings.append(_RESTLESS)
    return tuple(warnings)


def _pictures(loaded: Loaded, film: bytes | None) -> dict[PictureKind, bytes]:
    found = {PictureKind.SCREENSHOT: loaded.screenshot, PictureKind.FILM: film}
    return {kind: picture for kind, picture in found.items() if picture is not None}


def chosen(views: Sequence[View]) -> PageRun:
    """The run that stands for all: the representative load, or the first one when none is valid."""
    samples = [sample_of(view) for view in views]
    number = representative(samples) or views[0].load
    first, *repeats = [view for view in views if view.load == number]
    page = first.page
    if page is None or len(views) == 1:
        return first.run
    repeat = _repeat_of(repeats[0]) if repeats else None
    whole = replace(page, samples=tuple(samples), repeat=repeat)
    return replace(first.run, outcome=replace(first.run.outcome, measurement=whole))


def sample_of(view: View) -> ViewSample:
    """A view's figures."""
    page, reason = view.page, None if view.failure is None else str(view.failure.kind)
    if page is None:
        return ViewSample(load=view.load, state=view.state, vitals=Vitals(), failure=reason)
    rows, document = page.waterfall.requests, document_of(page)
    return ViewSample(
        load=view.load,
        state=view.state,
        vitals=page.vitals,
        ttfb_us=None if document is None else document.timing.first_byte_us,
        requests=len(rows),
        received_bytes=sum(row.transferred_bytes or 0 for row in rows),
        failure=reason,
    )


def _repeat_of(view: View) -> RepeatView | None:
    page = view.page
    if page is None:
        return None
    return RepeatView(
        state=view.state,
        waterfall=page.waterfall,
        vitals=page.vitals,
        document=page.document,
        began_at=page.began_at,
    )
