"""Raw probes through network profiles: for each profile a network of its own with an engine inside."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from workers.closing import Closing
from workers.diagnosis.diagnosed import diagnosed
from workers.measurement.compute.shaping import Passage, keeps_profile, passages_of
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, OnProgress, PairMeasurement, ProbeMeasurement, RunRequest
from workers.measurement.profile import Profile
from workers.pairs import PairEngine
from workers.places import Places
from workers.probes.names import LocalNames
from workers.probes.settings import NameSettings, ProbeSettings
from workers.shaping.faults import ShapingError
from workers.shaping.place import ShapedPlace
from workers.shaping.relay import is_loopback

# Each is a process of some ten megabytes, where the kernel has no delay link of its own.
_KEPT = 4


class ShapedProber(Closing):
    """Measures each request through its own profile, which must shape something. For any thread."""

    def __init__(self, settings: ProbeSettings) -> None:
        self._places = Places(
            lambda profile: open_place(profile, settings.names),
            lambda place: PairEngine(settings, enter=place.enter),
            kept=_KEPT,
        )

    def probe(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """As `Engine.probe`; the evidence says whether the link kept its numbers. Without a link a Failed says why."""
        return self._measure(request, lambda engine: engine.probe(request, on_progress))

    def pair(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
        """As `PairEngine.pair`; the pair says whether the link kept its numbers. Without a link a Failed says why."""
        return self._measure(request, lambda engine: engine.pair(request, on_progress))

    def close(self) -> None:
        self._places.close()

    def _measure(self, request: RunRequest, measure: Callable[[PairEngine], Measured | Failed]) -> Measured | Failed:
        try:
            with self._places.through(request.profile) as engine:
                return marked(measure(engine), request.profile)
        except ShapingError as error:
            return Failed(failure=failure(FailureKind.PROFILE_UNAVAILABLE, f"{request.profile.name}: {error}"))


def open_place(profile: Profile, names: NameSettings) -> ShapedPlace:
    """A network of the profile in which what is measured finds these name servers. Raises ShapingError."""
    servers = LocalNames(names).servers()
    return ShapedPlace(profile, resolvers=tuple(server.address for server in servers))


def led_home(outcome: Measured | Failed, profile: Profile, dialled: Iterable[str | None]) -> Measured | Failed:
    """The outcome; where an address of this machine's loopback refused the connection, whose it is: in a network of its
    own nobody is there."""
    if not isinstance(outcome, Failed) or outcome.failure.kind is not FailureKind.CONNECT_REFUSED:
        return outcome
    own = next((address for address in dialled if address is not None and is_loopback(address)), None)
    if own is None or not profile.shapes:
        return outcome
    because = f"{profile.name}: {own} is this machine itself, and a shaped network leads away from it"
    return Failed(failure=failure(FailureKind.PROFILE_UNAVAILABLE, because), measurement=outcome.measurement)


def marked(outcome: Measured | Failed, profile: Profile) -> Measured | Failed:
    """The outcome, whose evidence, or of a pair it itself, says whether the link kept the profile's numbers."""
    if isinstance(outcome.measurement, PairMeasurement | ProbeMeasurement):
        outcome = led_home(outcome, profile, (one.address for one in outcome.measurement.connections))
    measurement = outcome.measurement
    if isinstance(measurement, PairMeasurement):
        made = [one.connect for one in measurement.connections if one.connect is not None]
        kept = keeps_profile(profile, [Passage(syn_rtt_us=span.duration_us) for span in made])
        return replace(outcome, measurement=replace(measurement, profile_verified=kept))
    if not isinstance(measurement, ProbeMeasurement) or measurement.evidence is None:
        return outcome
    kept = keeps_profile(profile, passages_of(measurement.evidence))
    evidence = replace(measurement.evidence, profile_verified=kept)
    return replace(outcome, measurement=diagnosed(replace(measurement, evidence=evidence)))
