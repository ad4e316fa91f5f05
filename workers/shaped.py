"""Raw probes through network profiles: for each profile a network of its own with an engine inside.

They are made when first asked for, and the ones longest unused are closed when there are too many.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from workers.diagnosis.diagnosed import diagnosed
from workers.measurement.compute.shaping import keeps_profile, passages_of
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, OnProgress, ProbeMeasurement, RunRequest
from workers.measurement.profile import Profile
from workers.pairs import PairEngine
from workers.probes.names import LocalNames
from workers.probes.settings import ProbeSettings
from workers.shaping.faults import ShapingError
from workers.shaping.place import ShapedPlace

# Each is a process of some ten megabytes, where the kernel has no delay link of its own.
_KEPT = 4


@dataclass(slots=True)
class _Through:
    """An engine inside a profile's network; `users` are the runs under way in it."""

    engine: PairEngine
    stack: ExitStack
    users: int = 0


class ShapedProber:
    """Measures each request through its own profile, which must shape something. For any thread."""

    def __init__(self, settings: ProbeSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._open: OrderedDict[Profile, _Through] = OrderedDict()

    def probe(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """As `Engine.probe`; the evidence says whether the link kept its numbers. Without a link a Failed says why."""
        return self._measure(request, lambda engine: engine.probe(request, on_progress))

    def pair(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """As `PairEngine.pair`. Without a link a Failed says why."""
        return self._measure(request, lambda engine: engine.pair(request, on_progress))

    def close(self) -> None:
        with self._lock:
            for through in self._open.values():
                through.stack.close()
            self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _measure(self, request: RunRequest, measure: Callable[[PairEngine], Measured | Failed]) -> Measured | Failed:
        try:
            with self._through(request.profile) as engine:
                return marked(measure(engine), request.profile)
        except ShapingError as error:
            return Failed(failure=failure(FailureKind.PROFILE_UNAVAILABLE, f"{request.profile.name}: {error}"))

    @contextmanager
    def _through(self, profile: Profile) -> Iterator[PairEngine]:
        with self._lock:
            through = self._open.get(profile) or self._make(profile)
            self._open.move_to_end(profile)
            through.users += 1
        try:
            yield through.engine
        finally:
            with self._lock:
                through.users -= 1
                self._close_unused()

    def _make(self, profile: Profile) -> _Through:
        with ExitStack() as stack:
            place = stack.enter_context(open_place(profile, self._settings))
            engine = stack.enter_context(PairEngine(self._settings, enter=place.enter))
            self._open[profile] = _Through(engine, stack.pop_all())
        return self._open[profile]

    def _close_unused(self) -> None:
        unused = [profile for profile, through in self._open.items() if not through.users]
        for profile in unused[: max(0, len(self._open) - _KEPT)]:
            self._open.pop(profile).stack.close()


def open_place(profile: Profile, settings: ProbeSettings) -> ShapedPlace:
    """A network of the profile in which an engine with these settings finds its name servers. Raises ShapingError."""
    servers = LocalNames(settings.names).servers()
    return ShapedPlace(profile, resolvers=tuple(server.address for server in servers))


def marked(outcome: Measured | Failed, profile: Profile) -> Measured | Failed:
    """The outcome, whose evidence says whether the link kept the profile's numbers."""
    measurement = outcome.measurement
    if not isinstance(measurement, ProbeMeasurement) or measurement.evidence is None:
        return outcome
    kept = keeps_profile(profile, passages_of(measurement.evidence))
    evidence = replace(measurement.evidence, profile_verified=kept)
    return replace(outcome, measurement=diagnosed(replace(measurement, evidence=evidence)))
