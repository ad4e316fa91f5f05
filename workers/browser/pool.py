"""Page runs in Chrome: the door of this package."""

import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from time import monotonic, sleep

from workers.browser.chromium import inspect_chromium
from workers.browser.faults import BrowserError
from workers.browser.guard import Guard
from workers.browser.names import Names
from workers.browser.seat import Seat, TellFault, tell_nobody
from workers.browser.seen import PageRun, View, chosen, failed_view, second_try, views_of
from workers.browser.settings import BrowserSettings
from workers.browser.steps import Carried, StepError
from workers.browser.views import Load
from workers.browser.workspace import sweep
from workers.closing import Closing
from workers.diagnosis.diagnosed import diagnosed_page
from workers.measurement.compute.page.outcome import cut_short_by
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, OnProgress, ProgressStage, RunRequest
from workers.measurement.page_options import PageState
from workers.measurement.routes import PictureKind

# Longer than any run may take: whoever waits this long waits for something that is broken.
_SEAT_S = 300.0
# A page that failed so often in a run will fail again; more would only keep others waiting.
_ENOUGH_FAILURES = 3
# What a network of ours cut short is made once more, so that the slot is not lost. One that took longer is not: the
# ledger knows nothing of a second try, and grants a run a minute beyond its timeouts.
_AGAIN_WITHIN_S = 20.0
# Such changes come in bursts; an address of IPv6 is tried out for a second before it counts (RFC 4862, 5.4).
_CALM_S = 2.0


class ForbiddenError(Exception):
    """A step led to an address that may not be measured."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and what its steps have left."""

    request: RunRequest
    carried: Carried | None


class BrowserPool(Closing):
    """`size` browsers, each started at first use. Thread-safe; `close` when done.

    `enter` is called first in the threads that start them: `workers.shaping` moves them to a shaped network.
    `tell_fault` hears why a browser is out of service, and None when one is in order.
    """

    def __init__(
        self,
        settings: BrowserSettings,
        *,
        guard: Guard | None = None,
        enter: Callable[[], None] | None = None,
        tell_fault: TellFault = tell_nobody,
    ) -> None:
        self._settings = settings
        self._seats = [Seat(settings, enter, tell_fault) for _ in range(settings.size)]
        self._free: queue.LifoQueue[Seat] = queue.LifoQueue()
        for seat in self._seats:
            self._free.put(seat)
        self._guard = guard
        self._guard_lock = threading.Lock()
        self._names = Names()
        sweep()

    def close(self) -> None:
        """Ends every browser and driver and removes their files, also behind one that does not end in time."""
        with ExitStack() as stack:
            stack.callback(self._names.close)
            for seat in self._seats:
                stack.callback(seat.close)

    def prove_cold(self) -> None:
        """Starts a browser and lets it visit our own page. Raises BrowserError when it does not or was not cold."""
        seat = self._take()
        try:
            seat.prove().result()
        finally:
            self._free.put(seat)

    def load(self, request: RunRequest, on_progress: OnProgress | None = None) -> PageRun:
        """Every view of one run, each first one from a cold start of everything but the browser's process.

        `request.timeout_us` is for each view. Blocks; a bad target is a `Failed`.
        """
        tell = on_progress or _nobody
        tell(ProgressStage.STARTING, None)
        try:
            guard = self._judge()
            refusal = guard.refuses(request)
            if refusal is not None:
                return PageRun(outcome=Failed(failure=refusal))
            run = chosen(self._views(request, guard, tell))
            return replace(run, outcome=diagnosed_page(self._names.delivered(run.outcome, request)))
        except StepError as error:
            return _stopped(error)
        except ForbiddenError:
            refusal = failure(FailureKind.BLOCKED_DESTINATION, "a step leads there")
            return PageRun(outcome=Failed(failure=refusal))
        except BrowserError as error:
            return PageRun(outcome=Failed(failure=failure(FailureKind.BROWSER_FAILED, str(error))))

    def _views(self, request: RunRequest, guard: Guard, tell: OnProgress) -> list[View]:
        views: list[View] = []
        seat = self._take()
        try:
            carried = _carry_out(seat, request, guard)
            tries = _Tries(lambda number: _load(seat, number, _Asked(request, carried), guard, tell))
            for number in range(1, request.page.loads + 1):
                views += tries.load(number)
                if sum(view.state is PageState.COLD and view.failure is not None for view in views) >= _ENOUGH_FAILURES:
                    break
        finally:
            self._free.put(seat)
        return views

    def _take(self) -> Seat:
        try:
            return self._free.get(timeout=_SEAT_S)
        except queue.Empty as error:
            raise BrowserError(f"no browser was free within {_SEAT_S:.0f} s") from error

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


class _Tries:
    """The loads of one run, of which one may be made a second time."""

    def __init__(self, load: Callable[[int], list[View]]) -> None:
        self._load, self._may_again = load, True

    def load(self, number: int) -> list[View]:
        """The views of a load: as cold as the first time, in a context of its own, with all of the view's time."""
        began_s = monotonic()
        views = self._load(number)
        page = views[0].page
        name = None if page is None else cut_short_by(page)
        if name is None or not self._may_again or monotonic() - began_s > _AGAIN_WITHIN_S:
            return views
        self._may_again = False
        sleep(_CALM_S)
        return [second_try(view, name) for view in self._load(number)]


def _carry_out(seat: Seat, request: RunRequest, guard: Guard) -> Carried | None:
    """What the steps leave for each load. Raises StepError, ForbiddenError and BrowserError."""
    if not request.page.steps:
        return None
    try:
        carried = seat.carry_out(request).result()
    except StepError as error:
        _must_be_allowed(error.addresses, guard)
        raise
    _must_be_allowed(carried.addresses, guard)
    return carried


def _must_be_allowed(addresses: Iterable[str], guard: Guard) -> None:
    if not all(map(guard.may_measure, addresses)):
        raise ForbiddenError


def _stopped(error: StepError) -> PageRun:
    """The run of a script that stopped, with the page as it was then."""
    pictures = {} if error.picture is None else {PictureKind.SCREENSHOT: error.picture}
    return PageRun(outcome=Failed(failure=failure(FailureKind.STEP_FAILED, str(error))), pictures=pictures)


def _load(seat: Seat, number: int, asked: _Asked, guard: Guard, tell: OnProgress) -> list[View]:
    """Computed between two loads, while the browser rests."""
    try:
        load = _follow(seat, asked, tell)
    except BrowserError as error:
        return [failed_view(number, failure(FailureKind.BROWSER_FAILED, str(error)))]
    tell(ProgressStage.COMPUTING, None)
    return views_of(asked.request, number, load, guard.may_measure)


def _follow(seat: Seat, asked: _Asked, tell: OnProgress) -> Load:
    """Tells what is going on from the caller's own thread, so that a slow listener never holds up the page."""
    news: queue.SimpleQueue[tuple[ProgressStage, int | None] | None] = queue.SimpleQueue()
    work = seat.load(asked.request, asked.carried, lambda stage, count: news.put((stage, count)))
    work.add_done_callback(lambda _: news.put(None))
    while (item := news.get()) is not None:
        tell(*item)
    return work.result()


def _nobody(_stage: ProgressStage, _known: object) -> None:
    """Nobody listens."""
