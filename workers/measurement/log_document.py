"""The JSON documents of `firstbyte netlog` and `firstbyte cdp`: every request of a file, with the instants of its
phases in milliseconds, null where the file does not say.

Zero is the first event of any request in the file. `connect` ends where `tls` begins at the latest. What a connection
cost stands at the first request that used it. A redirect is a row of its own with the same `id` and the next `hop`.
"""

from collections.abc import Sequence
from datetime import datetime

from workers.measurement.connection import Connection
from workers.measurement.document import (
    Document,
    connection_part,
    instants_part,
    milliseconds,
    opening_part,
    pauses_part,
    phase_lengths,
)
from workers.measurement.timing import phases_of
from workers.measurement.waterfall import Request, Waterfall

NETLOG_SCHEMA = "firstbyte.netlog/1"
CDP_SCHEMA = "firstbyte.cdp/1"
_PLAIN = ("number", "url", "method", "status", "protocol", "connection", "reused", "address", "redirected_to")


def log_document(schema: str, browser: str | None, waterfall: Waterfall, marks: Sequence[Document]) -> Document:
    """`marks` are what the file calls each row, in order: its `id` and `hop`, and what else only it knows."""
    return {
        "schema": schema,
        "browser": browser,
        "requests": [mark | _request(row) for row, mark in zip(waterfall.requests, marks, strict=True)],
        "connections": [_connection(one) for one in waterfall.connections],
        "truncated": waterfall.truncated,
    }


def zero_part(tick_ms: int | None, at: datetime | None) -> Document:
    """Where zero is: on the file's own clock, and on the wall's when the file tells."""
    return {"tick_ms": tick_ms, "at": None if at is None else at.isoformat(timespec="milliseconds")}


def _request(row: Request) -> Document:
    more = {"served_from": str(row.served_from), "error": row.failure, "flags": [str(flag) for flag in row.flags]}
    instants = {"start_ms": milliseconds(row.timing.start_us)} | instants_part(row.timing)
    return (
        {name: getattr(row, name) for name in _PLAIN}
        | more
        | instants
        | {"phases": phase_lengths(phases_of(row.timing))}
    )


def _connection(connection: Connection) -> Document:
    """Instants here; how long each phase took in `phases`."""
    lengths = connection_part(connection)
    phases = {name: lengths.pop(name) for name in ("dns_ms", "connect_ms", "tls_ms")}
    opened = opening_part(connection) | pauses_part(connection)
    return lengths | opened | {"phases": phases, "preconnected": connection.preconnected}
