"""Messages for tests: complete, plausible, and the same at every call. `examples/` is written from these."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from workers.measurement import wire
from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection, Header, Pause
from workers.measurement.failure import FailureKind, failure
from workers.measurement.identity import run_id
from workers.measurement.messages import (
    Clock,
    Failed,
    Heartbeat,
    HeartbeatReply,
    Hop,
    Kind,
    Measured,
    Missed,
    MissedReason,
    Outcome,
    PageMeasurement,
    PairMeasurement,
    ProbeMeasurement,
    Progress,
    ProgressStage,
    Receipts,
    ReceiptStatus,
    RunRequest,
    RunResult,
)
from workers.measurement.pair import CacheReport, CacheState, Leg, LegExchange, PairTarget, Protocols
from workers.measurement.profile import NATIVE
from workers.measurement.timing import Span, Timing, phases_of
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, ResourceType, TimingSource, Waterfall

SLOT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MONITOR = UUID("7f6c2f0e-3a55-4d7e-9a51-0d4f6d1c2b3a")


def span(start_ms: float, end_ms: float) -> Span:
    return Span(start_us=round(start_ms * 1000), end_us=round(end_ms * 1000))


def build_request(**changes: Any) -> RunRequest:
    """A scheduled probe of example.org; `run_id` follows from what it names unless given."""
    values: dict[str, Any] = {
        "monitor_id": MONITOR,
        "kind": Kind.PROBE,
        "url": "https://www.example.org/",
        "region": "eu",
        "scheduled_for": SLOT,
        "attempt": 1,
        "expires_at": SLOT + timedelta(minutes=1),
        "timeout_us": 30_000_000,
        "profile": NATIVE,
    } | changes
    named = {name: values[name] for name in ("monitor_id", "region", "scheduled_for", "attempt")}
    return RunRequest(**({"run_id": run_id(**named)} | values))


def build_result(outcome: Outcome | None = None, **changes: Any) -> RunResult:
    """What came of `build_request()`: measured unless another outcome is given."""
    request = build_request()
    values: dict[str, Any] = {
        name: getattr(request, name)
        for name in ("run_id", "monitor_id", "kind", "region", "scheduled_for", "attempt", "config_version")
    }
    values |= {
        "agent": "eu-1",
        "agent_version": "0.1.0",
        "started_at": SLOT + timedelta(milliseconds=120),
        "duration_us": 152_340,
        "outcome": outcome or Measured(measurement=build_probe()),
    }
    return RunResult(**(values | changes))


def build_certificate() -> Certificate:
    return Certificate(
        subject="CN=www.example.org",
        issuer="CN=Example CA,O=Example",
        names=("www.example.org", "example.org"),
        not_before=datetime(2026, 10, 1, tzinfo=UTC),
        not_after=datetime(2027, 1, 1, tzinfo=UTC),
        sha256="5f" * 32,
        key_type="EC",
        key_bits=256,
        chain_length=2,
        chain_bytes=2_345,
    )


def pause(start_ms: float, end_ms: float, behind_bytes: int = 1_448) -> Pause:
    """With one packet behind it, as where a window was full."""
    return Pause(span=span(start_ms, end_ms), behind_bytes=behind_bytes)


def build_connection(**changes: Any) -> Connection:
    values: dict[str, Any] = {
        "number": 1,
        "host": "www.example.org",
        "port": 443,
        "address": "93.184.215.14",
        "protocol": "h2",
        "dns": span(0, 12.5),
        "connect": span(12.5, 34.0),
        "tls": span(34.0, 78.25),
        "rtt_us": 21_400,
        "tls_round_trips": 1,
        "tls_version": "TLSv1.3",
        "cipher": "TLS_AES_128_GCM_SHA256",
        "resumed": False,
        "certificate": build_certificate(),
        "received_bytes": 18_432,
        "requests": 1,
    }
    return Connection(**(values | changes))


def build_probe() -> ProbeMeasurement:
    """Two hops over two connections: a redirect from the bare name, then the answer."""
    first = build_connection(host="example.org", requests=1)
    second = build_connection(number=2, dns=span(101, 103), connect=span(103, 124.5), tls=span(124.5, 168))
    redirect = Timing(
        start_us=0,
        end_us=100_500,
        dns=first.dns,
        connect=first.connect,
        tls=first.tls,
        send=span(78.25, 78.5),
        wait=span(78.5, 100.25),
        download=span(100.25, 100.5),
    )
    answer = Timing(
        start_us=101_000,
        end_us=214_000,
        dns=second.dns,
        connect=second.connect,
        tls=second.tls,
        send=span(168, 168.25),
        wait=span(168.25, 209),
        download=span(209, 214),
    )
    location = Header(name="Location", value="https://www.example.org/")
    return ProbeMeasurement(
        hops=(
            Hop(url="https://example.org/", connection=1, timing=redirect, status=301, response_headers=(location,)),
            Hop(
                url="https://www.example.org/",
                connection=2,
                timing=answer,
                status=200,
                response_headers=(Header(name="Content-Type", value="text/html; charset=utf-8"),),
                head_bytes=412,
                body_bytes=17_020,
            ),
        ),
        connections=(first, second),
        tls_network_us=41_900,
        clock=Clock.KERNEL,
        scheduling_lag_us=140,
        contention_us=120,
    )


def build_page() -> PageMeasurement:
    """A document, a style sheet and a script on its connection, and an image that was refused by another host."""
    return PageMeasurement(
        waterfall=Waterfall(
            requests=_rows(),
            connections=(build_connection(requests=3, pauses=(pause(130, 171, 4_344),)),),
            watched_until_us=2_600_000,
        ),
        vitals=Vitals(
            fcp_us=310_000,
            lcp_us=480_000,
            lcp_element="img.hero",
            cls=0.02,
            dom_content_loaded_us=290_000,
            load_us=520_000,
            fully_loaded_us=600_000,
        ),
        document=1,
        title="Example: home",
        browser_version="HeadlessChrome/156.0.8078.79",
        has_screenshot=True,
    )


PAIR_URL = "https://cdn.example.org/app.js"


def build_pair(**changes: Any) -> PairMeasurement:
    """An asset from a CDN that has it, 8 ms away, and from its origin, 40 ms away: cold and reused."""
    far = {"host": "cdn.example.org", "address": "93.184.215.14", "protocol": "http/1.1", "requests": 2, "dns": None}
    near = far | {"address": "93.184.215.20", "dns": span(0, 4)}
    values: dict[str, Any] = {
        "exchanges": (
            _leg(Leg.A, 1, _cold(0, 4, 8)),
            _leg(Leg.B, 2, _cold(40, 0, 40)),
            _leg(Leg.B, 3, _reused(250, 40)),
            _leg(Leg.A, 4, _reused(300, 8)),
        ),
        "connections": (
            build_connection(**near, number=1, connect=span(4, 12), tls=span(12, 20)),
            build_connection(**far, number=2, connect=span(40, 80), tls=span(80, 120)),
        ),
        "scheduling_lag_us": 90,
        "contention_us": 60,
        "protocols": Protocols.SAME,
    }
    return PairMeasurement(**(values | changes))


def _cold(start_ms: float, dns_ms: float, trip_ms: float) -> Timing:
    dialled_ms = start_ms + dns_ms
    secured_ms = dialled_ms + 2 * trip_ms
    return Timing(
        start_us=round(start_ms * 1000),
        end_us=round((secured_ms + trip_ms + 2.2) * 1000),
        dns=span(start_ms, dialled_ms) if dns_ms else None,
        connect=span(dialled_ms, dialled_ms + trip_ms),
        tls=span(dialled_ms + trip_ms, secured_ms),
        send=span(secured_ms, secured_ms + 0.2),
        wait=span(secured_ms + 0.2, secured_ms + 0.2 + trip_ms),
        download=span(secured_ms + 0.2 + trip_ms, secured_ms + 2.2 + trip_ms),
    )


def _reused(start_ms: float, trip_ms: float) -> Timing:
    answered_ms = start_ms + 0.2 + trip_ms
    return Timing(
        start_us=round(start_ms * 1000),
        end_us=round((answered_ms + 1) * 1000),
        send=span(start_ms, start_ms + 0.2),
        wait=span(start_ms + 0.2, answered_ms),
        download=span(answered_ms, answered_ms + 1),
    )


def _leg(leg: Leg, order: int, timing: Timing) -> LegExchange:
    hit = CacheReport(state=CacheState.HIT, evidence=Header(name="X-Cache", value="HIT"), age_s=321)
    return LegExchange(
        leg=leg,
        reused=order > 2,
        order=order,
        url=PAIR_URL,
        connection=1 if leg is Leg.A else 2,
        timing=timing,
        status=200,
        protocol="http/1.1",
        content_encoding="br" if leg is Leg.A else "gzip",
        head_bytes=318,
        body_bytes=14_100 if leg is Leg.A else 14_620,
        cache=hit if leg is Leg.A else CacheReport(),
        etag='"5f2a"',
        response_headers=(Header(name="Content-Type", value="text/javascript"),),
    )


def _rows() -> tuple[Request, ...]:
    connection = build_connection()
    document = Timing(
        start_us=0,
        end_us=130_000,
        dns=connection.dns,
        connect=connection.connect,
        tls=connection.tls,
        send=span(78.25, 78.5),
        wait=span(78.5, 121),
        download=span(121, 130),
    )
    style = Timing(
        start_us=132_000, end_us=190_000, send=span(140, 140.2), wait=span(140.2, 180), download=span(180, 190)
    )
    script = Timing(
        start_us=133_000, end_us=260_000, send=span(141, 141.2), wait=span(141.2, 200), download=span(200, 260)
    )
    image = Timing(start_us=200_000, end_us=221_000, dns=span(200, 210))
    return (
        _row(1, "https://www.example.org/", ResourceType.DOCUMENT, document),
        _row(2, "https://www.example.org/site.css", ResourceType.STYLESHEET, style, render_blocking=True),
        _row(3, "https://www.example.org/app.js", ResourceType.SCRIPT, script),
        _row(
            4,
            "https://cdn.example.net/hero.webp",
            ResourceType.IMAGE,
            image,
            status=None,
            connection=None,
            protocol=None,
            transferred_bytes=None,
            failure="ERR_CONNECTION_REFUSED",
        ),
    )


def _row(number: int, url: str, resource_type: ResourceType, timing: Timing, **changes: Any) -> Request:
    values: dict[str, Any] = {
        "number": number,
        "url": url,
        "method": "GET",
        "resource_type": resource_type,
        "timing": timing,
        "timing_source": TimingSource.NETLOG,
        "status": 200,
        "protocol": "h2",
        "connection": 1,
        "reused": number > 1,
        "transferred_bytes": 4_200 * number,
        "priority": "High",
        "initiator_url": None if number == 1 else "https://www.example.org/",
    }
    return Request(**(values | changes))


EXAMPLES: dict[str, wire.Message] = {
    "run_request.probe": build_request(),
    "run_request.page": build_request(
        kind=Kind.PAGE,
        urgent=True,
        headers=(Header(name="X-Firstbyte", value="1"),),
        accepted_status=(200, 204),
        body_text="Welcome",
        ignore_certificate_errors=True,
    ),
    "run_request.pair": build_request(
        kind=Kind.PAIR, url=PAIR_URL, other=PairTarget(url=PAIR_URL, address="93.184.215.14:443")
    ),
    "run_result.measured_probe": build_result(),
    "run_result.measured_pair": build_result(Measured(measurement=build_pair()), kind=Kind.PAIR, duration_us=310_000),
    "run_result.measured_pair_not_kept": build_result(
        Measured(measurement=build_pair(exchanges=build_pair().exchanges[:2], not_kept=(Leg.B,))), kind=Kind.PAIR
    ),
    "run_result.measured_page": build_result(Measured(measurement=build_page()), kind=Kind.PAGE, duration_us=912_000),
    "run_result.failed": build_result(
        Failed(
            failure=failure(FailureKind.CERTIFICATE_EXPIRED, "on 2026-10-01"),
            measurement=ProbeMeasurement(connections=(build_connection(certificate_error="certificate has expired"),)),
        )
    ),
    "run_result.failed_before_anything": build_result(
        Failed(failure=failure(FailureKind.DNS_NOT_FOUND, "nothing.example.org does not exist"))
    ),
    "run_result.missed": build_result(Missed(reason=MissedReason.LATE), duration_us=0),
    "progress.loading": Progress(run_id=build_request().run_id, stage=ProgressStage.LOADING, requests=17),
    "progress.looking_deeper": Progress(
        run_id=build_request().run_id,
        stage=ProgressStage.LOADING,
        phases=phases_of(build_probe().hops[-1].timing),
        tls_round_trips=1,
        rtt_us=20_000,
        connections=5,
        planned=16,
    ),
    "heartbeat.busy": Heartbeat(
        agent="eu-1",
        agent_version="0.1.0",
        sent_at=SLOT,
        browser_version="HeadlessChrome/156.0.8078.79",
        browser_sandbox=True,
        holding=(build_request().run_id, build_request(attempt=2).run_id),
        spooled=3,
    ),
    "heartbeat.clock": Heartbeat(agent="eu-1", agent_version="0.1.0", sent_at=SLOT, clock_ahead_us=-7_300_000),
    "heartbeat.idle": Heartbeat(agent="eu-1", agent_version="0.1.0", sent_at=SLOT),
    "heartbeat_reply.lost": HeartbeatReply(received_at=SLOT, lost=(build_request(attempt=2).run_id,)),
    "receipts.each": Receipts(statuses=tuple(ReceiptStatus)),
    "waterfall.page": build_page().waterfall,
}
