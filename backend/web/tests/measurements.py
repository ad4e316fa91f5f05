"""Made-up measurements of any size, the same on every call: a shop of four hosts with all a waterfall must show."""

from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from workers.measurement.certificate import Certificate
from workers.measurement.connection import Connection, Header
from workers.measurement.messages import Hop, PageMeasurement, ProbeMeasurement
from workers.measurement.page_view import Activity, Film, FilmFrame
from workers.measurement.timing import Span, Timing
from workers.measurement.vitals import LayoutShift, Vitals
from workers.measurement.waterfall import Request, ResourceType, RowFlag, ServedFrom, TimingSource, Waterfall

HOSTS = ("www.shop.example", "cdn.shop.example", "img.shop.example", "tags.vendor.example")
FILES = (
    ("assets/app.css", ResourceType.STYLESHEET, "text/css"),
    ("assets/app.js?v=42", ResourceType.SCRIPT, "text/javascript"),
    ("products/hero.avif", ResourceType.IMAGE, "image/avif"),
    ("fonts/inter.woff2", ResourceType.FONT, "font/woff2"),
    ("api/basket", ResourceType.FETCH, "application/json"),
    ("products/thumbnail.webp", ResourceType.IMAGE, "image/webp"),
)
CERTIFICATE = Certificate(
    subject="CN=shop.example",
    issuer="CN=Example CA R3, O=Example Trust",
    names=("shop.example", "*.shop.example"),
    not_before=datetime(2026, 9, 1, tzinfo=UTC),
    not_after=datetime(2026, 11, 30, tzinfo=UTC),
    sha256="ab" * 32,
    key_type="EC",
    key_bits=256,
    chain_length=2,
    chain_bytes=2_640,
)


def span(start_ms: float, length_ms: float) -> Span:
    return Span(start_us=int(start_ms * 1000), end_us=int(start_ms * 1000) + int(length_ms * 1000))


def connection(number: int, host: str, start_ms: float, requests: int = 1) -> Connection:
    return Connection(
        number=number,
        host=host,
        port=443,
        address=f"203.0.113.{number}",
        protocol="h2",
        dns=span(start_ms, 9),
        connect=span(start_ms + 9, 30.2),
        tls=span(start_ms + 39.2, 34.8),
        rtt_us=29_800,
        tls_round_trips=1,
        tls_version="TLSv1.3",
        cipher="TLS_AES_128_GCM_SHA256",
        resumed=False,
        certificate=CERTIFICATE,
        received_bytes=120_000 * requests,
        requests=requests,
    )


def document() -> Request:
    timing = Timing(
        start_us=0,
        end_us=317_000,
        dns=span(0, 9),
        connect=span(9, 30.2),
        tls=span(39.2, 34.8),
        send=span(74, 0.4),
        wait=span(74.4, 211.6),
        download=span(286, 31),
    )
    return Request(
        number=1,
        url="https://www.shop.example/",
        method="GET",
        resource_type=ResourceType.DOCUMENT,
        timing=timing,
        timing_source=TimingSource.NETLOG,
        status=200,
        protocol="h2",
        connection=1,
        reused=False,
        address="203.0.113.1",
        mime_type="text/html",
        transferred_bytes=24_310,
        body_bytes=131_072,
        priority="highest",
        request_headers=(Header(name="accept", value="text/html"), Header(name="user-agent", value="Firstbyte")),
        response_headers=(
            Header(name="content-encoding", value="br"),
            Header(name="cache-control", value="max-age=0, private"),
            Header(name="server-timing", value="db;dur=53, app;dur=120"),
        ),
    )


def page(requests: int = 30) -> PageMeasurement:
    """A page of so many requests: one fails, one redirects, one is cached, each host opens one connection."""
    random = Random(7)
    rows = [document(), *(_resource(number, random, requests) for number in range(2, requests + 1))]
    used = {request.connection for request in rows}
    opened = {1: 0.0, 2: 322.0, 3: 326.0, 4: 334.0}
    connections = tuple(
        connection(number, HOSTS[number - 1], start, sum(request.connection == number for request in rows))
        for number, start in opened.items()
        if number in used
    )
    end_us = max(request.timing.end_us or 0 for request in rows)
    return PageMeasurement(
        waterfall=Waterfall(requests=tuple(rows), connections=connections),
        vitals=Vitals(fcp_us=410_000, lcp_us=840_000, cls=0.02, load_us=end_us - 60_000, fully_loaded_us=end_us),
        document=1,
        title="Shop",
        browser_version="Chromium 156.0.1",
        has_screenshot=True,
    )


def eventful_page(requests: int = 30) -> PageMeasurement:
    """The same page with all that a run can tell besides its rows: film, activity, shifts, long tasks, marked rows."""
    plain, random = page(requests), Random(11)
    steps = 24
    vitals = replace(
        plain.vitals,
        start_render_us=400_000,
        dom_content_loaded_us=520_000,
        visually_complete_us=1_010_000,
        lcp_url=plain.waterfall.requests[7].url,
        long_tasks=(Span(start_us=420_000, end_us=540_000), Span(start_us=700_000, end_us=760_000)),
        shifts=(LayoutShift(at_us=600_000, score=0.013), LayoutShift(at_us=880_000, score=0.007)),
    )
    activity = Activity(
        step_us=50_000,
        received_bytes=tuple(random.randrange(60_000) if step > 2 else 0 for step in range(steps)),
        script_us=tuple(random.randrange(20_000) for _ in range(steps)),
        style_us=tuple(random.randrange(6_000) for _ in range(steps)),
        layout_us=tuple(random.randrange(10_000) for _ in range(steps)),
        other_us=tuple(random.randrange(5_000) for _ in range(steps)),
        cpu_us=tuple(random.randrange(70_000) for _ in range(steps)),
    )
    changes = ((0, 0), (400, 300_000), (560, 500_000), (840, 900_000), (1_010, 1_000_000))
    frames = tuple(FilmFrame(at_us=at_ms * 1000, complete_ppm=ppm) for at_ms, ppm in changes)
    flags = {3: (RowFlag.PRECONNECTED,), 5: (RowFlag.RESUMED, RowFlag.EARLY_DATA), 7: (RowFlag.PRELOAD,)}
    rows = tuple(replace(row, flags=flags.get(row.number, ())) for row in plain.waterfall.requests)
    return replace(
        plain,
        waterfall=replace(plain.waterfall, requests=rows),
        vitals=vitals,
        activity=activity,
        film=Film(frames=frames, width=160, height=100, columns=10),
    )


def hanging_page() -> PageMeasurement:
    """A page of three requests of which the last, sent after 400 ms, was still open when the load was left at 6 s."""
    plain = page(3)
    *rows, last = plain.waterfall.requests
    timing = Timing(start_us=380_000, send=span(400, 1))
    hung = replace(last, timing=timing, status=None, transferred_bytes=None, body_bytes=None, response_headers=())
    return replace(
        plain,
        waterfall=replace(plain.waterfall, requests=(*rows, hung), watched_until_us=6_000_000),
        vitals=Vitals(fcp_us=410_000),
    )


def _resource(number: int, random: Random, total: int) -> Request:
    file, resource_type, mime_type = FILES[number % len(FILES)]
    host = (number * 7) % 4
    start_ms = 310 + (number - 2) * 700 / total + random.random() * 5
    fresh = number <= 5 and host != 0
    setup = {1: 322.0, 2: 326.0, 3: 334.0}
    cached = number == 13
    timing = _timing(start_ms, setup[host] if fresh else None, random, cached=cached)
    status = {9: 302, 18: 404}.get(number, 200)
    failed = number == 22
    return Request(
        number=number,
        url=f"https://{HOSTS[host]}/static/{number}/{file}",
        method="GET",
        resource_type=resource_type,
        timing=timing,
        timing_source=TimingSource.NETLOG,
        served_from=ServedFrom.DISK_CACHE if cached else ServedFrom.NETWORK,
        status=None if failed else status,
        protocol="h2",
        connection=None if cached else host + 1,
        reused=not fresh,
        address=f"203.0.113.{host + 1}",
        mime_type=mime_type,
        transferred_bytes=0 if cached else random.randrange(900, 160_000),
        body_bytes=random.randrange(160_000, 400_000),
        priority="high" if number < 6 else "low",
        initiator_url="https://www.shop.example/",
        render_blocking=resource_type is ResourceType.STYLESHEET,
        redirected_to=f"https://{HOSTS[1]}/elsewhere" if status == 302 else None,
        failure="ERR_CONNECTION_RESET" if failed else None,
        response_headers=tuple(Header(name=f"x-header-{n}", value="v" * 20) for n in range(6)),
    )


def _timing(start_ms: float, setup_ms: float | None, random: Random, *, cached: bool) -> Timing:
    if cached:
        return Timing(start_us=int(start_ms * 1000), end_us=int(start_ms * 1000) + 1_400, download=span(start_ms, 1.4))
    begin = start_ms + 4 + random.random() * 20
    dns = connect = tls = None
    if setup_ms is not None:
        begin = max(setup_ms, start_ms)
        dns, connect, tls = span(begin, 9), span(begin + 9, 30.2), span(begin + 39.2, 34.8)
        begin += 74
    wait_ms, download_ms = 12 + random.random() * 90, 4 + random.random() * 50
    send, wait, download = span(begin, 0.4), span(begin + 0.4, wait_ms), span(begin + 0.4 + wait_ms, download_ms)
    return Timing(
        start_us=int(start_ms * 1000),
        end_us=download.end_us,
        dns=dns,
        connect=connect,
        tls=tls,
        send=send,
        wait=wait,
        download=download,
    )


def probe() -> ProbeMeasurement:
    """A redirect to another host, then the answer."""
    first = Timing(
        start_us=0,
        end_us=88_600,
        dns=span(0, 6.1),
        connect=span(6.2, 21.4),
        wait=span(28.0, 60.0),
        download=span(88, 0.6),
    )
    second = Timing(
        start_us=89_000,
        end_us=342_000,
        dns=span(89, 8.5),
        connect=span(97.6, 30.2),
        tls=span(127.8, 64.8),
        send=span(193, 0.2),
        wait=span(193.2, 118.0),
        download=span(311.2, 30.8),
    )
    headers = (Header(name="content-type", value="text/html"), Header(name="age", value="12"))
    return ProbeMeasurement(
        hops=(
            Hop(url="http://shop.example/", connection=1, timing=first, status=301, head_bytes=310, body_bytes=0),
            Hop(
                url="https://www.shop.example/",
                connection=2,
                timing=second,
                status=200,
                head_bytes=612,
                body_bytes=130_112,
                response_headers=headers,
            ),
        ),
        connections=(
            Connection(
                number=1,
                host="shop.example",
                port=80,
                address="203.0.113.1",
                dns=first.dns,
                connect=first.connect,
                requests=1,
            ),
            connection(2, "www.shop.example", 89),
        ),
        tls_network_us=62_100,
        scheduling_lag_us=180,
    )
