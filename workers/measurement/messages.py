"""What crosses the wire between the service and a region. Encoding is in `wire`; golden messages are in `examples/`.

Adding an optional field keeps a message's version. Removing one or changing what it means makes the next version, and
the old one stays readable until no region speaks it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from workers.measurement.connection import Connection, Header
from workers.measurement.evidence import Depth, ProbeEvidence
from workers.measurement.failure import Failure
from workers.measurement.finding import Diagnosis
from workers.measurement.page_options import PLAIN, PageOptions, PageState, Protocol
from workers.measurement.page_view import (
    Activity,
    ConsoleMessage,
    Film,
    HostDelivery,
    PlainText,
    RepeatView,
    ShownPicture,
    ViewSample,
)
from workers.measurement.pair import Leg, LegExchange, PairTarget, Protocols
from workers.measurement.profile import NATIVE, Profile
from workers.measurement.timing import Phases, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Place, Waterfall


def _require_aware(**instants: datetime) -> None:
    """Raises ValueError for an instant without a time zone: it would mean something else on each side of the wire."""
    for name, instant in instants.items():
        if instant.utcoffset() is None:
            raise ValueError(f"{name} lacks a time zone")


class Kind(StrEnum):
    """What a monitor does: a raw TLS probe, a page load in Chrome, or a pair of raw probes of the same asset."""

    PROBE = "probe"
    PAGE = "page"
    PAIR = "pair"


class MissedReason(StrEnum):
    """Why a slot has no measurement. No data is not "down"."""

    SERVICE_DOWN = "service_down"
    NO_AGENT = "no_agent"
    QUEUE_FULL = "queue_full"
    AGENT_LOST = "agent_lost"
    LATE = "late"
    CANCELLED = "cancelled"
    SETTINGS_UNREADABLE = "settings_unreadable"


class Clock(StrEnum):
    """Who stamped the arrivals: the kernel, as each packet came in, or our own process when it got to run."""

    KERNEL = "kernel"
    USER = "user"


class ProgressStage(StrEnum):
    """What a person who waits is told, in this order."""

    QUEUED = "queued"
    STARTING = "starting"
    CONNECTING = "connecting"
    LOADING = "loading"
    COMPUTING = "computing"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """What a probe that is looking deeper knows already. `phases`, `tls_round_trips` and `rtt_us` are those of its last
    hop, as the result will tell them; None where they are not told ahead. `connections` counts those that have been
    made, `planned` how many it comes to as far as is known by now: what is suspected on the way adds to it.
    """

    phases: Phases | None = None
    tls_round_trips: int | None = None
    rtt_us: int | None = None
    connections: int | None = None
    planned: int | None = None


# What an instrument calls as it goes, with what it knows besides: how many requests have begun, once a page is loading,
# or what a probe knows that is looking deeper.
OnProgress = Callable[[ProgressStage, int | Early | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One execution to carry out. `accepted_status` empty means 200 to 399.

    `other` is the second leg of a pair, whose first is `url`; it is None for all other kinds. `depth` matters to a
    probe alone; `timeout_us` is for each connection of a deep one. `page` matters to a page alone.
    """

    run_id: UUID
    monitor_id: UUID
    kind: Kind
    url: str
    region: str
    scheduled_for: datetime
    attempt: int
    expires_at: datetime
    timeout_us: int
    urgent: bool = False
    config_version: int = 1
    profile: Profile = NATIVE
    headers: tuple[Header, ...] = ()
    accepted_status: tuple[int, ...] = ()
    body_text: str | None = None
    ignore_certificate_errors: bool = False
    other: PairTarget | None = None
    depth: Depth = Depth.LIGHT
    page: PageOptions = PLAIN

    def __post_init__(self) -> None:
        _require_aware(scheduled_for=self.scheduled_for, expires_at=self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One request of a probe: a redirect on the way, or the last answer. `connection` is a `Connection.number`."""

    url: str
    connection: int
    timing: Timing
    status: int | None = None
    response_headers: tuple[Header, ...] = ()
    head_bytes: int | None = None
    body_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeMeasurement:
    """A raw probe. The last hop is the answer; earlier ones are redirects.

    `tls_network_us` is the handshake without our own cryptography. `scheduling_lag_us` is the most that our process was
    late in looking at an arrival: with the user's clock it is an error of the figures, with the kernel's only where it
    looked late at the beginning of an answer, or stood still: `contention_us` is by how much a wait may be too long.
    `evidence` is what the diagnosis was made of; `diagnosis` is what the agent's rules made of it at once. Of a result
    that is sent it has no checklist, and of a light probe nothing that was not judged: both follow from the evidence.
    """

    kind: Literal["probe"] = "probe"
    hops: tuple[Hop, ...] = ()
    connections: tuple[Connection, ...] = ()
    tls_network_us: int | None = None
    clock: Clock = Clock.KERNEL
    scheduling_lag_us: int | None = None
    contention_us: int | None = None
    evidence: ProbeEvidence | None = None
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMeasurement:
    """A page load in Chrome. `document` is the number of the final main-frame request; pictures travel apart.

    `began_at` is the wall clock (aware UTC) at the zero that its instants count from, by the browser: it is shown,
    never used for order. Of several loads this is the representative one; `samples` has the figures of all, of repeat
    views too, when there was more than one. `profile_verified` tells of a shaped run whether no connection was quicker
    than its link; None without a profile. `pictures` and `texts` are what could be smaller, as the browser told;
    `hints` the hosts that the page asks to connect to ahead, None when nobody looked. `body_from` is where in the
    document's text its body begins, None unless something may have held the paint up, or made what is shown, and the
    text was read for that; `shows_from` where the first thing stands that may be seen, None if all that is ever shown
    may be made by scripts; `words_us` is when the document had come as far as its first words, None where that is not
    known; `came_on_us` when it came on for the last time after it had stood still, None where it never did.
    `text_waits` says whether the largest text, which stood in the document as it came, stays hidden until its fonts
    have come, since none of their faces says otherwise; None where there were none, or nobody knows. `text_made` says
    whether hardly a word of the largest text stood there. `only_protocol` is what the browser was told to speak and
    nothing else. `diagnosis` is what the agent's rules made of it all at once; of a result that is sent its findings
    have no evidence, which follows from the rest.
    """

    kind: Literal["page"] = "page"
    waterfall: Waterfall
    vitals: Vitals
    document: int | None = None
    began_at: datetime | None = None
    title: str | None = None
    browser_version: str | None = None
    has_screenshot: bool = False
    warnings: tuple[str, ...] = ()
    profile_verified: bool | None = None
    state: PageState = PageState.COLD
    samples: tuple[ViewSample, ...] = ()
    repeat: RepeatView | None = None
    film: Film | None = None
    activity: Activity | None = None
    console: tuple[ConsoleMessage, ...] = ()
    deliveries: tuple[HostDelivery, ...] = ()
    pictures: tuple[ShownPicture, ...] = ()
    texts: tuple[PlainText, ...] = ()
    hints: tuple[str, ...] | None = None
    body_from: Place | None = None
    shows_from: Place | None = None
    words_us: int | None = None
    came_on_us: int | None = None
    text_waits: bool | None = None
    text_made: bool | None = None
    only_protocol: Protocol | None = None
    diagnosis: Diagnosis | None = None

    @property
    def hung_until_us(self) -> int | None:
        """When a load was left that never came to its end and had rows still open; None of any other."""
        hangs = any(self.waterfall.open_span(row) is not None for row in self.waterfall.requests)
        return self.waterfall.watched_until_us if hangs and self.vitals.fully_loaded_us is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMeasurement:
    """Both legs of a pair: `exchanges` in the order they were made, two cold ones first, then two reused ones.

    The two connections are numbered in the order of opening. `not_kept` names the legs whose server closed its
    connection after the first answer: then there is no reused pair. The clock is that of ProbeMeasurement.
    `profile_verified` tells of a shaped run whether no connection was quicker than its link; None for all others.
    `protocols` is None until both legs have answered.
    """

    kind: Literal["pair"] = "pair"
    exchanges: tuple[LegExchange, ...] = ()
    connections: tuple[Connection, ...] = ()
    not_kept: tuple[Leg, ...] = ()
    clock: Clock = Clock.KERNEL
    scheduling_lag_us: int | None = None
    contention_us: int | None = None
    profile_verified: bool | None = None
    protocols: Protocols | None = None


Measurement = ProbeMeasurement | PageMeasurement | PairMeasurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    outcome: Literal["measured"] = "measured"
    measurement: Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The target could not be measured to the end; `measurement` is what was seen before."""

    outcome: Literal["failed"] = "failed"
    failure: Failure
    measurement: Measurement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    outcome: Literal["missed"] = "missed"
    reason: MissedReason


Outcome = Measured | Failed | Missed


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What came of a request. `started_at` is the agent's wall clock: it is shown, never used for order."""

    run_id: UUID
    monitor_id: UUID
    kind: Kind
    region: str
    scheduled_for: datetime
    attempt: int
    config_version: int
    agent: str
    agent_version: str
    started_at: datetime
    duration_us: int
    outcome: Outcome

    def __post_init__(self) -> None:
        _require_aware(scheduled_for=self.scheduled_for, started_at=self.started_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where an urgent run is now. `requests` counts those begun, once a page is loading.

    `phases`, `tls_round_trips` and `rtt_us` are those of a probe's last hop, told as soon as it is measured while a
    deep probe looks further. The result will tell the same ones; until then they are a person's to look at and nobody's
    to count. `connections` are those that it has made so far, of about `planned`.
    """

    run_id: UUID
    stage: ProgressStage
    requests: int | None = None
    phases: Phases | None = None
    tls_round_trips: int | None = None
    rtt_us: int | None = None
    connections: int | None = None
    planned: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Sent every 15 s. `holding` names the runs whose leases the service must extend.

    `spooled` counts results not yet accepted. `browser_fault` says why a browser is out of service, and `spool_fault`
    why results find no place on the agent's disk. `clock_ahead_us` is how far this agent's clock is surely ahead of the
    service's, negative when it is behind, by the answers before this: 0 where it may be right, None of agents that do
    not tell.
    """

    agent: str
    agent_version: str
    sent_at: datetime
    browser_version: str | None = None
    browser_sandbox: bool | None = None
    holding: tuple[UUID, ...] = ()
    spooled: int = 0
    browser_fault: str | None = None
    spool_fault: str | None = None
    clock_ahead_us: int | None = None

    def __post_init__(self) -> None:
        _require_aware(sent_at=self.sent_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatReply:
    """`received_at` lets the agent see its clock's skew; `lost` names runs no longer its own, to be dropped."""

    received_at: datetime
    lost: tuple[UUID, ...] = ()

    def __post_init__(self) -> None:
        _require_aware(received_at=self.received_at)


class ReceiptStatus(StrEnum):
    """Each of these ends the agent's duty to keep the result."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipts:
    """The answer to a batch of results: one status for each line, in the order sent."""

    statuses: tuple[ReceiptStatus, ...]
