"""Pages of the captures that were recorded with a real Chrome."""

from typing import Any

from workers.measurement.compute.page.page import compute_page
from workers.measurement.connection import Connection
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request
from workers.tests.captures import store

GOLDEN = ("cold-h2", "new-pool", "six-connections", "untrusted", "untrusted-ignored")


def page_of(name: str) -> PageMeasurement:
    return compute_page(store.load(name)).measurement


def row(page: PageMeasurement, part: str) -> Request:
    return next(request for request in page.waterfall.requests if part in request.url)


def link(page: PageMeasurement, request: Request) -> Connection:
    return next(one for one in page.waterfall.connections if one.number == request.connection)


def saved_events() -> list[dict[str, Any]]:
    """What DevTools told of a page, as tools save it."""
    return [{"method": event.method, "params": dict(event.params)} for event in store.load("cold-h2").events]
