"""`firstbyte cdp`: phases from a saved log of DevTools' events."""

import argparse

from workers.commands import EXIT_OK, UsageError
from workers.commands.logs import chunks_of, show_log
from workers.measurement.compute.files.devtools_file import DevToolsFile, NoDevToolsError, read_devtools_file
from workers.measurement.document import Document, milliseconds
from workers.measurement.log_document import CDP_SCHEMA, log_document

# What no event of DevTools says.
_UNKNOWN = {
    "preconnected": "a connection that was opened ahead shows only what its first request still waited for",
    "coalesced_dns": "the lookup of a further host on a connection is not told",
    "attempts": "of a request that failed no lookup, connect or handshake is told",
    "sending": "a busy Chrome notes its end late: where an answer came before, send is null and wait holds both",
    "early_hints": "an early answer (103) counts as the first byte, unless its own event was saved",
    "websockets": "a WebSocket starts when its page heard that its handshake was sent; nothing before that and no phase"
    " is told, and of one that was never connected no instant: warnings name it",
    "unused": "connections that carried no request are not told",
}


def run(arguments: argparse.Namespace) -> int:
    """Reads, shows, and gives the exit code. Raises UsageError for a file without such events."""
    with chunks_of("cdp", arguments.file) as chunks:
        try:
            found = read_devtools_file(chunks, limit=arguments.limit)
        except NoDevToolsError as error:
            raise UsageError(f"{arguments.file}: {error}") from error
    show_log(_document(found), found.waterfall, arguments)
    return EXIT_OK


def _document(found: DevToolsFile) -> Document:
    marks: list[Document] = [{"id": source, "hop": hop} for source, hop in found.ids]
    document = log_document(CDP_SCHEMA, None, found.waterfall, marks)
    left_out = found.requests - len(found.ids)
    more = (f"{left_out} more requests are in the file: --limit says how many are told.",) if left_out else ()
    zero = {"monotonic_ms": milliseconds(found.zero_us)}
    return document | {"zero": zero, "unknown": _UNKNOWN, "warnings": [*found.warnings, *more]}
