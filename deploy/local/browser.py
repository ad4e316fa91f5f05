"""The browser that draws our own pages: for pictures of them, and for what drawing them costs."""

import os

from playwright.sync_api import Browser, Playwright

_CHROMIUM = "/usr/lib/chromium/chromium-headless-shell"


def launch(playwright: Playwright) -> Browser:
    """Root has no sandbox."""
    return playwright.chromium.launch(executable_path=_CHROMIUM, chromium_sandbox=os.geteuid() != 0)
