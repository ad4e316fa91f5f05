"""A visitor who comes back: two browsers, one after the other, that share one profile directory and nothing else.

The second finds what a disk keeps (the cache, compiled scripts, cookies, storage, HSTS and who offers HTTP/3) and
nothing of what memory holds: no connection, no TLS session, no address of a host. No command of DevTools closes the
connections of a context or forgets its names, so a browser that ends is the honest way.
"""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from workers.browser.capture import Tell
from workers.browser.session import Home, Session
from workers.browser.steps import Carried
from workers.browser.views import Load, may_repeat
from workers.browser.workspace import PREFIX
from workers.measurement.messages import RunRequest

# Starts a browser at home in a profile directory.
Start = Callable[[Home], Awaitable[Session]]


async def load_and_return(start: Start, request: RunRequest, carried: Carried | None, tell: Tell) -> Load:
    """A cold view, and one with what it left on the disk. Raises BrowserError when a browser was lost."""
    profile = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-profile-"))
    home = Home(profile=profile, request=request)
    try:
        async with _living(start, home) as first:
            load = await first.load(request, carried, tell)
            # In an orderly way, so that all it has to keep is on the disk.
            sound = not load.sound or await first.tidy()
        if not sound or not may_repeat(load.first):
            return load
        async with _living(start, home) as second:
            # What the steps left is in the profile.
            again = await second.load(request, None, tell)
        return replace(load, repeat=again.first)
    finally:
        shutil.rmtree(profile, ignore_errors=True)


@asynccontextmanager
async def _living(start: Start, home: Home) -> AsyncIterator[Session]:
    session = await start(home)
    try:
        yield session
    finally:
        await session.close()
