"""The instants of a measurement that get a line over all rows."""

from collections.abc import Iterator

from backend.web.units import duration
from backend.web.waterfall.axis import MarkKey, Moment
from backend.web.waterfall.shapes import MARK_NAMES
from backend.web.waterfall.text import printable
from workers.measurement.messages import PageMeasurement, ProbeMeasurement
from workers.measurement.vitals import LayoutShift, TimingKind, UserTiming
from workers.measurement.waterfall import Request

# What a layout shift must amount to for a line of its own, as in WebPageTest, and how many are drawn.
MIN_SHIFT = 0.001
MAX_SHIFTS = 50
# Of what the page itself marked so much is drawn; more would hide the rows. Its names have the room of our own.
MAX_TIMINGS, NAME_CHARS = 5, 13


def document_of(page: PageMeasurement) -> Request | None:
    """The main frame's final request: the one whose first byte people mean."""
    return next((request for request in page.waterfall.requests if request.number == page.document), None)


def page_moments(page: PageMeasurement, zero_us: int = 0) -> tuple[Moment, ...]:
    """What a page load has lines for; texts count from `zero_us`."""
    document, vitals = document_of(page), page.vitals
    instants: tuple[tuple[MarkKey, int | None], ...] = (
        ("first-byte", document.timing.first_byte_us if document else None),
        ("start-render", vitals.start_render_us),
        ("fcp", vitals.fcp_us),
        ("lcp", vitals.lcp_us),
        ("dcl", vitals.dom_content_loaded_us),
        ("load", vitals.load_us),
    )
    known = tuple(
        Moment(key=key, text=f"{MARK_NAMES[key]} {duration(us - zero_us)}", at_us=us)
        for key, us in instants
        if us is not None
    )
    return (*known, *_shifts(vitals.shifts), *_timings(vitals.user_timings or (), zero_us))


def probe_moments(probe: ProbeMeasurement, zero_us: int) -> tuple[Moment, ...]:
    """The first byte of a probe's last hop."""
    first_byte_us = probe.hops[-1].timing.first_byte_us if probe.hops else None
    if first_byte_us is None:
        return ()
    name, behind = MARK_NAMES["first-byte"], " after redirects" if len(probe.hops) > 1 else ""
    return (Moment(key="first-byte", text=f"{name}{behind} {duration(first_byte_us - zero_us)}", at_us=first_byte_us),)


def _shifts(shifts: tuple[LayoutShift, ...]) -> Iterator[Moment]:
    """A line each; only the largest has a label, since they come in crowds."""
    seen = sorted((one for one in shifts if one.score >= MIN_SHIFT), key=lambda one: -one.score)[:MAX_SHIFTS]
    for index, one in enumerate(seen):
        text = "" if index else f"{MARK_NAMES['shift']} {one.score:.3f}".rstrip("0").rstrip(".")
        yield Moment(key="shift", text=text, at_us=one.at_us)


def _timings(timings: tuple[UserTiming, ...], zero_us: int) -> Iterator[Moment]:
    """A line for each instant that the page named, the earliest first."""
    instants = [one for one in timings if one.kind is not TimingKind.MEASURE]
    for one in instants[:MAX_TIMINGS]:
        text = f"{printable(one.name, NAME_CHARS)} {duration(one.at_us - zero_us)}"
        yield Moment(key="user-timing", text=text, at_us=one.at_us)
