"""What commands load pages with: Chromium on this machine, in a network of a profile's where one is asked for."""

import argparse
import os
from pathlib import Path

from workers.browser.pool import BrowserPool
from workers.browser.settings import BrowserSettings
from workers.commands.measuring import allowed_of
from workers.measurement.messages import RunRequest
from workers.measurement.target import EVERY_PORT
from workers.shaped_pages import ShapedLoader


def loader_of(request: RunRequest, arguments: argparse.Namespace) -> BrowserPool | ShapedLoader:
    """To be closed. Raises UsageError for ranges that are none."""
    chromium = os.environ.get("FIRSTBYTE_CHROMIUM")
    settings = BrowserSettings(
        chromium=Path(chromium) if chromium else None,
        allow_unsandboxed=os.environ.get("FIRSTBYTE_ALLOW_UNSANDBOXED") == "1",
        allowed=allowed_of(arguments),
        extra_ports=EVERY_PORT,
        ca_file=arguments.cacert,
    )
    return ShapedLoader(settings) if request.profile.shapes else BrowserPool(settings)
