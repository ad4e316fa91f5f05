"""`firstbyte page`: a page in Chromium on this machine, its waterfall, its files."""

import argparse
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime

from workers.browser.seen import PageRun
from workers.commands import EXIT_NOT_MEASURED
from workers.commands.measuring import (
    canvas_of,
    exit_code,
    request_of,
    tell,
)
from workers.commands.output import OutputError, say, write, write_json
from workers.commands.page_arguments import page_headers, page_options
from workers.commands.page_drawing import draw_page
from workers.commands.page_files import must_be_writable, netlog_file, write_file, write_filmstrip
from workers.commands.page_loader import loader_of
from workers.diagnosis.page.document import page_document
from workers.measurement.failure import FailureKind
from workers.measurement.har import About, har_document
from workers.measurement.messages import Failed, Kind, PageMeasurement
from workers.version import VERSION


def run(arguments: argparse.Namespace) -> int:
    """Measures, writes the files that were asked for, shows, and gives the exit code. Raises UsageError."""
    must_be_writable(arguments)
    options = page_options(arguments)
    headers = page_headers(arguments)
    request = replace(request_of(arguments, Kind.PAGE), profile=arguments.profile, page=options, headers=headers)
    started_at = datetime.now(UTC)
    with loader_of(request, arguments) as loader:
        loaded = loader.load(request, tell)
    outcome = loaded.outcome
    about = About(url=request.url, started_at=started_at, version=VERSION, redaction=arguments.redaction)
    try:
        _write_files(arguments, loaded, about)
        fault = None
    except OutputError as error:
        fault = error
    _tell_of_picture(arguments, loaded)
    if arguments.json:
        write_json(page_document(request.url, outcome))
    else:
        write("\n".join(draw_page(outcome, canvas_of(sys.stdout, everything=arguments.all))))
    if fault is None:
        return exit_code(outcome)
    say(f"firstbyte page: {fault}")
    return EXIT_NOT_MEASURED


def _write_files(arguments: argparse.Namespace, loaded: PageRun, about: About) -> None:
    if arguments.screenshot is not None and loaded.screenshot is not None:
        write_file("--screenshot", arguments.screenshot, loaded.screenshot)
    if arguments.har is not None:
        archive = har_document(loaded.outcome.measurement, about)
        write_file("--har", arguments.har, json.dumps(archive, ensure_ascii=False).encode())
    if arguments.netlog is not None and loaded.netlog is not None:
        page = loaded.outcome.measurement
        browser = page.browser_version if isinstance(page, PageMeasurement) else None
        write_file("--netlog", arguments.netlog, netlog_file(loaded.netlog, browser))
    if arguments.filmstrip is not None:
        write_filmstrip(arguments.filmstrip, loaded)


def _tell_of_picture(arguments: argparse.Namespace, loaded: PageRun) -> None:
    """How to see where a script stopped, or that it cannot be seen."""
    if not isinstance(loaded.outcome, Failed) or loaded.outcome.failure.kind is not FailureKind.STEP_FAILED:
        return
    if loaded.screenshot is None:
        say("There is no picture of where the script stopped: the page did not answer, or shows a secret.")
    elif arguments.screenshot is None:
        say("To see where the script stopped, add --screenshot FILE.")
    else:
        say(f"Where the script stopped is in {arguments.screenshot}.")
