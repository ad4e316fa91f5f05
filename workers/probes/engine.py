"""The door of the probes: many callers, one thread that does all the network work.

What a light probe means is computed in the engine's thread too, when no socket is ready: it takes less time than a
handshake, the kernel's stamps do not see it, and callers that computed would take the interpreter from the engine
between any two calls.
"""

import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Self, TypeVar

from workers.closing import Closing
from workers.diagnosis.diagnosed import diagnosed
from workers.diagnosis.probe.blame import explained
from workers.measurement.compute.probe.evidence import Deeper
from workers.measurement.compute.probe.probe import probe_measurement
from workers.measurement.evidence import Depth
from workers.measurement.messages import (
    Early,
    Failed,
    Measured,
    OnProgress,
    ProbeMeasurement,
    ProgressStage,
    RunRequest,
)
from workers.measurement.timing import answer_phases
from workers.probes.exchange import Tell
from workers.probes.journey import Journey, Outcome
from workers.probes.link import Kit
from workers.probes.loop import Loop, LoopClosedError, Wait
from workers.probes.names import LocalNames
from workers.probes.openssl import Contexts
from workers.probes.settings import ProbeSettings
from workers.probes.stamps import stamping_socket

T = TypeVar("T")
# Makes the network work of one run, in the engine's thread.
Begin = Callable[[Kit, Tell], Coroutine[Wait | None, None, T]]

# How much later than its own deadline a probe may end before the engine is held to be stuck.
_GRACE_S = 10.0


class EngineError(RuntimeError):
    """The engine itself cannot measure: closed, overloaded or stuck. A fault of the monitor, never of a target."""


class Engine(Closing):
    """Raw probes. Make it after any fork; `probe()` from any thread; end it with `close()` or a `with` block.

    `enter` is called first in the thread that does the network work: `workers.shaping` moves it to a shaped network.
    """

    def __init__(self, settings: ProbeSettings, *, enter: Callable[[], None] | None = None) -> None:
        """Raises RuntimeError when the installed cryptography does not fit, SSL.Error for an unreadable `ca_file`."""
        self._kit = Kit(settings=settings, names=LocalNames(settings.names), contexts=Contexts(settings.ca_file))
        self._loop = Loop("probes", enter=enter)
        # One for each probe that may be under way: a semaphore that is no program itself.
        self._slots: SimpleQueue[None] = SimpleQueue()
        for _ in range(settings.in_flight):
            self._slots.put(None)
        self._stamping = stamping_socket()

    def start(self) -> None:
        """Raises what `enter` raised; the engine is closed then."""
        try:
            self._loop.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the thread; probes under way end with an error. Closing again does nothing."""
        self._loop.close()
        self._stamping.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def probe(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """Measures one target, waits for it, and diagnoses what was seen, also whom to blame for a failure.

        A bad target is a Failed; only our own fault raises (EngineError).
        """
        outcome = self.measure(request, on_progress)
        if not isinstance(outcome.measurement, ProbeMeasurement):
            return outcome
        return explained(replace(outcome, measurement=diagnosed(outcome.measurement)))

    def measure(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """The same without a diagnosis."""
        self._take_slot(request)
        try:
            if request.depth is Depth.DEEP:
                return self._measure_deep(request, on_progress)
            return self._carry_out(partial(_measure_light, request), request.timeout_us, on_progress)
        finally:
            self._slots.put(None)

    def _measure_deep(self, request: RunRequest, on_progress: OnProgress | None) -> Measured | Failed:
        outcome = self._carry_out(partial(_travel, request), request.timeout_us, on_progress)
        deeper = Deeper.of(outcome.capture)
        told = None if on_progress is None else _Told(on_progress, request, outcome)
        if outcome.place is not None:
            # What only this needs (HTTP/2, QUIC) is memory that most agents can spare for good.
            from workers.probes.deep import look_deeper_at  # noqa: PLC0415

            work = partial(self._carry_out, timeout_us=request.timeout_us)
            deeper = look_deeper_at(request, outcome.capture, outcome.place, self._kit, work, told)
        if on_progress is not None:
            on_progress(ProgressStage.COMPUTING, None)
        return _told(outcome, probe_measurement(outcome.capture, deeper))

    def capture(self, begin: Begin[T], request: RunRequest, on_progress: OnProgress | None = None) -> T:
        """What a coroutine of network work brings back. Raises EngineError."""
        self._take_slot(request)
        try:
            outcome = self._carry_out(begin, request.timeout_us, on_progress)
        finally:
            self._slots.put(None)
        if on_progress is not None:
            on_progress(ProgressStage.COMPUTING, None)
        return outcome

    def _take_slot(self, request: RunRequest) -> None:
        """With all slots taken, waits for one as long as the run itself may take; its timing begins when let in."""
        patience_s = request.timeout_us / 1_000_000 + _GRACE_S
        try:
            self._slots.get(timeout=patience_s)
        except Empty:
            raise EngineError(f"no free slot within {patience_s:g} s: too many probes at once") from None

    def _carry_out(self, begin: Begin[T], timeout_us: int, on_progress: OnProgress | None = None) -> T:
        """Runs it in the engine's thread; what it tells on the way is passed on in the caller's."""
        patience_s = timeout_us / 1_000_000 + _GRACE_S
        try:
            if on_progress is None:
                return self._loop.submit(begin(self._kit, None)).result(patience_s)
            news: SimpleQueue[ProgressStage | None] = SimpleQueue()
            promise = self._loop.submit(begin(self._kit, news.put), partial(news.put, None))
            until_s = time.monotonic() + patience_s
            while (stage := news.get(timeout=max(0.0, until_s - time.monotonic()))) is not None:
                on_progress(stage, None)
            return promise.result()
        except (Empty, TimeoutError):
            raise EngineError(f"a probe did not end within {patience_s:g} s: the engine is stuck") from None
        except LoopClosedError:
            raise EngineError("the engine is closed") from None


async def _travel(request: RunRequest, kit: Kit, tell: Tell) -> Outcome:
    return await Journey(kit=kit, request=request, tell=tell).run()


async def _measure_light(request: RunRequest, kit: Kit, tell: Tell) -> Measured | Failed:
    outcome = await _travel(request, kit, tell)
    if tell is not None:
        tell(ProgressStage.COMPUTING)
    return _told(outcome, probe_measurement(outcome.capture))


class _Told:
    """Passes on what is known while a probe looks deeper: its last hop at once, then each connection."""

    def __init__(self, on_progress: OnProgress, request: RunRequest, outcome: Outcome) -> None:
        self._on_progress = on_progress
        # Whether a shaped network keeps its numbers is known at the end, and until then nothing of its speed.
        self._early = Early() if request.profile.shapes or outcome.failure is not None else _last_hop(outcome)
        if self._early.phases is not None:
            on_progress(ProgressStage.LOADING, self._early)

    def __call__(self, connections: int, planned: int) -> None:
        self._on_progress(ProgressStage.LOADING, replace(self._early, connections=connections, planned=planned))


def _last_hop(outcome: Outcome) -> Early:
    """As the run's own will be: of the same capture by the same arithmetic."""
    measurement = probe_measurement(outcome.capture)
    hop = measurement.hops[-1]
    connection = next((one for one in measurement.connections if one.number == hop.connection), None)
    return Early(
        phases=answer_phases([hop.timing for hop in measurement.hops]),
        tls_round_trips=None if connection is None else connection.tls_round_trips,
        rtt_us=None if connection is None else connection.rtt_us,
    )


def _told(outcome: Outcome, measurement: ProbeMeasurement) -> Measured | Failed:
    if outcome.failure is not None:
        return Failed(failure=outcome.failure, measurement=measurement)
    return Measured(measurement=measurement)
