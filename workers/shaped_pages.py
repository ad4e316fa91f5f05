"""Pages through network profiles: for each profile a network of its own with a browser inside."""

from collections.abc import Iterator
from dataclasses import replace

from workers.browser.guard import resolve
from workers.browser.pool import BrowserPool
from workers.browser.seat import TellFault, tell_nobody
from workers.browser.seen import PageRun
from workers.browser.settings import BrowserSettings
from workers.closing import Closing
from workers.measurement.compute.shaping import Passage, keeps_profile
from workers.measurement.connection import Connection
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, OnProgress, PageMeasurement, RunRequest
from workers.measurement.page_options import Protocol
from workers.measurement.profile import Profile
from workers.measurement.target import EVERY_PORT, parse_target
from workers.measurement.timing import Span
from workers.places import Places
from workers.probes.settings import NameSettings
from workers.shaped import led_home, open_place
from workers.shaping.faults import ShapingError

# A browser that nobody uses ends by itself; what stays is a network.
_KEPT = 2


class ShapedLoader(Closing):
    """Loads each page through its own profile, which must shape something. For any thread."""

    def __init__(
        self, settings: BrowserSettings, names: NameSettings | None = None, *, tell_fault: TellFault = tell_nobody
    ) -> None:
        self._places = Places(
            lambda profile: open_place(profile, names or NameSettings()),
            lambda place: BrowserPool(settings, enter=place.enter, tell_fault=tell_fault),
            kept=_KEPT,
        )

    def load(self, request: RunRequest, on_progress: OnProgress | None = None) -> PageRun:
        """As `BrowserPool.load`; the page says whether the link kept its numbers. Without a link a Failed says why."""
        try:
            with self._places.through(request.profile) as pool:
                run = pool.load(request, on_progress)
        except ShapingError as error:
            unavailable = failure(FailureKind.PROFILE_UNAVAILABLE, f"{request.profile.name}: {error}")
            return PageRun(outcome=Failed(failure=unavailable))
        outcome = led_home(run.outcome, request.profile, _dialled(request))
        return replace(run, outcome=marked_page(outcome, request.profile))

    def close(self) -> None:
        self._places.close()


def _dialled(request: RunRequest) -> Iterator[str]:
    """Where the page's own host is; a name is looked up only when this is asked for."""
    target = parse_target(request.url, extra_ports=EVERY_PORT)
    mapped = [one.address for one in request.page.host_map if one.host == target.host]
    yield from mapped or resolve(target.host, target.port) or ()


def marked_page(outcome: Measured | Failed, profile: Profile) -> Measured | Failed:
    """The outcome, whose page says whether every connection took at least the profile's round trip."""
    page = outcome.measurement
    if not isinstance(page, PageMeasurement):
        return outcome
    made = [span for one in page.waterfall.connections if (span := _round_trip(one)) is not None]
    kept = keeps_profile(profile, [Passage(syn_rtt_us=span.duration_us) for span in made])
    # Of what failed before it had connected there are no times to doubt.
    is_told = not kept and (bool(made) or isinstance(outcome, Measured))
    doubt = (f"The network did not keep the numbers of {profile.name}: do not compare these times.",) if is_told else ()
    return replace(outcome, measurement=replace(page, profile_verified=kept, warnings=(*page.warnings, *doubt)))


def _round_trip(connection: Connection) -> Span | None:
    """What takes a round trip at least: TCP's handshake, or that of QUIC, unless data went ahead of it."""
    is_quic = connection.protocol == Protocol.H3 and not connection.resumed
    return connection.tls if is_quic else connection.connect
