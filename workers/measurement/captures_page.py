"""What a browser saw of one page load, as it saw it. `compute/page/page.py` says what it means.

Chrome's two witnesses run on the same monotonic clock: DevTools events in seconds with fractions, the network log in
whole milliseconds. Nothing here is interpreted, so that a capture can be kept and computed again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple


class DevToolsEvent(NamedTuple):
    """One event of the DevTools protocol, such as `Network.requestWillBeSent`, with its parameters as they came."""

    method: str
    params: Mapping[str, Any]


class PictureSeen(NamedTuple):
    """A picture's own size in pixels, and the largest scale in CSS pixels at which the page shows it."""

    url: str
    width: int
    height: int
    scale: float


class TextSeen(NamedTuple):
    """The size of a body that came without an encoding, and what gzip makes of it."""

    request_id: str
    body_bytes: int
    gzip_bytes: int


class PieceSeen(NamedTuple):
    """How much of the document there was at an instant of Chrome's own clock, decoded."""

    at_s: float
    bytes_so_far: int


class BodySeen(NamedTuple):
    """Lines and columns of a document's text, from 1: where its body begins, and where the first thing stands that may
    be seen. The second is None unless text that is not hidden follows there or later: else scripts may make all that
    is ever shown. `words_bytes` is how much of the document there must be for that text to have begun, and each element
    that a link of its head expects before anything is painted.
    """

    starts: tuple[int, int] | None
    shows: tuple[int, int] | None
    words_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetlogCapture:
    """The lines of a network log that belong to one run, and the constants from the head of the same log.

    `complete` says that the log was read beyond the end of the run; otherwise its last events may be missing.
    """

    constants: Mapping[str, Any]
    lines: tuple[bytes, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCapture:
    """One page load.

    `started_at` is the wall clock (aware UTC). `asked_us` is when the browser was told to go there, on Chrome's own
    clock (CLOCK_MONOTONIC): nothing of the page is older. None, as in older captures, leaves that to be guessed.
    `told_us` is until when DevTools has told all that the page asked for; None, as in older captures, for all of it.
    `main_frame` is the id of the top frame. `net_error` is Chrome's name (ERR_…) for a navigation that came to nothing.
    `load_seen` and `went_quiet` tell how far it came (what browsers read no further, without a load event, has loaded
    when they stop), `responsive` that its main thread was free in the end; `overran` that the time allowed was used up,
    `outgrew` that the page brought more than is allowed. `memory_limit_bytes` is what a page was ended for taking more
    than, `machine_ran_out` that the kernel killed a process for want of memory meanwhile. `clock_step_us` is by how
    much the wall clock was set on meanwhile, or back (below zero), as far as its readings are exact. `secret_headers`
    names request headers whose values must not be kept (lower case). `pieces` are those of the last document of the top
    frame; `blocking` are addresses that a link asked for and that held the paint up, as the page told after its load.
    """

    url: str
    main_frame: str
    events: tuple[DevToolsEvent, ...]
    started_at: datetime | None = None
    asked_us: int | None = None
    told_us: int | None = None
    netlog: NetlogCapture | None = None
    net_error: str | None = None
    is_download: bool = False
    crashed: bool = False
    memory_limit_bytes: int | None = None
    machine_ran_out: bool = False
    load_seen: bool = False
    went_quiet: bool = False
    responsive: bool = True
    overran: bool = False
    outgrew: bool = False
    clock_step_us: int = 0
    events_dropped: bool = False
    text_found: bool | None = None
    title: str | None = None
    browser_version: str | None = None
    secret_headers: frozenset[str] = field(default=frozenset())
    warnings: tuple[str, ...] = ()
    pictures: tuple[PictureSeen, ...] = ()
    texts: tuple[TextSeen, ...] = ()
    hints: tuple[str, ...] | None = None
    text_waits: bool | None = None
    text_made: bool | None = None
    body: BodySeen | None = None
    pieces: tuple[PieceSeen, ...] = ()
    blocking: tuple[str, ...] = ()
