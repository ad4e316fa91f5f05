"""Results as an agent would send them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from backend.runs.models import PendingRun
from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import (
    Failed,
    Hop,
    Kind,
    Measured,
    Outcome,
    PageMeasurement,
    ProbeMeasurement,
    RunRequest,
    RunResult,
)
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, TimingSource, Waterfall
from workers.measurement.wire import encode

CERTIFICATE = Certificate(
    subject="CN=shop.example",
    issuer="CN=Example CA",
    names=("shop.example",),
    not_before=datetime(2026, 9, 1, tzinfo=UTC),
    not_after=datetime(2026, 12, 1, tzinfo=UTC),
    sha256="ab" * 32,
)
TIMING = Timing(
    start_us=0,
    end_us=110_000,
    dns=Span(start_us=0, end_us=8_000),
    connect=Span(start_us=8_000, end_us=28_000),
    tls=Span(start_us=28_000, end_us=62_000),
    send=Span(start_us=62_000, end_us=62_100),
    wait=Span(start_us=62_100, end_us=102_100),
    download=Span(start_us=102_100, end_us=110_000),
)
FAILED = Failed(failure=failure(FailureKind.CONNECT_REFUSED, "203.0.113.7"))


def connection(number: int = 1, host: str = "shop.example") -> Connection:
    return Connection(
        number=number,
        host=host,
        port=443,
        address="203.0.113.7",
        protocol="h2",
        dns=TIMING.dns,
        connect=TIMING.connect,
        tls=TIMING.tls,
        rtt_us=19_800,
        tls_round_trips=1,
        tls_version="TLSv1.3",
        cipher="TLS_AES_128_GCM_SHA256",
        resumed=False,
        certificate=CERTIFICATE,
        received_bytes=48_000,
        requests=1,
    )


def probe() -> Measured:
    hop = Hop(url="https://shop.example/", connection=1, timing=TIMING, status=200, head_bytes=612, body_bytes=47_000)
    return Measured(measurement=ProbeMeasurement(hops=(hop,), connections=(connection(),)))


def page(requests: int = 20, *, connections: int = 3) -> Measured:
    """A page over so many connections, each to a host of its own."""
    hosts = [f"host-{number}.example" for number in range(connections)]
    rows = tuple(
        Request(
            number=number,
            url=f"https://{hosts[number % connections]}/assets/{number}.js",
            method="GET",
            resource_type=ResourceType.DOCUMENT if number == 1 else ResourceType.SCRIPT,
            timing=TIMING,
            timing_source=TimingSource.NETLOG,
            status=200,
            protocol="h2",
            connection=number % connections + 1,
            transferred_bytes=1_000,
        )
        for number in range(1, requests + 1)
    )
    waterfall = Waterfall(requests=rows, connections=tuple(connection(n + 1, host) for n, host in enumerate(hosts)))
    vitals = Vitals(fcp_us=300_000, lcp_us=420_000, cls=0.02, load_us=500_000, fully_loaded_us=700_000)
    return Measured(measurement=PageMeasurement(waterfall=waterfall, vitals=vitals, document=1, browser_version="156"))


def result_of(pending: PendingRun, outcome: Outcome | None = None, **changes: object) -> RunResult:
    """What the pending run's agent would send."""
    result = RunResult(
        run_id=pending.run_id,
        monitor_id=pending.monitor.public_id,
        kind=Kind(pending.kind),
        region=pending.region.code,
        scheduled_for=pending.scheduled_for,
        attempt=pending.attempt,
        config_version=1,
        agent="agent-1",
        agent_version="0.1.0",
        started_at=pending.scheduled_for + timedelta(seconds=1),
        duration_us=120_000,
        outcome=outcome or (page() if pending.kind == Kind.PAGE else probe()),
    )
    return replace(result, **changes)  # type: ignore[arg-type]  # keyword by keyword is what a test wants


def answer(request: RunRequest, outcome: Outcome | None = None) -> bytes:
    """The line that an agent would send for a request."""
    result = RunResult(
        run_id=request.run_id,
        monitor_id=request.monitor_id,
        kind=request.kind,
        region=request.region,
        scheduled_for=request.scheduled_for,
        attempt=request.attempt,
        config_version=request.config_version,
        agent="agent-1",
        agent_version="0.1.0",
        started_at=datetime.now(UTC),
        duration_us=120_000,
        outcome=outcome or (page() if request.kind == Kind.PAGE else probe()),
    )
    return encode(result)


def line_of(pending: PendingRun, outcome: Outcome | None = None, **changes: object) -> bytes:
    return encode(result_of(pending, outcome, **changes))
