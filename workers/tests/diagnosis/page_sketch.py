"""Page loads that were never made: a document that has come after 300 ms, and what a test adds to it."""

from collections.abc import Callable
from typing import Any

from workers.diagnosis.page.case import IsOwn
from workers.diagnosis.page.diagnose import diagnose_page
from workers.measurement.connection import Connection, Header
from workers.measurement.finding import Diagnosis, Finding, FindingId
from workers.measurement.messages import PageMeasurement
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Blocking, Request, ResourceType, TimingSource, Waterfall
from workers.tests.builders import build_connection, span

MAIN = "www.example.org"
# What a browser may keep for a year.
KEPT = {"cache-control": "max-age=31536000"}
# What stands in the body of the page and stops its parser.
IN_BODY = {"initiator_url": f"https://{MAIN}/", "blocking": Blocking.PARSER, "render_blocking": False}
_MIME = {
    ResourceType.DOCUMENT: "text/html",
    ResourceType.STYLESHEET: "text/css",
    ResourceType.SCRIPT: "text/javascript",
    ResourceType.IMAGE: "image/png",
    ResourceType.FONT: "font/woff2",
    ResourceType.FETCH: "application/json",
}


def row(number: int, kind: ResourceType, start_ms: float, end_ms: float, **changes: Any) -> Request:
    """Asked for at one instant, answered 10 ms before the other, or at `first_ms`. `path` and `host` make its address,
    `headers` are its answer's.
    """
    host, path = changes.pop("host", MAIN), changes.pop("path", str(number))
    headers = changes.pop("headers", KEPT)
    asked, first_ms = span(start_ms, start_ms + 1), max(start_ms + 1, changes.pop("first_ms", end_ms - 10))
    timing = Timing(
        start_us=round(start_ms * 1000),
        end_us=round(end_ms * 1000),
        send=asked,
        wait=span(start_ms + 1, first_ms),
        download=span(first_ms, end_ms),
    )
    values: dict[str, Any] = {
        "number": number,
        "url": f"https://{host}/{path}",
        "method": "GET",
        "resource_type": kind,
        "timing": timing,
        "timing_source": TimingSource.NETLOG,
        "status": 200,
        "protocol": "h2",
        "connection": 1,
        "mime_type": _MIME.get(kind),
        "transferred_bytes": 600,
        "body_bytes": 1_500,
        "response_headers": tuple(Header(name=name, value=value) for name, value in headers.items()),
    }
    return Request(**(values | changes))


def style(number: int, start_ms: float, end_ms: float, **changes: Any) -> Request:
    """A style sheet that the first paint waits for."""
    return row(number, ResourceType.STYLESHEET, start_ms, end_ms, **({"render_blocking": True} | changes))


def picture(number: int, start_ms: float, end_ms: float, **changes: Any) -> Request:
    sizes = {"transferred_bytes": 40_200, "body_bytes": 40_000}
    return row(number, ResourceType.IMAGE, start_ms, end_ms, **(sizes | changes))


def sketch(*rest: Request, fcp_ms: float, connections: tuple[Connection, ...] = (), **changes: Any) -> PageMeasurement:
    """The page. `vitals` are added to the first paint, the rest goes to the measurement."""
    plain = row(1, ResourceType.DOCUMENT, 0, 300, path="", headers={"cache-control": "no-cache"})
    document = changes.pop("document", plain)
    vitals = Vitals(fcp_us=round(fcp_ms * 1000), **changes.pop("vitals", {}))
    first = build_connection(number=1, host=MAIN, dns=span(0, 20), connect=span(20, 100), tls=span(100, 180))
    waterfall = Waterfall(requests=(document, *rest), connections=(first, *connections))
    values: dict[str, Any] = {"waterfall": waterfall, "vitals": vitals, "document": 1, "hints": ()}
    return PageMeasurement(**(values | changes))


def diagnosed(page: PageMeasurement, is_own: IsOwn | None = None) -> Diagnosis:
    """By all rules; one that raises fails the test."""

    def on_fault(_: Callable[..., object], error: Exception) -> None:
        raise error

    return diagnose_page(page, is_own=is_own, on_fault=on_fault)


def told(page: PageMeasurement, id: FindingId) -> Finding | None:
    return next((one for one in diagnosed(page).findings if one.id is id), None)


def open_questions(page: PageMeasurement) -> set[FindingId]:
    return {one.id for one in diagnosed(page).not_judged}


def evidence_of(finding: Finding) -> dict[str, object]:
    return {fact.name: fact.value for fact in finding.evidence}
