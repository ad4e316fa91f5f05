"""A page load as the JSON document that `firstbyte page` prints. Milliseconds; absent is null.

The names stay: scripts read them. Adding a field keeps the number in `schema`, changing one makes the next.
"""

from workers.diagnosis.diagnosis_document import diagnosis_parts
from workers.diagnosis.page.content import Amount, HostShare, TypeShare, host_shares, types_of
from workers.diagnosis.page.largest_paint import largest_row
from workers.measurement.compute.page.representative import Spread, representative, spreads
from workers.measurement.connection import Connection
from workers.measurement.document import (
    Document,
    connection_part,
    error_part,
    instants_part,
    milliseconds,
    opening_part,
    pauses_part,
    phase_lengths,
    place_part,
    timing_part,
)
from workers.measurement.finding import Diagnosis, Together
from workers.measurement.messages import Failed, Measured, PageMeasurement
from workers.measurement.page_view import ConsoleMessage, Film, HostDelivery, RepeatView, ViewSample
from workers.measurement.timing import Phases, document_phases
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, Waterfall

PAGE_SCHEMA = "firstbyte.page/1"
# What is no time; `speed_index` is one, by custom without its unit in the name.
_PLAIN_METRICS = ("cls", "requests", "bytes")
_EMPTY = PageMeasurement(waterfall=Waterfall(requests=(), connections=()), vitals=Vitals())
_PLAIN = ("number", "url", "method", "status", "protocol", "connection", "reused", "address", "mime_type", "priority")
_MORE = ("transferred_bytes", "body_bytes", "initiator_url", "blocking", "render_blocking", "redirected_to", "failure")


def page_document(url: str, outcome: Measured | Failed) -> Document:
    """`metrics` are the page's, with the phases of its final document; every request has its own and its instants."""
    page = outcome.measurement if isinstance(outcome.measurement, PageMeasurement) else None
    seen = page or _EMPTY
    document = _row(seen.waterfall, seen.document)
    return {
        "schema": PAGE_SCHEMA,
        "url": url,
        "title": seen.title,
        "browser": seen.browser_version,
        "status": document.status if document else None,
        "state": str(seen.state),
        "metrics": _metrics(page),
        "lcp": {"element": seen.vitals.lcp_element, "url": seen.vitals.lcp_url, "request": _lcp_request(seen)},
        "shifts": [{"at_ms": milliseconds(one.at_us), "score": one.score} for one in seen.vitals.shifts],
        "long_tasks": _long_tasks(seen.vitals),
        "user_timings": _user_timings(seen.vitals),
        "cpu": _cpu(seen.vitals),
        "contention_ms": milliseconds(seen.vitals.contention_us),
        **_rows(seen.waterfall),
        "types": [_type_share(share) for share in types_of(seen)],
        "hosts": [_host_share(share) for share in host_shares(seen)],
        "film": _film(seen.film),
        "console": [_message(one) for one in seen.console],
        "deliveries": [_delivery(one) for one in seen.deliveries],
        "load": None if page is None else representative(seen.samples) or 1,
        "samples": [_sample(one) for one in seen.samples],
        "spread": {f"{name}{_unit(name)}": _spread(name, one) for name, one in spreads(seen.samples).items()},
        "repeat": _repeat(seen.repeat),
        **_diagnosis(seen.diagnosis or Diagnosis()),
        "warnings": list(seen.warnings),
        "profile_verified": seen.profile_verified,
        "error": error_part(outcome),
    }


def _diagnosis(diagnosis: Diagnosis) -> Document:
    """Each finding with the numbers of the requests that it speaks of, and with what it saves together with others."""
    parts = diagnosis_parts(diagnosis)
    rows = [{"requests": list(one.rows), "together": _together(one.together)} for one in diagnosis.findings]
    return parts | {"findings": [told | more for told, more in zip(parts["findings"], rows, strict=True)]}


def _together(together: Together | None) -> Document | None:
    if together is None:
        return None
    others = [{"id": str(one.id), "host": one.host} for one in together.others]
    return {"saving_ms": milliseconds(together.saving_us), "others": others}


def _row(waterfall: Waterfall, number: int | None) -> Request | None:
    return next((row for row in waterfall.requests if row.number == number), None)


def _metrics(page: PageMeasurement | None) -> Document:
    seen = page or _EMPTY
    rows = seen.waterfall.requests
    sizes = [row.transferred_bytes for row in rows if row.transferred_bytes is not None]
    return _view_metrics(_row(seen.waterfall, seen.document), seen.vitals) | {
        "requests": len(rows) if page else None,
        "connections": len(seen.waterfall.connections) if page else None,
        "bytes": sum(sizes) if page else None,
    }


def _view_metrics(document: Request | None, vitals: Vitals) -> Document:
    """`redirect_ms` is what went by before the final document was asked for."""
    redirect = {"redirect_ms": milliseconds(document.timing.start_us) if document else None}
    phases = document_phases(document.timing) if document else Phases()
    return redirect | phase_lengths(phases) | vitals_part(vitals)


def vitals_part(vitals: Vitals) -> Document:
    """What the visitor saw, by the names of the metrics. `speed_index` is in milliseconds by the field's custom."""
    instants = ("start_render", "fcp", "lcp", "dom_interactive", "dom_content_loaded", "load", "visually_complete")
    more = ("fully_loaded", "tbt")
    times = {f"{name}_ms": milliseconds(getattr(vitals, f"{name}_us")) for name in instants + more}
    return times | {"speed_index": milliseconds(vitals.speed_index_us), "cls": vitals.cls}


def _lcp_request(page: PageMeasurement) -> int | None:
    row = largest_row(page)
    return None if row is None else row.number


def _long_tasks(vitals: Vitals) -> list[Document] | None:
    if vitals.long_tasks is None:
        return None
    return [
        {"start_ms": milliseconds(task.start_us), "duration_ms": milliseconds(task.duration_us)}
        for task in vitals.long_tasks
    ]


def _user_timings(vitals: Vitals) -> list[Document] | None:
    if vitals.user_timings is None:
        return None
    return [
        {
            "kind": str(one.kind),
            "name": one.name,
            "at_ms": milliseconds(one.at_us),
            "duration_ms": milliseconds(one.duration_us),
        }
        for one in vitals.user_timings
    ]


def _cpu(vitals: Vitals) -> Document | None:
    if vitals.cpu is None:
        return None
    return {
        f"{kind}_ms": milliseconds(getattr(vitals.cpu, f"{kind}_us")) for kind in ("script", "style", "layout", "other")
    }


def _rows(waterfall: Waterfall) -> Document:
    return {
        "requests": [_request(row) for row in waterfall.requests],
        "truncated": waterfall.truncated,
        "watched_until_ms": milliseconds(waterfall.watched_until_us),
        "connections": [_connection(each) for each in waterfall.connections],
    }


def _request(row: Request) -> Document:
    words = {"resource_type": str(row.resource_type), "served_from": str(row.served_from)}
    flags = {"timing_source": str(row.timing_source), "flags": [str(flag) for flag in row.flags]}
    plain = {name: getattr(row, name) for name in _PLAIN + _MORE}
    instants = timing_part(row.timing) | instants_part(row.timing)
    return plain | place_part(row.initiator_at) | words | flags | instants


def _connection(one: Connection) -> Document:
    return connection_part(one) | opening_part(one) | pauses_part(one) | {"preconnected": one.preconnected}


def _type_share(share: TypeShare) -> Document:
    return {"type": str(share.resource_type)} | _amount(share.amount)


def _host_share(share: HostShare) -> Document:
    opened = {"connections": share.connections, "opening_ms": milliseconds(share.opening_us)}
    return {"host": share.host} | _amount(share.amount) | opened | {"cdn": share.cdn}


def _amount(amount: Amount) -> Document:
    sizes = {"transferred_bytes": amount.transferred_bytes, "body_bytes": amount.body_bytes}
    return {"requests": amount.requests} | sizes


def _film(film: Film | None) -> list[Document]:
    frames = film.frames if film else ()
    return [{"at_ms": milliseconds(one.at_us), "complete_percent": one.complete_ppm / 10_000} for one in frames]


def _message(one: ConsoleMessage) -> Document:
    place = {"url": one.url, "line": one.line}
    return {"at_ms": milliseconds(one.at_us), "level": str(one.level), "text": one.text} | place


def _delivery(one: HostDelivery) -> Document:
    return {"host": one.host, "cdn": one.cdn, "evidence": one.evidence}


def _sample(one: ViewSample) -> Document:
    counts = {"ttfb_ms": milliseconds(one.ttfb_us), "requests": one.requests, "bytes": one.received_bytes}
    view = {"load": one.load, "state": str(one.state), "error": one.failure}
    return view | counts | vitals_part(one.vitals)


def _unit(metric: str) -> str:
    return "" if metric in (*_PLAIN_METRICS, "speed_index") else "_ms"


def _spread(metric: str, spread: Spread) -> Document:
    scale = 1 if metric in _PLAIN_METRICS else 1000
    values = {"median": spread.median, "low": spread.low, "high": spread.high}
    return {"n": spread.n} | {name: round(value / scale, 3) for name, value in values.items()}


def _repeat(view: RepeatView | None) -> Document | None:
    if view is None:
        return None
    metrics = _view_metrics(_row(view.waterfall, view.document), view.vitals)
    return {"state": str(view.state), "metrics": metrics} | _rows(view.waterfall)
