"""What a visitor saw of a page and what the machine did for it, put to the page's other figures. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from workers.measurement.captures_page import DevToolsEvent
from workers.measurement.captures_sight import SightCapture
from workers.measurement.compute.contention import contention_us
from workers.measurement.compute.devtools.console import console_of, masked
from workers.measurement.compute.devtools.vitals import MAX_NAME_CHARS
from workers.measurement.compute.numbers import clock_of
from workers.measurement.compute.page.activity import activity_of, cpu_time_of
from workers.measurement.compute.page.visual import Shot, VisualProgress, visual_progress
from workers.measurement.contention import settled_us
from workers.measurement.messages import PageMeasurement
from workers.measurement.page_view import MAX_FRAMES
from workers.measurement.redaction import REDACTED
from workers.measurement.vitals import UserTiming, Vitals

# Two frames of a screen: a wall clock that was set in the middle of a load would put film and paints in a wrong place.
_MAX_DRIFT_S = 0.034
# The main thread is asked twice a second or more often; who hears too much hears its answers late.
_SILENCE_S = 1.0
# So many readings in a row are not all late.
_ENOUGH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Zero:
    """A run's beginning on the browser's two clocks, in seconds. `steady` tells that neither was set meanwhile."""

    monotonic_s: float
    wall_s: float
    steady: bool

    @property
    def at(self) -> datetime | None:
        """On the wall clock (aware UTC); None for what no calendar holds."""
        try:
            return datetime.fromtimestamp(self.wall_s, UTC)
        except (ValueError, OverflowError, OSError):
            return None


def was_set(step_us: int) -> bool:
    """Whether a wall clock that moved so far beside the monotonic one was set, and not only read late."""
    return abs(step_us) > _MAX_DRIFT_S * 1e6


def zero_of(events: Sequence[DevToolsEvent], step_us: int = 0) -> Zero | None:
    """From the requests; None without any. `step_us` is what the agent saw of its clock.

    Chrome reads one clock after the other, and on a busy machine some pairs of readings lie tens of milliseconds apart,
    always in the same direction. Of the first and of the last few the closest pair counts: a clock that was set in
    between moves all of the last.
    """
    told = [
        (float(monotonic_s), float(wall_s))
        for method, params in events
        if method == "Network.requestWillBeSent"
        and (monotonic_s := clock_of(params.get("timestamp"))) is not None
        and (wall_s := clock_of(params.get("wallTime"))) is not None
    ]
    if not told:
        return None
    offsets = [wall_s - monotonic_s for monotonic_s, wall_s in told]
    few = min(_ENOUGH, max(1, len(offsets) // 2))
    early_s, late_s = min(offsets[:few]), min(offsets[-few:])
    monotonic_s, _ = told[0]
    steady = abs(late_s - early_s) <= _MAX_DRIFT_S and not was_set(step_us)
    return Zero(monotonic_s=monotonic_s, wall_s=monotonic_s + early_s, steady=steady)


def progress_of(histograms: Sequence[tuple[float, Sequence[int]]], zero: Zero | None) -> VisualProgress:
    """What the frames show: their instants on the wall clock, and their colours. Nothing without a steady clock."""
    if zero is None or not zero.steady:
        return VisualProgress()
    shots = [
        Shot(at_us=round((wall_s - zero.wall_s) * 1e6), histogram=histogram, picture=number)
        for number, (wall_s, histogram) in enumerate(histograms)
    ]
    return visual_progress(shots, max_frames=MAX_FRAMES)


def with_sight(
    page: PageMeasurement,
    sight: SightCapture,
    progress: VisualProgress,
    *,
    zero: Zero | None,
    until_us: int | None,
    secrets: frozenset[str] = frozenset(),
) -> PageMeasurement:
    """The page with what was seen of it, except for the film, whose size only its picture tells. It was looked at until
    `until_us` of the monotonic clock.
    """
    vitals = replace(
        page.vitals,
        start_render_us=progress.start_render_us,
        speed_index_us=progress.speed_index_us,
        visually_complete_us=progress.visually_complete_us,
        user_timings=_without(secrets, page.vitals.user_timings),
    )
    console = console_of(sight.console, zero_wall_s=None if zero is None else zero.wall_s, secrets=secrets)
    if zero is None:
        return replace(page, vitals=vitals, console=console)
    end_us = None if until_us is None else until_us - round(zero.monotonic_s * 1e6)
    vitals = replace(
        vitals,
        cpu=cpu_time_of(sight.samples, zero.monotonic_s, end_us),
        contention_us=contention_us(sight.samples, zero.monotonic_s, settled_us(vitals) or end_us),
    )
    return replace(
        page,
        vitals=vitals,
        activity=activity_of(sight, zero.monotonic_s, page.vitals.fully_loaded_us),
        console=console,
        warnings=(*page.warnings, *_warnings(sight, zero, until_us), *_emptiness(vitals, progress)),
    )


def _without(secrets: frozenset[str], timings: tuple[UserTiming, ...] | None) -> tuple[UserTiming, ...] | None:
    return timings and tuple(replace(timing, name=_name_without(secrets, timing.name)) for timing in timings)


def _name_without(secrets: frozenset[str], name: str) -> str:
    """Of a name that was cut, the end may be what the cut left of one."""
    told = masked(name, secrets)
    if len(name) < MAX_NAME_CHARS:
        return told
    begun = [size for secret in secrets for size in range(1, len(secret)) if told.endswith(secret[:size])]
    return f"{told[: -max(begun)]}{REDACTED}" if begun else told


def _warnings(sight: SightCapture, zero: Zero, until_us: int | None) -> Iterator[str]:
    """Where the strips end before the last look at the page."""
    last_s = sight.samples[-1].monotonic_s if sight.samples else math.inf
    if until_us is not None and last_s < until_us / 1e6 - _SILENCE_S:
        yield (
            f"The main thread did not tell what it did after {last_s - zero.monotonic_s:.1f} s: "
            "its time, and that of the processors, is counted until then."
        )


def _emptiness(vitals: Vitals, progress: VisualProgress) -> Iterator[str]:
    """A page that loaded and never changed the screen: fonts, scripts or styles may have failed it."""
    if vitals.load_us is not None and progress.frames and progress.start_render_us is None and vitals.fcp_us is None:
        yield "Nothing was seen of the page while it was watched: its screen stayed empty."
