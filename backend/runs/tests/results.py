"""Results as an agent would send them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from backend.runs.models import PendingRun
from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection, Header
from workers.measurement.evidence import Depth, ProbeEvidence
from workers.measurement.failure import FailureKind, failure
from workers.measurement.finding import (
    Answer,
    Check,
    CheckColumn,
    Confidence,
    Diagnosis,
    Fact,
    Finding,
    FindingId,
    NotJudged,
    NotJudgedReason,
    Severity,
)
from workers.measurement.messages import (
    Failed,
    Hop,
    Kind,
    Measured,
    Outcome,
    PageMeasurement,
    PairMeasurement,
    ProbeMeasurement,
    RunRequest,
    RunResult,
)
from workers.measurement.pair import CacheReport, CacheState, Leg, LegExchange
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import TimingKind, UserTiming, Vitals
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


EVIDENCE = ProbeEvidence(
    depth=Depth.LIGHT,
    host="shop.example",
    port=443,
    secure=True,
    measured_at=datetime(2026, 11, 21, 12, tzinfo=UTC),
)
OVERFLOW = Finding(
    id=FindingId.TLS_RECORD_OVERFLOW,
    severity=Severity.HIGH,
    confidence=Confidence.HIGH,
    saving_us=380_000,
    evidence=(Fact(name="record_bytes", value=16_401),),
)
NO_HTTP3 = Finding(id=FindingId.HTTP_H3, severity=Severity.INFO, confidence=Confidence.HIGH)
CHECKED = Check(column=CheckColumn.RECORD_SIZING, answer=Answer.NO, detail="16 KB, static")
PACED = NotJudged(id=FindingId.TCP_IW_SMALL, reason=NotJudgedReason.PACED)


def diagnosed(
    *findings: Finding,
    depth: Depth = Depth.DEEP,
    not_judged: tuple[NotJudged, ...] = (),
    ending: Measured | None = None,
) -> Measured:
    """A probe that looked so deep and found this."""
    seen = (ending or probe()).measurement
    assert isinstance(seen, ProbeMeasurement)
    diagnosis = Diagnosis(findings=findings, not_judged=not_judged)
    return Measured(measurement=replace(seen, evidence=replace(EVIDENCE, depth=depth), diagnosis=diagnosis))


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
    vitals = Vitals(
        fcp_us=300_000,
        lcp_us=420_000,
        cls=0.02,
        load_us=500_000,
        fully_loaded_us=700_000,
        start_render_us=250_000,
        speed_index_us=340_500,
        visually_complete_us=600_000,
        tbt_us=60_000,
    )
    return Measured(measurement=PageMeasurement(waterfall=waterfall, vitals=vitals, document=1, browser_version="156"))


def timed_page(timings: dict[str, int], *, profile_verified: bool | None = None) -> Measured:
    """A page that measured these itself, by what is followed (`sites.followed`), in microseconds."""
    measured = page(2)
    assert isinstance(measured.measurement, PageMeasurement)
    found = tuple(
        UserTiming(kind=TimingKind(kind), name=name, at_us=us, duration_us=us if kind == "measure" else None)
        for (kind, _, name), us in ((timing.partition(":"), us) for timing, us in timings.items())
    )
    vitals = replace(measured.measurement.vitals, user_timings=found)
    return Measured(measurement=replace(measured.measurement, vitals=vitals, profile_verified=profile_verified))


def leg_timing(total_us: int, start_us: int = 0, *, reused: bool = False) -> Timing:
    """An exchange of so long: tenths for DNS, send and download, a fifth each for TCP and TLS, the rest waits."""
    tenth = total_us // 10
    names = ("send", "wait", "download") if reused else ("dns", "connect", "tls", "send", "wait", "download")
    shares = {"dns": tenth, "connect": 2 * tenth, "tls": 2 * tenth, "send": tenth, "download": tenth}
    shares["wait"] = total_us - sum(shares[name] for name in names if name != "wait")
    spans, at_us = {}, start_us
    for name in names:
        spans[name] = Span(start_us=at_us, end_us=at_us + shares[name])
        at_us += shares[name]
    return Timing(start_us=start_us, end_us=at_us, **spans)


def leg(side: Leg, total_us: int, order: int, **changes: object) -> LegExchange:
    """An exchange of a pair that was answered in full; from the third on connections are reused."""
    is_cdn = side is Leg.A
    exchange = LegExchange(
        leg=side,
        reused=order > 2,
        order=order,
        url=f"https://{'cdn' if is_cdn else 'www'}.shop.example/app.js",
        connection=1 if is_cdn else 2,
        timing=leg_timing(total_us, order * 1_000_000, reused=order > 2),
        status=200,
        protocol="http/1.1",
        content_encoding="gzip",
        head_bytes=300,
        body_bytes=14_000,
        cache=CacheReport(state=CacheState.HIT, evidence=Header(name="X-Cache", value="HIT"), age_s=321)
        if is_cdn
        else CacheReport(),
        etag='"5f2a"',
    )
    return replace(exchange, **changes)  # type: ignore[arg-type]  # keyword by keyword is what a test wants


def pair(cdn_us: int = 60_000, origin_us: int = 100_000, **changes: object) -> Measured:
    """Both legs cold in so long, and reused in half of it; `changes` are of the CDN's exchanges."""
    exchanges = (
        leg(Leg.A, cdn_us, 1, **changes),
        leg(Leg.B, origin_us, 2),
        leg(Leg.B, origin_us // 2, 3),
        leg(Leg.A, cdn_us // 2, 4, **changes),
    )
    connections = (connection(1, "cdn.shop.example"), connection(2, "www.shop.example"))
    return Measured(measurement=PairMeasurement(exchanges=exchanges, connections=connections))


def measured(kind: str) -> Measured:
    """A usual result of a kind."""
    if kind == Kind.PAGE:
        return page()
    return pair() if kind == Kind.PAIR else probe()


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
        outcome=outcome or measured(pending.kind),
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
        outcome=outcome or measured(request.kind),
    )
    return encode(result)


def line_of(pending: PendingRun, outcome: Outcome | None = None, **changes: object) -> bytes:
    return encode(result_of(pending, outcome, **changes))
