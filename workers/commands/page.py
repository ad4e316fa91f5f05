"""`firstbyte page`: one page load in Chrome on this machine."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from workers.browser.pool import BrowserPool
from workers.browser.settings import BrowserSettings
from workers.commands import UsageError
from workers.commands.measuring import EVERY_PORT, allowed_of, request_of, show, tell
from workers.diagnosis.page_document import page_document
from workers.measurement.messages import Kind
from workers.shaped_pages import ShapedLoader


def run(arguments: argparse.Namespace) -> int:
    """Measures, shows, writes the screenshot, and gives the exit code. Raises UsageError."""
    request = replace(request_of(arguments, Kind.PAGE), profile=arguments.profile)
    chromium = os.environ.get("FIRSTBYTE_CHROMIUM")
    settings = BrowserSettings(
        chromium=Path(chromium) if chromium else None,
        allow_unsandboxed=os.environ.get("FIRSTBYTE_ALLOW_UNSANDBOXED") == "1",
        allowed=allowed_of(arguments),
        extra_ports=EVERY_PORT,
        ca_file=arguments.cacert,
    )
    with ShapedLoader(settings) if request.profile.shapes else BrowserPool(settings) as loader:
        loaded = loader.load(request, tell)
    if arguments.screenshot is not None and loaded.screenshot is not None:
        try:
            arguments.screenshot.write_bytes(loaded.screenshot)
        except OSError as error:
            raise UsageError(f"--screenshot: {error}") from error
    return show(loaded.outcome, page_document(request.url, loaded.outcome), as_json=arguments.json)
