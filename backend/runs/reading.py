"""What the service reads of a result: that which goes into columns.

The whole of a page's measurement is a thousand objects, and making them costs ten times what storing the row does. So
a result is checked here as far as it is used, and kept as it came; who looks at the run reads the rest (`documents`).
The names are those of `workers.measurement`, which a test compares.
"""

from typing import Annotated, Literal, NotRequired
from uuid import UUID

from pydantic import AwareDatetime, Discriminator, FiniteFloat

# Pydantic cannot read typing's own before Python 3.12.
from typing_extensions import TypedDict

from workers.measurement.evidence import Depth
from workers.measurement.failure import Blame, FailureKind, Stage
from workers.measurement.messages import Clock, Kind, MissedReason, RunResult
from workers.measurement.pair import CacheState, Leg
from workers.measurement.waterfall import ResourceType
from workers.measurement.wire import WireError, partial_reader


class SpanRead(TypedDict):
    start_us: int
    end_us: int


class TimingRead(TypedDict):
    start_us: int
    end_us: NotRequired[int | None]
    dns: NotRequired[SpanRead | None]
    connect: NotRequired[SpanRead | None]
    tls: NotRequired[SpanRead | None]
    send: NotRequired[SpanRead | None]
    wait: NotRequired[SpanRead | None]
    download: NotRequired[SpanRead | None]


class CertificateRead(TypedDict):
    issuer: str
    not_after: AwareDatetime
    sha256: str


class ConnectionRead(TypedDict):
    number: int
    host: str
    port: int
    address: NotRequired[str | None]
    protocol: NotRequired[str | None]
    dns: NotRequired[SpanRead | None]
    connect: NotRequired[SpanRead | None]
    tls: NotRequired[SpanRead | None]
    rtt_us: NotRequired[int | None]
    tls_round_trips: NotRequired[int | None]
    tls_version: NotRequired[str | None]
    cipher: NotRequired[str | None]
    resumed: NotRequired[bool | None]
    certificate: NotRequired[CertificateRead | None]
    certificate_error: NotRequired[str | None]
    received_bytes: NotRequired[int | None]
    requests: NotRequired[int]
    preconnected: NotRequired[bool]


class HopRead(TypedDict):
    connection: int
    timing: TimingRead
    status: NotRequired[int | None]
    head_bytes: NotRequired[int | None]
    body_bytes: NotRequired[int | None]


class EvidenceRead(TypedDict):
    """All else is for rules, which read the document."""

    depth: Depth
    profile_verified: NotRequired[bool | None]


class FindingRead(TypedDict):
    """Words are not looked up here: an agent that is ahead of us may know causes that we do not."""

    id: str
    severity: str
    confidence: str
    saving_us: NotRequired[int | None]
    host: NotRequired[str | None]


class NotJudgedRead(TypedDict):
    id: str
    reason: str


class DiagnosisRead(TypedDict):
    findings: NotRequired[list[FindingRead]]
    not_judged: NotRequired[list[NotJudgedRead]]


class ProbeRead(TypedDict):
    kind: Literal["probe"]
    hops: NotRequired[list[HopRead]]
    connections: NotRequired[list[ConnectionRead]]
    clock: NotRequired[Clock]
    evidence: NotRequired[EvidenceRead | None]
    diagnosis: NotRequired[DiagnosisRead | None]


class DocumentRead(TypedDict):
    """A request for a document: one of them is the page itself, and the only one whose timing is used."""

    resource_type: Literal[ResourceType.DOCUMENT]
    number: int
    timing: TimingRead
    status: NotRequired[int | None]
    protocol: NotRequired[str | None]
    connection: NotRequired[int | None]
    transferred_bytes: NotRequired[int | None]


class ResourceRead(TypedDict):
    """Any other request is only counted: to look into the timings of all costs more than all the rest."""

    resource_type: Literal[
        ResourceType.STYLESHEET,
        ResourceType.SCRIPT,
        ResourceType.IMAGE,
        ResourceType.FONT,
        ResourceType.MEDIA,
        ResourceType.FETCH,
        ResourceType.WEBSOCKET,
        ResourceType.OTHER,
    ]
    transferred_bytes: NotRequired[int | None]


RequestRead = Annotated[DocumentRead | ResourceRead, Discriminator("resource_type")]


class WaterfallRead(TypedDict):
    requests: list[RequestRead]
    connections: list[ConnectionRead]


class VitalsRead(TypedDict):
    fcp_us: NotRequired[int | None]
    lcp_us: NotRequired[int | None]
    cls: NotRequired[FiniteFloat | None]
    load_us: NotRequired[int | None]
    fully_loaded_us: NotRequired[int | None]
    start_render_us: NotRequired[int | None]
    speed_index_us: NotRequired[int | None]
    visually_complete_us: NotRequired[int | None]
    tbt_us: NotRequired[int | None]


class PageRead(TypedDict):
    kind: Literal["page"]
    waterfall: WaterfallRead
    vitals: VitalsRead
    document: NotRequired[int | None]
    browser_version: NotRequired[str | None]
    diagnosis: NotRequired[DiagnosisRead | None]
    profile_verified: NotRequired[bool | None]


class HeaderRead(TypedDict):
    name: str
    value: str


class CacheRead(TypedDict):
    state: NotRequired[CacheState]
    evidence: NotRequired[HeaderRead | None]
    age_s: NotRequired[int | None]


class LegRead(TypedDict):
    leg: Leg
    reused: bool
    order: int
    connection: int
    timing: TimingRead
    status: NotRequired[int | None]
    protocol: NotRequired[str | None]
    content_encoding: NotRequired[str | None]
    head_bytes: NotRequired[int | None]
    body_bytes: NotRequired[int | None]
    cache: NotRequired[CacheRead]
    etag: NotRequired[str | None]


class PairRead(TypedDict):
    kind: Literal["pair"]
    exchanges: NotRequired[list[LegRead]]
    connections: NotRequired[list[ConnectionRead]]
    not_kept: NotRequired[list[Leg]]
    clock: NotRequired[Clock]
    profile_verified: NotRequired[bool | None]


AnyRead = ProbeRead | PageRead | PairRead
MeasurementRead = Annotated[AnyRead, Discriminator("kind")]


class MeasuredRead(TypedDict):
    outcome: Literal["measured"]
    measurement: MeasurementRead


class FailureRead(TypedDict):
    kind: FailureKind
    stage: Stage
    blame: Blame
    detail: str


class FailedRead(TypedDict):
    outcome: Literal["failed"]
    failure: FailureRead
    measurement: NotRequired[MeasurementRead | None]


class MissedRead(TypedDict):
    outcome: Literal["missed"]
    reason: MissedReason


OutcomeRead = Annotated[MeasuredRead | FailedRead | MissedRead, Discriminator("outcome")]


class ResultRead(TypedDict):
    run_id: UUID
    monitor_id: UUID
    kind: Kind
    region: str
    scheduled_for: AwareDatetime
    attempt: int
    config_version: int
    agent: str
    agent_version: str
    started_at: AwareDatetime
    duration_us: int
    outcome: OutcomeRead


_read = partial_reader(RunResult, ResultRead)


def read_result(line: bytes) -> ResultRead:
    """A result as far as it is stored in columns. Raises WireError with the place of the first fault."""
    result = _read(line)
    measurement = measurement_of(result)
    if measurement is not None and measurement["kind"] != result["kind"]:
        raise WireError(f"a {result['kind']} run with the measurement of a {measurement['kind']}")
    return result


def measurement_of(result: ResultRead) -> AnyRead | None:
    """What was seen, also before a failure."""
    outcome = result["outcome"]
    return None if outcome["outcome"] == "missed" else outcome.get("measurement")


def document_of(page: PageRead) -> DocumentRead | None:
    """The request of the page itself, after all redirects."""
    for request in page["waterfall"]["requests"]:
        if request["resource_type"] == ResourceType.DOCUMENT and request["number"] == page.get("document"):
            return request
    return None
