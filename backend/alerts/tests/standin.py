"""A real HTTP server that answers as Slack and webhook receivers do, and remembers what it was told."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backend.outbound import Outbound
from workers.measurement.addresses import parse_networks
from workers.tests.servers import Peer, Server, finish, response

OK = response(b"ok")
INVALID_PAYLOAD = response(b"invalid_payload", status="400 Bad Request")
NO_SERVICE = response(b"no_service", status="404 Not Found")
ARCHIVED = response(b"channel_is_archived", status="410 Gone")
FAULT = response(b"rollup_error", status="500 Internal Server Error")


def limited(retry_after: str) -> bytes:
    return response(b"rate_limited", status="429 Too Many Requests", headers=(f"Retry-After: {retry_after}",))


@dataclass(frozen=True, slots=True)
class Call:
    """One request that came in."""

    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def header(self) -> str:
        """The text of a Slack message's header, without its mark."""
        return str(self.body["blocks"][0]["text"]["text"][2:])


class StandIn:
    """Gives `plan`'s answers in turn, then the last one for ever; None hangs up without a word."""

    def __init__(self, *plan: bytes | None, before_answer: Callable[[Call], object] | None = None) -> None:
        self.calls: list[Call] = []
        self.plan = list(plan or (OK,))
        self._before_answer = before_answer
        self._server = Server(self._answer)
        self.url = self._server.url("/services/T0/B0/secret-part")

    def __enter__(self) -> "StandIn":
        self._server.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._server.__exit__(*exception)

    @property
    def origin(self) -> str:
        return self._server.url("")

    def _answer(self, peer: Peer) -> None:
        call = _read(peer)
        if call is None:
            return
        self.calls.append(call)
        if self._before_answer is not None:
            self._before_answer(call)
        answer = self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]
        if answer is not None:
            peer.send(answer)
            finish(peer)


def _read(peer: Peer) -> Call | None:
    """None when the client left before it had said all: its time was up."""
    data = peer.read_request()
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return None
    lines = head.decode().split("\r\n")[1:]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers["content-length"]):
        part = peer.sock.recv(65536)
        if not part:
            return None
        body += part
    return Call(headers, body)


def loopback(timeout_s: float = 60.0) -> Outbound:
    """A client that may call this machine."""
    return Outbound(
        allowed=parse_networks("127.0.0.0/8"), extra_ports=frozenset(range(1024, 65536)), timeout_s=timeout_s
    )
