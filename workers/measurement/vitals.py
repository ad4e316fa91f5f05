"""What the visitor saw and when, and what the browser's main thread did for it."""

from dataclasses import dataclass
from enum import StrEnum

from workers.measurement.timing import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutShift:
    """One shift without the visitor's doing; `score` has no unit."""

    at_us: int
    score: float


class TimingKind(StrEnum):
    """An instant and a stretch of User Timing (W3C), or when an element was painted (Element Timing, WICG)."""

    MARK = "mark"
    MEASURE = "measure"
    ELEMENT = "element"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTiming:
    """What the page itself measured, by the name that it gave: the first of that kind and name. A stretch begins at
    `at` and has a duration, others have none.
    """

    kind: TimingKind
    name: str
    at_us: int
    duration_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTime:
    """The main thread's time by kind, from the beginning until the page was at rest."""

    script_us: int
    style_us: int
    layout_us: int
    other_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """All from navigation start. `cls` is the session-window score of web-vitals, without unit.

    `start_render`, `speed_index`, `visually_complete` come from the filmstrip. `tbt` is what long tasks hold beyond
    50 ms each from FCP until the page was at rest: its network quiet for two seconds, and its main thread free then.
    `long_tasks` and `user_timings` are None when nobody knows, empty when there were none. `contention` is for about
    how long the browser had to wait for processors that others of its machine had, until all was loaded and painted;
    None when the machine does not tell.
    """

    fcp_us: int | None = None
    lcp_us: int | None = None
    lcp_element: str | None = None
    lcp_url: str | None = None
    cls: float | None = None
    dom_content_loaded_us: int | None = None
    load_us: int | None = None
    fully_loaded_us: int | None = None
    dom_interactive_us: int | None = None
    start_render_us: int | None = None
    speed_index_us: int | None = None
    visually_complete_us: int | None = None
    tbt_us: int | None = None
    long_tasks: tuple[Span, ...] | None = None
    shifts: tuple[LayoutShift, ...] = ()
    cpu: CpuTime | None = None
    contention_us: int | None = None
    user_timings: tuple[UserTiming, ...] | None = None
