"""Page runs in Chrome: the door of this package."""

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from workers.browser.capture import Loaded
from workers.browser.chromium import inspect_chromium
from workers.browser.faults import BrowserError
from workers.browser.guard import Guard
from workers.browser.seat import Seat
from workers.browser.settings import BrowserSettings
from workers.browser.workspace import sweep
from workers.measurement.compute.page import compute_page
from workers.measurement.compute.page_outcome import judge_page
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, OnProgress, ProgressStage, RunRequest
from workers.measurement.routes import PictureKind

# Longer than any run may take: whoever waits this long waits for something that is broken.
_SEAT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRun:
    """The outcome of a page run; the pictures are JPEG, 1 MB at most each."""

    outcome: Measured | Failed
    pictures: Mapping[PictureKind, bytes] = field(default_factory=dict)

    @property
    def screenshot(self) -> bytes | None:
        return self.pictures.get(PictureKind.SCREENSHOT)


class BrowserPool:
    """`size` browsers, each started at first use. Thread-safe; `close` when done.

    `enter` is called first in the threads that start them: `workers.shaping` moves them to a shaped network.
    """

    def __init__(
        self, settings: BrowserSettings, *, guard: Guard | None = None, enter: Callable[[], None] | None = None
    ) -> None:
        self._settings = settings
        self._seats = [Seat(settings, enter) for _ in range(settings.size)]
        self._free: queue.LifoQueue[Seat] = queue.LifoQueue()
        for seat in self._seats:
            self._free.put(seat)
        self._guard = guard
        self._guard_lock = threading.Lock()
        sweep()

    def __enter__(self) -> "BrowserPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every browser and driver and removes their files."""
        for seat in self._seats:
            seat.close()

    def load(self, request: RunRequest, on_progress: OnProgress | None = None) -> PageRun:
        """One page, from a cold start of everything but the browser's process. Blocks; a bad target is a `Failed`."""
        tell = on_progress or _nobody
        tell(ProgressStage.STARTING, None)
        try:
            guard = self._judge()
            refusal = guard.refusal(request.url)
            if refusal is not None:
                return PageRun(outcome=Failed(failure=refusal))
            loaded = self._load(request, tell)
        except BrowserError as error:
            return PageRun(outcome=Failed(failure=failure(FailureKind.BROWSER_FAILED, str(error))))
        tell(ProgressStage.COMPUTING, None)
        page = compute_page(loaded.capture)
        seen = replace(page.measurement, has_screenshot=loaded.screenshot is not None)
        outcome = judge_page(request, loaded.capture, replace(page, measurement=seen), guard.may_measure)
        kept = outcome.measurement is not None
        return PageRun(outcome=outcome, pictures=_pictures(loaded) if kept else {})

    def _judge(self) -> Guard:
        """The guard, made at first use because it depends on whether the sandbox works."""
        with self._guard_lock:
            if self._guard is None:
                settings = self._settings
                sandboxed = inspect_chromium(settings.chromium).sandbox and settings.sandbox is not False
                self._guard = Guard(
                    allowed=settings.allowed,
                    extra_ports=settings.extra_ports,
                    only_private=not sandboxed and not settings.allow_unsandboxed,
                )
            return self._guard

    def _load(self, request: RunRequest, tell: OnProgress) -> Loaded:
        try:
            seat = self._free.get(timeout=_SEAT_S)
        except queue.Empty as error:
            raise BrowserError(f"no browser was free within {_SEAT_S:.0f} s") from error
        try:
            return _follow(seat, request, tell)
        finally:
            self._free.put(seat)


def _follow(seat: Seat, request: RunRequest, tell: OnProgress) -> Loaded:
    """Tells what is going on from the caller's own thread, so that a slow listener never holds up the page."""
    news: queue.SimpleQueue[tuple[ProgressStage, int | None] | None] = queue.SimpleQueue()
    work = seat.load(request, lambda stage, count: news.put((stage, count)))
    work.add_done_callback(lambda _: news.put(None))
    while (item := news.get()) is not None:
        tell(*item)
    return work.result()


def _pictures(loaded: Loaded) -> dict[PictureKind, bytes]:
    found = {PictureKind.SCREENSHOT: loaded.screenshot}
    return {kind: picture for kind, picture in found.items() if picture is not None}


def _nobody(_stage: ProgressStage, _requests: int | None) -> None:
    """Nobody listens."""
