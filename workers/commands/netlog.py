"""`firstbyte netlog`: phases from any network log of Chrome."""

import argparse

from workers.commands import EXIT_OK, UsageError
from workers.commands.logs import chunks_of, show_log
from workers.measurement.compute.files.log_file import LogFile, NoNetlogError, read_log_file
from workers.measurement.compute.files.log_rows import LogRows, rows_of
from workers.measurement.document import Document
from workers.measurement.log_document import NETLOG_SCHEMA, log_document, zero_part


def run(arguments: argparse.Namespace) -> int:
    """Reads, shows, and gives the exit code. Raises UsageError for a file that is no network log."""
    with chunks_of("netlog", arguments.file) as chunks:
        try:
            found = read_log_file(chunks)
        except NoNetlogError as error:
            raise UsageError(f"{arguments.file}: {error}") from error
    rows = rows_of(found.log, limit=arguments.limit)
    drawn = rows if arguments.json else rows_of(found.log, limit=arguments.limit, zero_ms=_first_ms(rows))
    show_log(_document(found, rows), drawn.waterfall, arguments)
    return EXIT_OK


def _document(found: LogFile, rows: LogRows) -> Document:
    marks: list[Document] = [
        {"id": hop.source, "hop": hop.index, "transactions": hop.transactions} for hop in rows.hops
    ]
    document = log_document(NETLOG_SCHEMA, found.browser, rows.waterfall, marks)
    left_out = len(found.log.hops) - len(rows.hops)
    more = (f"{left_out} more requests are in the file: --limit says how many are told.",) if left_out else ()
    return document | {"zero": zero_part(found.log.zero_ms, found.zero_at), "warnings": [*found.warnings, *more]}


def _first_ms(rows: LogRows) -> int:
    """The earliest instant of any row: what was dialled ahead of the first request lies before its zero."""
    spans = (span for row in rows.waterfall.requests for span in (row.timing.dns, row.timing.connect, row.timing.tls))
    starts = [row.timing.start_us for row in rows.waterfall.requests] + [span.start_us for span in spans if span]
    return rows.zero_ms + min(starts, default=0) // 1000
