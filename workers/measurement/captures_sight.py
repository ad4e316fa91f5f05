"""What was seen of the screen, the console and the processor during one page load, as it was seen.

`compute/page/sight.py` says what it means. Three clocks: `wall_s` is the browser's wall clock, `monotonic_s` its
monotonic one, both in seconds; a request's own event has both, which ties them together.
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
class ProcessorTime:
    """Seconds of the machine's processors, from some beginning.

    `ours_s` is what all the browser's processes have used, `machine_s` what was used by anybody, and of that
    `stolen_s` what the machine's host gave to other machines; `idle_s` is what nobody used. `waited_s` is for how long
    each of the threads that a page waits for could have run and had no processor, by its id; empty when the kernel does
    not tell.
    """

    ours_s: float
    machine_s: float
    idle_s: float
    stolen_s: float
    waited_s: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSample:
    """The main thread's own counters at an instant: seconds by kind since it began.

    `processors` is None when the machine does not tell.
    """

    monotonic_s: float
    counters: Mapping[str, float]
    processors: ProcessorTime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SightCapture:
    """`received` maps hundredths of a second of the monotonic clock to bytes that came in them."""

    frames: tuple[ScreenFrame, ...] = ()
    samples: tuple[ThreadSample, ...] = ()
    received: Mapping[int, int]
    console: tuple[DevToolsEvent, ...] = ()
