"""Adds a monitor's request headers to requests for the page's own origin, and to no others.

DevTools' "extra headers" go to every host, so a secret would reach third parties. Instead the requests for one origin
are paused on their way and go on with the headers; Chrome drops such headers itself when a redirect leaves the
origin. This does not turn the cache off, but each such request waits for us: a run with headers says so in its
warnings.
"""

import asyncio
import base64
from typing import Any

from playwright.async_api import CDPSession, Error

from workers.measurement.connection import Header
from workers.measurement.messages import RunRequest
from workers.measurement.target import Ports, parse_target

WARNING = "Requests to the page's own origin were paused to add request headers: each starts some milliseconds late."


def own_headers(request: RunRequest) -> tuple[Header, ...]:
    """The monitor's headers, and its login, which is sent unasked: a question first would cost a round trip more.

    Playwright would answer such questions itself, but pauses every request for it and turns the cache off.
    """
    login = request.page.login
    if login is None:
        return request.headers
    pair = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
    kept = tuple(header for header in request.headers if header.name.lower() != "authorization")
    return (*kept, Header(name="Authorization", value=f"Basic {pair}"))


class OwnHeaders:
    """Keep it as long as the page: it answers for every paused request."""

    def __init__(self, cdp: CDPSession, headers: tuple[Header, ...]) -> None:
        self._cdp = cdp
        self._headers = headers
        self._names = {header.name.lower() for header in headers}
        self._answers: set[asyncio.Task[None]] = set()

    async def start(self, url: str, extra_ports: Ports) -> None:
        """From now on requests for the origin of `url` carry the headers."""
        target = parse_target(url, extra_ports=extra_ports)
        self._cdp.on("Fetch.requestPaused", self._paused)
        pattern = {"urlPattern": f"{target.scheme}://{target.authority}/*", "requestStage": "Request"}
        await self._cdp.send("Fetch.enable", {"patterns": [pattern]})

    def _paused(self, params: dict[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._continue(params))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _continue(self, params: dict[str, Any]) -> None:
        sent = params.get("request", {}).get("headers", {})
        kept = [{"name": name, "value": value} for name, value in sent.items() if name.lower() not in self._names]
        added = [{"name": header.name, "value": header.value} for header in self._headers]
        try:
            await self._cdp.send("Fetch.continueRequest", {"requestId": params["requestId"], "headers": kept + added})
        except Error:
            # The page went away while the request was waiting: nobody needs the answer.
            return
