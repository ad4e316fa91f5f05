"""Listens to a page's workers and service workers: DevTools tells of their requests only to who is attached to them.

Without it the end of a worker's own script is never seen, and a page with a worker would never be at rest. A worker
waits until it is told to go on, which it is at once (Playwright's driver makes it wait in any case).
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from playwright.async_api import CDPSession, Error

from workers.browser.hearing import hear
from workers.browser.recorder import EVENTS, MAX_URL_CHARS, SOCKET_MADE, WORKER_BEGAN

Json = dict[str, Any]
Take = Callable[[str, Json], None]

# Playwright's sessions cannot have children, so messages for a worker are packed into messages for its owner. A page
# session does not see shared workers: what those ask for is known from the network log alone.
_ATTACH: Json = {
    "autoAttach": True,
    "waitForDebuggerOnStart": True,
    "flatten": False,
    "filter": [{"type": "worker"}, {"type": "service_worker"}],
}
_RECEIVED = "Target.receivedMessageFromTarget"
_MAX_DEPTH = 4
_MAX_MESSAGE_CHARS = 1024 * 1024
# Beyond these nobody is told whose a WebSocket is.
_MAX_WORKERS = 1_000


class Workers:
    """`take` is called for each worker, and for each of the recorder's network events of it or of its own workers. What
    makes a WebSocket says neither whose it is nor when it was: such events get the `worker` that made it.
    """

    def __init__(self, cdp: CDPSession, take: Take) -> None:
        self._cdp = cdp
        self._take = take
        self._number = 0
        self._sending: set[asyncio.Task[None]] = set()
        self._known: dict[str, Json] = {}

    async def start(self) -> None:
        """From now on."""
        hear(self._cdp, WORKER_BEGAN, lambda params: self._hear((), {"method": WORKER_BEGAN, "params": params}))
        hear(self._cdp, _RECEIVED, lambda params: self._hear((), {"method": _RECEIVED, "params": params}))
        await self._cdp.send("Target.setAutoAttach", _ATTACH)

    def _hear(self, path: tuple[str, ...], message: Json) -> None:
        method, params = message.get("method"), message.get("params") or {}
        session = params.get("sessionId")
        if method == WORKER_BEGAN and isinstance(session, str):
            self._announce(session, params)
            self._welcome((*path, session))
        elif method == _RECEIVED and isinstance(session, str):
            inner = _parse(params.get("message"))
            if inner is not None and len(path) < _MAX_DEPTH:
                self._hear((*path, session), inner)
        elif path and method in EVENTS and str(method).startswith("Network."):
            asker = {"worker": self._known.get(path[-1])} if method == SOCKET_MADE else {}
            self._take(str(method), params | asker)

    def _announce(self, session: str, params: Json) -> None:
        """So that it can be told who asked."""
        target = params.get("targetInfo") or {}
        told = {"type": target.get("type"), "url": str(target.get("url", ""))[:MAX_URL_CHARS]}
        if len(self._known) < _MAX_WORKERS:
            self._known[session] = told
        self._take(WORKER_BEGAN, {"targetInfo": told})

    def _welcome(self, path: tuple[str, ...]) -> None:
        if len(path) < _MAX_DEPTH:
            self._send(path, "Network.enable", {"maxPostDataSize": 0})
            self._send(path, "Target.setAutoAttach", _ATTACH)
        self._send(path, "Runtime.runIfWaitingForDebugger", {})

    def _send(self, path: tuple[str, ...], method: str, params: Json) -> None:
        self._number += 1
        packed = {"id": self._number, "method": method, "params": params}
        for session in reversed(path[1:]):
            inner = {"sessionId": session, "message": json.dumps(packed)}
            packed = {"id": self._number, "method": "Target.sendMessageToTarget", "params": inner}
        task = asyncio.get_running_loop().create_task(self._deliver(path[0], json.dumps(packed)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _deliver(self, session: str, message: str) -> None:
        try:
            await self._cdp.send("Target.sendMessageToTarget", {"sessionId": session, "message": message})
        except Error:
            # The worker has ended, or its page has.
            return


def _parse(text: object) -> Json | None:
    if not isinstance(text, str) or len(text) > _MAX_MESSAGE_CHARS:
        return None
    try:
        message = json.loads(text)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
