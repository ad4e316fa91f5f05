"""What was seen of the screen, the console and the processor during one page load, as it was seen.

`compute/sight.py` says what it means. Three clocks: `wall_s` is the browser's wall clock, `monotonic_s` its monotonic
one, both in seconds; a request's own event has both, which ties them together.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workers.measurement.captures_page import DevToolsEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenFrame:
    """A picture (JPEG) of the screen at the moment when it was shown first."""

    wall_s: float
    picture: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSample:
    """The main thread's own counters at an instant: seconds by kind since it began.

    `process_s` is the processor time of all the browser's processes together, None when the machine does not tell.
    """

    monotonic_s: float
    counters: Mapping[str, float]
    process_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SightCapture:
    """`received` maps hundredths of a second of the monotonic clock to bytes that came in them."""

    frames: tuple[ScreenFrame, ...] = ()
    samples: tuple[ThreadSample, ...] = ()
    received: Mapping[int, int]
    console: tuple[DevToolsEvent, ...] = ()
