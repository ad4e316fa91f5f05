"""A workspace that answers as Slack's Web API does, and keeps what stands in its channel."""

import json
from dataclasses import dataclass, field
from typing import Any

from workers.tests.servers import Peer, Server, finish, response

TOKEN, CONVERSATION, SIGNING_SECRET = "xoxb-1234567890-abcdef", "C0123ABCDEF", "0123456789abcdef" * 2
CONFIG = {"token": TOKEN, "conversation": CONVERSATION, "signing_secret": SIGNING_SECRET}


@dataclass(slots=True)
class Written:
    """A message in the channel. `thread_ts` is that of the message it replies to; `changes` are its earlier texts."""

    ts: str
    body: dict[str, Any]
    thread_ts: str | None = None
    changes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Without its mark."""
        return str(self.body["text"])[2:]

    @property
    def buttons(self) -> list[dict[str, Any]]:
        return [one for block in self.body.get("blocks", ()) if block["type"] == "actions" for one in block["elements"]]


class Workspace:
    """`faults` are answered first, each to one call of its method: a word of Slack's, or a whole answer."""

    def __init__(self, **faults: list[str | bytes]) -> None:
        self.written: list[Written] = []
        self.calls: list[str] = []
        self.faults = faults
        self._server = Server(self._answer)

    def __enter__(self) -> "Workspace":
        self._server.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._server.__exit__(*exception)

    @property
    def api(self) -> str:
        return self._server.url("/api")

    def firsts(self) -> list[Written]:
        """What stands in the channel itself."""
        return [one for one in self.written if one.thread_ts is None]

    def replies(self, first: Written) -> list[Written]:
        return [one for one in self.written if one.thread_ts == first.ts]

    def _answer(self, peer: Peer) -> None:
        head, _, body = peer.read_request().partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        method = lines[0].split()[1].removeprefix("/api/chat.")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        while len(body) < int(headers["content-length"]):
            body += peer.sock.recv(65536)
        self.calls.append(method)
        planned = self.faults.get(method, [])
        fault = planned.pop(0) if planned else None
        if isinstance(fault, bytes):
            peer.send(fault)
        else:
            told = {"ok": False, "error": fault} if fault else self._told(method, headers, json.loads(body))
            peer.send(response(json.dumps(told).encode()))
        finish(peer)

    def _told(self, method: str, headers: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return {"ok": False, "error": "invalid_auth"}
        if body["channel"] != CONVERSATION:
            return {"ok": False, "error": "channel_not_found"}
        known = {one.ts: one for one in self.written}
        if method == "update":
            if body["ts"] not in known:
                return {"ok": False, "error": "message_not_found"}
            first = known[body["ts"]]
            first.changes.append(first.text)
            first.body = body
            return {"ok": True, "channel": CONVERSATION, "ts": first.ts}
        if "thread_ts" in body and body["thread_ts"] not in known:
            return {"ok": False, "error": "thread_not_found"}
        ts = f"1764500000.{len(self.calls):06}"
        self.written.append(Written(ts=ts, body=body, thread_ts=body.get("thread_ts")))
        return {"ok": True, "channel": CONVERSATION, "ts": self.written[-1].ts, "message": body}
