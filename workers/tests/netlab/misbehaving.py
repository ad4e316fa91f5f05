"""A small web server that misbehaves on the wire exactly as its `Conduct` says."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle

from OpenSSL import SSL

from workers.tests.netlab.chains import Chain
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.listening import Listening
from workers.tests.netlab.over_http2 import Answer, answer_over_http2
from workers.tests.netlab.wire_side import GoneError, Instead, PlainSide, TlsSide, Wire, make_context

_END_OF_HEAD = b"\r\n\r\n"
_LONGEST_HEAD_BYTES = 65536


class MisbehavingServer(Listening):
    """Serves a listening socket from a thread per connection until its `with` block ends. Plain without a chain.

    Sessions that it gives can be continued with those whose `keys` it has, and with none else.
    """

    def __init__(
        self,
        listener: socket.socket,
        conduct: Conduct,
        chain: Chain | None = None,
        *,
        keys: "MisbehavingServer | None" = None,
    ) -> None:
        super().__init__(listener)
        self._conduct = conduct
        self._contexts: dict[int, SSL.Context] = self._make_contexts(chain) if keys is None else keys._contexts
        self._instead = None if chain is None else _compressing(chain, conduct)
        self._thinks = cycle(conduct.think_s)
        self._lock = threading.Lock()

    def _make_contexts(self, chain: Chain | None) -> dict[int, SSL.Context]:
        if chain is None:
            return {}
        files = str(chain.chain_file), str(chain.key_file)
        return {node: make_context(self._conduct, *files) for node in sorted(set(self._conduct.nodes))}

    def serve(self, sock: socket.socket, number: int) -> None:
        node = self._conduct.nodes[number % len(self._conduct.nodes)]
        # Clients that leave, and handshakes that fail, are what half of the lab is about.
        with sock, suppress(OSError, SSL.Error):
            wire = Wire(sock, self.closing)
            side = self._side(wire, node)
            if side.protocol and side.protocol == self._conduct.garbage_over:
                side.write(b"\xff" * 100)
                wire.be_silent()
            if side.protocol == "h2":
                answer_over_http2(side, self._next_answer)
            self._answer_all(side)

    def _next_answer(self) -> Answer:
        last = not self._conduct.keep_alive or self._conduct.closes_http2
        head, body = conduct_answer(self._conduct, last=last)
        with self._lock:
            think_s = next(self._thinks)
        return Answer(head=head, body=body, think_s=think_s, last=last)

    def _side(self, wire: Wire, node: int) -> PlainSide | TlsSide:
        if self._contexts:
            return TlsSide(wire, self._contexts[node], self._conduct, self._instead)
        return PlainSide(wire, self._conduct)

    def _answer_all(self, side: PlainSide | TlsSide) -> None:
        for number, request in enumerate(requests(side), start=1):
            last = not self._conduct.keep_alive or number == self._conduct.most_requests
            self._answer(side, last=last)
            if last or b"\r\nconnection: close" in request.lower():
                break
        if self._conduct.says_goodbye:
            side.finish()
        with suppress(GoneError):
            # Close in good manners: what the client still says is read rather than answered with RST.
            side.wire.write_end()
            side.wire.be_silent()

    def _answer(self, side: PlainSide | TlsSide, *, last: bool) -> None:
        conduct = self._conduct
        head, body = conduct_answer(conduct, last=last)
        with self._lock:
            think_s = next(self._thinks)
        if conduct.head_flushed:
            side.write(head, body[: conduct.flushed_bytes])
            side.wire.pause(think_s)
            side.write(body[conduct.flushed_bytes :])
            return
        side.wire.pause(think_s)
        if conduct.head_apart:
            side.write(head)
            side.write(body)
        elif conduct.body_stall is not None:
            side.write(head, body[: conduct.body_stall.after_bytes])
            side.wire.pause(conduct.body_stall.pause_s)
            side.write(body[conduct.body_stall.after_bytes :])
        elif conduct.trickle is not None:
            side.write(head)
            for at in range(0, len(body), conduct.trickle.after_bytes):
                side.wire.pause(conduct.trickle.pause_s)
                side.write(body[at : at + conduct.trickle.after_bytes])
        else:
            side.write(head + body)


def _compressing(chain: Chain, conduct: Conduct) -> Instead | None:
    """A third TLS takes its time to be imported, and few need it."""
    if conduct.compresses_certificates is None:
        return None
    from workers.tests.netlab.compressing import Compressing  # noqa: PLC0415

    return Compressing(chain, conduct.compresses_certificates, spoils=conduct.spoils_certificates)


def conduct_answer(conduct: Conduct, *, last: bool) -> tuple[bytes, bytes]:
    """Head and body of the answer to every request. With the last one the connection ends."""
    body = b"" if conduct.redirect_to else page(conduct.body_bytes)
    lines = [
        "HTTP/1.1 200 OK" if conduct.redirect_to is None else "HTTP/1.1 301 Moved Permanently",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        f"Connection: {'close' if last else 'keep-alive'}",
        *([f"Location: {conduct.redirect_to}"] if conduct.redirect_to else []),
        *conduct.headers,
    ]
    return "\r\n".join(lines).encode("ascii") + _END_OF_HEAD, body


def page(size_bytes: int) -> bytes:
    """A document of exactly that size."""
    start, end = b"<!doctype html><title>A page of the lab</title><p>", b"</p>"
    filling = b"words of no meaning, " * (size_bytes // 20 + 1)
    return start + filling[: size_bytes - len(start) - len(end)] + end


def requests(side: PlainSide | TlsSide) -> Iterator[bytes]:
    """The heads of requests, until the client leaves."""
    data = b""
    while len(data) < _LONGEST_HEAD_BYTES:
        head, ended, rest = data.partition(_END_OF_HEAD)
        if ended:
            data = rest
            yield head
            continue
        try:
            data += side.read()
        except GoneError:
            return
