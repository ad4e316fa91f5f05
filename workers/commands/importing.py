"""`firstbyte import`: page loads out of files of other tools, into the service or onto the screen."""

import argparse
import gzip
import sys
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from workers.commands import EXIT_NOT_MEASURED, EXIT_OK, UsageError
from workers.commands.measuring import canvas_of
from workers.commands.output import say, write, write_json
from workers.commands.page_drawing import draw_page
from workers.commands.pipeline_api import Api, RefusedError, UnreachableError, api_of
from workers.commands.unreadable import unreadable
from workers.diagnosis.diagnosed import diagnosed_page
from workers.diagnosis.page.document import page_document
from workers.measurement.canvas import fit
from workers.measurement.imports.imported import Imported
from workers.measurement.imports.read import UnreadableFileError, read_import
from workers.measurement.imports.slim import slimmed
from workers.measurement.imports.source import MAX_BYTES
from workers.measurement.messages import Failed, Measured, PageMeasurement

# Label, summary and legend.
_LINES_AROUND = 6
IMPORT_SCHEMA = "firstbyte.import/1"


def run(arguments: argparse.Namespace) -> int:
    """Reads the file, keeps or draws what is in it, and gives the exit code. Raises UsageError."""
    content = _content(arguments)
    try:
        found = read_import(content)
    except UnreadableFileError as error:
        raise UsageError(f"{arguments.file}: {error}") from error
    if arguments.local or not arguments.url:
        return _show(found, arguments)
    return _upload(api_of(arguments.url, arguments.token, arguments.cacert), slimmed(content), arguments)


def _content(arguments: argparse.Namespace) -> bytes:
    try:
        if str(arguments.file) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with arguments.file.open("rb") as file:
            content: bytes = file.read(MAX_BYTES + 1)
            return content
    except OSError as error:
        raise UsageError(unreadable("import", arguments.file, error)) from error


def _upload(api: Api, content: bytes, arguments: argparse.Namespace) -> int:
    query = {"name": arguments.file.name[:200], **({"site": arguments.site} if arguments.site else {})}
    try:
        # A file may have a name that is no text.
        kept = api.post_file(f"imports?{urlencode(query, errors='replace')}", gzip.compress(content, 6))
    except RefusedError as error:
        if error.is_usage:
            raise UsageError(str(error)) from error
        say(f"firstbyte import: {error}")
        return EXIT_NOT_MEASURED
    except UnreachableError as error:
        say(f"firstbyte import: {error}")
        return EXIT_NOT_MEASURED
    if arguments.json:
        write_json(kept)
    else:
        write(_places(kept, arguments.url))
    return EXIT_OK


def _places(kept: dict[str, Any], service: str) -> str:
    lines = [f"{service.rstrip('/')}{one['page']}  {one['label']}" for one in kept["imports"]]
    return "\n".join([*lines, *_remarks(kept["skipped"], kept["remarks"])])


def _show(found: Imported, arguments: argparse.Namespace) -> int:
    """Each page load in a screen of its own."""
    if arguments.json:
        write_json(import_document(found))
        return EXIT_OK
    canvas = canvas_of(sys.stdout, everything=arguments.all)
    if canvas.rows is not None:
        canvas = replace(canvas, rows=max(5, canvas.rows - _LINES_AROUND))
    for page in found.pages:
        write("\n".join([fit(page.label, canvas.columns), *draw_page(_judged(page.measurement), canvas), ""]))
    for remark in _remarks(found.skipped, found.remarks):
        say(remark)
    return EXIT_OK


def _remarks(skipped: int, remarks: list[str] | tuple[str, ...]) -> list[str]:
    counted = [f"{skipped:,} of the file's requests could not be read:"] if skipped else []
    return [*counted, *(f"  {remark}" for remark in remarks)]


def _judged(page: PageMeasurement) -> Measured | Failed:
    return diagnosed_page(Measured(measurement=page))


def import_document(found: Imported) -> dict[str, Any]:
    """What a file brought, each page load as `firstbyte page` tells one."""
    source = found.source
    return {
        "schema": IMPORT_SCHEMA,
        "source": {"format": source.format, "tool": source.tool, "tool_version": source.tool_version},
        "pages": [
            {
                **page_document(page.url, _judged(page.measurement)),
                "label": page.label,
                "started_at": page.started_at.isoformat(),
            }
            for page in found.pages
        ],
        "skipped": found.skipped,
        "remarks": list(found.remarks),
    }
