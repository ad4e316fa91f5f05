"""What the service reads of a result: that which goes into columns.

The whole of a page's measurement is a thousand objects, and making them costs ten times what storing the row does. So
a result is checked here as far as it is used, and kept as it came; who looks at the run reads the rest (`documents`).
msgspec makes nothing of what it passes over, so that a result costs a third of what it takes with pydantic.
The names, types and defaults are those of `workers.measurement`, which a test compares.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, MsgspecError, Struct, field, json

from workers.measurement.evidence import Depth
from workers.measurement.failure import Blame, FailureKind, Stage
from workers.measurement.messages import Clock, Kind, MissedReason
from workers.measurement.pair import CacheState, Leg
from workers.measurement.wire import WireError

Instant = Annotated[datetime, Meta(tz=True)]


# What refers to no object that refers back is nothing for the collector of garbage to follow.
class _Read(Struct, gc=False):
    pass


class SpanRead(_Read):
    start_us: int
    end_us: int


class TimingRead(_Read):
    start_us: int
    end_us: int | None = None
    dns: SpanRead | None = None
    connect: SpanRead | None = None
    tls: SpanRead | None = None
    send: SpanRead | None = None
    wait: SpanRead | None = None
    download: SpanRead | None = None


class CertificateRead(_Read):
    issuer: str
    not_before: Instant
    not_after: Instant
    sha256: str


class ConnectionRead(_Read):
    number: int
    host: str
    port: int
    address: str | None = None
    protocol: str | None = None
    dns: SpanRead | None = None
    connect: SpanRead | None = None
    tls: SpanRead | None = None
    rtt_us: int | None = None
    tls_round_trips: int | None = None
    tls_version: str | None = None
    cipher: str | None = None
    resumed: bool | None = None
    certificate: CertificateRead | None = None
    certificate_error: str | None = None
    received_bytes: int | None = None
    requests: int = 0
    preconnected: bool = False


class HopRead(_Read):
    connection: int
    timing: TimingRead
    status: int | None = None
    head_bytes: int | None = None
    body_bytes: int | None = None


class EvidenceRead(_Read):
    """All else is for rules, which read the document."""

    depth: Depth
    profile_verified: bool | None = None


class FindingRead(_Read):
    """Words are not looked up here: an agent that is ahead of us may know causes that we do not."""

    id: str
    severity: str
    confidence: str
    saving_us: int | None = None
    host: str | None = None


class NotJudgedRead(_Read):
    id: str
    reason: str


class DiagnosisRead(_Read):
    findings: tuple[FindingRead, ...] = ()
    not_judged: tuple[NotJudgedRead, ...] = ()


class ProbeRead(_Read, tag_field="kind", tag="probe"):
    hops: tuple[HopRead, ...] = ()
    connections: tuple[ConnectionRead, ...] = ()
    clock: Clock = Clock.KERNEL
    contention_us: int | None = None
    evidence: EvidenceRead | None = None
    diagnosis: DiagnosisRead | None = None


class ResourceRead(_Read, tag_field="resource_type"):
    """Any but a document is only counted: to look into the timings of all requests costs more than all the rest."""

    transferred_bytes: int | None = None


class DocumentRead(ResourceRead, tag="document", kw_only=True):
    """A request for a document: one of them is the page itself, and the only one whose timing is used."""

    number: int
    timing: TimingRead
    status: int | None = None
    protocol: str | None = None
    connection: int | None = None


class StylesheetRead(ResourceRead, tag="stylesheet"):
    pass


class ScriptRead(ResourceRead, tag="script"):
    pass


class ImageRead(ResourceRead, tag="image"):
    pass


class FontRead(ResourceRead, tag="font"):
    pass


class MediaRead(ResourceRead, tag="media"):
    pass


class FetchRead(ResourceRead, tag="fetch"):
    pass


class WebsocketRead(ResourceRead, tag="websocket"):
    pass


class OtherRead(ResourceRead, tag="other"):
    pass


RequestRead = (
    DocumentRead
    | StylesheetRead
    | ScriptRead
    | ImageRead
    | FontRead
    | MediaRead
    | FetchRead
    | WebsocketRead
    | OtherRead
)


class WaterfallRead(_Read):
    requests: tuple[RequestRead, ...]
    connections: tuple[ConnectionRead, ...]


class UserTimingRead(_Read):
    # Of a kind that is not known here nothing is followed.
    kind: str
    name: str
    at_us: int
    duration_us: int | None = None


class VitalsRead(_Read):
    fcp_us: int | None = None
    lcp_us: int | None = None
    cls: float | None = None
    load_us: int | None = None
    fully_loaded_us: int | None = None
    start_render_us: int | None = None
    speed_index_us: int | None = None
    visually_complete_us: int | None = None
    tbt_us: int | None = None
    contention_us: int | None = None
    user_timings: tuple[UserTimingRead, ...] | None = None


class PageRead(_Read, tag_field="kind", tag="page"):
    waterfall: WaterfallRead
    vitals: VitalsRead
    document: int | None = None
    browser_version: str | None = None
    diagnosis: DiagnosisRead | None = None
    profile_verified: bool | None = None


class HeaderRead(_Read):
    name: str
    value: str


class CacheRead(_Read):
    state: CacheState = CacheState.UNKNOWN
    evidence: HeaderRead | None = None
    age_s: int | None = None


class LegRead(_Read):
    leg: Leg
    reused: bool
    order: int
    connection: int
    timing: TimingRead
    status: int | None = None
    protocol: str | None = None
    content_encoding: str | None = None
    head_bytes: int | None = None
    body_bytes: int | None = None
    cache: CacheRead = field(default_factory=CacheRead)
    etag: str | None = None


class PairRead(_Read, tag_field="kind", tag="pair"):
    exchanges: tuple[LegRead, ...] = ()
    connections: tuple[ConnectionRead, ...] = ()
    not_kept: tuple[Leg, ...] = ()
    clock: Clock = Clock.KERNEL
    contention_us: int | None = None
    profile_verified: bool | None = None


AnyRead = ProbeRead | PageRead | PairRead


class MeasuredRead(_Read, tag_field="outcome", tag="measured"):
    measurement: AnyRead


class FailureRead(_Read):
    kind: FailureKind
    stage: Stage
    blame: Blame
    detail: str


class FailedRead(_Read, tag_field="outcome", tag="failed"):
    failure: FailureRead
    measurement: AnyRead | None = None


class MissedRead(_Read, tag_field="outcome", tag="missed"):
    reason: MissedReason


OutcomeRead = MeasuredRead | FailedRead | MissedRead


class ResultRead(_Read):
    run_id: UUID
    monitor_id: UUID
    kind: Kind
    region: str
    scheduled_for: Instant
    attempt: int
    config_version: int
    agent: str
    agent_version: str
    started_at: Instant
    duration_us: int
    outcome: OutcomeRead


class _EnvelopeRead(_Read):
    kind: Literal["run_result"]
    version: Literal[1]
    body: ResultRead


_decoder = json.Decoder(_EnvelopeRead)
# Of a fault's text, which may hold what was sent; its place comes behind.
_MAX_FAULT = 200


def read_result(line: bytes) -> ResultRead:
    """A result as far as it is stored in columns. Raises WireError with the place of the first fault."""
    try:
        # What msgspec passes over may be any bytes to it.
        line.decode()
        result = _decoder.decode(line).body
    except (MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(_fault(error)) from error
    seen = measurement_of(result)
    if seen is not None and seen.__struct_config__.tag != result.kind:
        raise WireError(f"a {result.kind} run with the measurement of a {seen.__struct_config__.tag}")
    return result


def _fault(error: Exception) -> str:
    text, at, place = str(error).rpartition(" - at ")
    return f"{text:.{_MAX_FAULT}}{at}{place:.{_MAX_FAULT}}"


def measurement_of(result: ResultRead) -> AnyRead | None:
    """What was seen, also before a failure."""
    return None if isinstance(result.outcome, MissedRead) else result.outcome.measurement


def document_of(page: PageRead) -> DocumentRead | None:
    """The request of the page itself, after all redirects."""
    for request in page.waterfall.requests:
        if isinstance(request, DocumentRead) and request.number == page.document:
            return request
    return None
