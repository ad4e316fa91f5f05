"""One run from its request to its result. A bad target is a result; so is a fault of our own."""

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Protocol

from workers.diagnosis.sending import as_sent
from workers.measurement.failure import Blame, FailureKind, failure
from workers.measurement.messages import Clock as MeasuredBy
from workers.measurement.messages import (
    Early,
    Failed,
    Kind,
    Measured,
    Measurement,
    Missed,
    MissedReason,
    OnProgress,
    Outcome,
    PageMeasurement,
    ProgressStage,
    RunRequest,
    RunResult,
)
from workers.measurement.routes import PictureKind
from workers.measurement.target import PortError, Ports, TargetError, parse_target
from workers.pauses import LEAST_S, Pauses
from workers.version import VERSION
from workers.witness import Witness

log = logging.getLogger(__name__)

_NONE: Mapping[PictureKind, bytes] = MappingProxyType({})
_PAUSES = Pauses()
Seen = tuple[Outcome, Mapping[PictureKind, bytes]]


class Prober(Protocol):
    """Measures with raw sockets, one target or two: `workers.pairs.PairEngine`."""

    def probe(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed: ...

    def pair(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed: ...


class PageLoad(Protocol):
    """What a browser brought back; pictures are JPEG or WebP."""

    @property
    def outcome(self) -> Measured | Failed: ...

    @property
    def pictures(self) -> Mapping[PictureKind, bytes]: ...


class Loader(Protocol):
    """Loads pages in Chrome: `workers.browser.pool.BrowserPool`."""

    def load(self, request: RunRequest, on_progress: OnProgress | None = None) -> PageLoad: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """What this process can measure with, and under which name. An absent instrument makes its kind of run fail."""

    agent: str
    prober: Prober | None = None
    # For requests whose profile shapes something: `workers.shaped.ShapedProber`.
    shaped: Prober | None = None
    loader: Loader | None = None
    # The same for pages: `workers.shaped_pages.ShapedLoader`.
    shaped_loader: Loader | None = None
    extra_ports: Ports = frozenset()
    # Says whose fault a silence is; an agent that measures private addresses has none.
    witness: Witness | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Wall time for people and expiry, monotonic microseconds for durations; `standing` asks for how many seconds this
    process has stood still since then."""

    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    monotonic_us: Callable[[], int] = field(default=lambda: time.monotonic_ns() // 1000)
    standing: Callable[[], Callable[[], float]] = field(default=_PAUSES.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    result: RunResult
    pictures: Mapping[PictureKind, bytes] = field(default_factory=dict)


def execute(
    request: RunRequest, instruments: Instruments, clock: Clock, on_progress: OnProgress | None = None
) -> Execution:
    """Carries out a request and never raises: what goes wrong is in the result's outcome, with who is to blame."""
    started_at, begun_us, stood_s = clock.now(), clock.monotonic_us(), clock.standing()
    outcome, pictures = (
        (Missed(reason=MissedReason.LATE), _NONE)
        if started_at >= request.expires_at
        else _without_pauses(_measure(request, instruments, _harmless(on_progress)), stood_s())
    )
    duration_us = clock.monotonic_us() - begun_us
    if instruments.witness is not None and not isinstance(outcome, Missed):
        outcome = instruments.witness.heard(outcome, begun_us / 1_000_000)
    result = RunResult(
        run_id=request.run_id,
        monitor_id=request.monitor_id,
        kind=request.kind,
        region=request.region,
        scheduled_for=request.scheduled_for,
        attempt=request.attempt,
        config_version=request.config_version,
        agent=instruments.agent,
        agent_version=VERSION,
        started_at=started_at,
        duration_us=duration_us,
        outcome=as_sent(outcome),
    )
    return Execution(result=result, pictures=pictures)


def internal_error(result: RunResult, error: Exception) -> RunResult:
    """The result with our own fault for its outcome; the reference in its text is also in the log."""
    return RunResult(**{name: getattr(result, name) for name in _KEPT}, outcome=_our_fault(result.run_id, error))


_KEPT = tuple(name for name in RunResult.__dataclass_fields__ if name != "outcome")


def _measure(request: RunRequest, instruments: Instruments, on_progress: OnProgress) -> Seen:
    if (
        request.profile.shapes
        and (instruments.shaped_loader if request.kind is Kind.PAGE else instruments.shaped) is None
    ):
        return Failed(failure=failure(FailureKind.PROFILE_UNAVAILABLE, request.profile.name)), _NONE
    try:
        parse_target(request.url, extra_ports=instruments.extra_ports)
        on_progress(ProgressStage.STARTING, None)
        return _use_instrument(request, instruments, on_progress)
    except PortError as error:
        # The service let it through: what this region's agents may not measure says nothing of the site.
        return Failed(failure=replace(failure(FailureKind.INVALID_URL, str(error)), blame=Blame.MONITOR)), _NONE
    except TargetError as error:
        return Failed(failure=failure(FailureKind.INVALID_URL, str(error))), _NONE
    except Exception as error:
        return _our_fault(request.run_id, error), _NONE


def _without_pauses(seen: Seen, stood_s: float) -> Seen:
    """Nobody is blamed for what took its time while this process stood still, and what it read late is not measured.

    What the kernel stamped is mostly right all the same, and compared with nothing; so is what a moment disturbed.
    """
    outcome, pictures = seen
    if not stood_s or isinstance(outcome, Missed):
        return seen
    why = f"The agent itself stood still for {stood_s:.0f} s meanwhile"
    if isinstance(outcome, Failed):
        if stood_s < LEAST_S:
            return seen
        told = f"{outcome.failure.detail.removesuffix('.')}. {why}."
        return replace(outcome, failure=replace(outcome.failure, blame=Blame.MONITOR, detail=told)), _NONE
    measurement = outcome.measurement
    by_our_clock = isinstance(measurement, PageMeasurement) or measurement.clock is MeasuredBy.USER
    if stood_s >= LEAST_S and by_our_clock:
        return Failed(failure=failure(FailureKind.INTERNAL_ERROR, why[:1].lower() + why[1:])), _NONE
    return replace(outcome, measurement=_disturbed(measurement, round(stood_s * 1_000_000))), pictures


def _disturbed(seen: Measurement, stood_us: int) -> Measurement:
    if isinstance(seen, PageMeasurement):
        vitals = replace(seen.vitals, contention_us=(seen.vitals.contention_us or 0) + stood_us)
        return replace(seen, vitals=vitals)
    return replace(seen, contention_us=max(seen.contention_us or 0, stood_us))


def _use_instrument(request: RunRequest, instruments: Instruments, on_progress: OnProgress) -> Seen:
    prober = instruments.shaped if request.profile.shapes else instruments.prober
    if request.kind is Kind.PROBE and prober is not None:
        return prober.probe(request, on_progress), _NONE
    if request.kind is Kind.PAIR and prober is not None:
        return prober.pair(request, on_progress), _NONE
    loader = instruments.shaped_loader if request.profile.shapes else instruments.loader
    if request.kind is Kind.PAGE and loader is not None:
        run = loader.load(request, on_progress)
        return run.outcome, run.pictures
    raise LookupError(f"this process has no instrument for a {request.kind}: the message came to the wrong queue")


def _our_fault(run_id: object, error: Exception) -> Failed:
    reference = secrets.token_hex(4)
    log.error("run %s failed by a fault of our own, reference %s", run_id, reference, exc_info=error)
    return Failed(failure=failure(FailureKind.INTERNAL_ERROR, f"reference {reference}"))


def _harmless(on_progress: OnProgress | None) -> OnProgress:
    """Telling somebody where a run is must not end the run."""

    def tell(stage: ProgressStage, known: int | Early | None) -> None:
        if on_progress is None:
            return
        try:
            on_progress(stage, known)
        except Exception:
            log.warning("progress %s could not be told", stage, exc_info=True)

    return tell
