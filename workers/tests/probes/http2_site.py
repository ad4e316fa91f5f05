"""Servers of HTTP/2 alone for tests of probes: one that answers, and ones that say what they like."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived

from workers.tests.servers import LOOPBACK, Peer, Script

Fields = dict[str, str]
SETTINGS = bytes.fromhex("000000040000000000")
# RFC 7301, 3.2: no_application_protocol.
REFUSAL = bytes.fromhex("15030300020278")
_FRAME_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is answered at a path, after so long."""

    body: bytes = b"hello"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    after_s: float = 0.0


@dataclass(slots=True)
class Site:
    """Pages by path. `asked` are the fields of all requests. After `most` answers of a connection it says good-bye;
    with `pings` it asks after each one whether the client is still there."""

    pages: Mapping[str, Page] = field(default_factory=lambda: {"/": Page()})
    most: int | None = None
    pings: bool = False
    asked: list[Fields] = field(default_factory=list)

    def talk(self, peer: Peer) -> None:
        h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        h2.initiate_connection()
        peer.send(h2.data_to_send())
        answered = 0
        while data := peer.sock.recv(65536):
            for event in h2.receive_data(data):
                if isinstance(event, RequestReceived):
                    answered += 1
                    self._answer(peer, h2, event)
                    if answered == self.most:
                        h2.close_connection(last_stream_id=event.stream_id)
            peer.send(h2.data_to_send())
            if answered == self.most:
                return

    def _answer(self, peer: Peer, h2: H2Connection, event: RequestReceived) -> None:
        fields = {str(name): str(value) for name, value in event.headers}
        stream = event.stream_id or 0
        self.asked.append(fields)
        page = self.pages[fields[":path"]]
        peer.send(h2.data_to_send())
        peer.pause(page.after_s)
        h2.send_headers(stream, [(":status", str(page.status)), *page.headers], end_stream=not page.body)
        for at in range(0, len(page.body), _FRAME_BYTES):
            part = page.body[at : at + _FRAME_BYTES]
            h2.send_data(stream, part, end_stream=at + _FRAME_BYTES >= len(page.body))
        if self.pings:
            h2.ping(b"anybody?")


def http2_context(context: ssl.SSLContext) -> ssl.SSLContext:
    """Agrees on nothing else; clients that offer something else are let in without an agreement."""
    context.set_alpn_protocols(["h2"])
    return context


def alone(talk: Script, otherwise: Script) -> Script:
    """The first for those who speak HTTP/2, the other for those who do not."""

    def script(peer: Peer) -> None:
        assert isinstance(peer.sock, ssl.SSLSocket)
        (talk if peer.sock.selected_alpn_protocol() == "h2" else otherwise)(peer)

    return script


def in_frames(peer: Peer) -> None:
    """HTTP/2 for one who spoke HTTP/1.1."""
    peer.read_request()
    peer.send(SETTINGS)
    peer.sock.recv(1)


def hanging_up(peer: Peer) -> None:
    peer.read_request()


@contextmanager
def refusing(port: int) -> Iterator[int]:
    """The port of a door before a server: those who do not offer h2 are told that nothing else is spoken."""
    gone = threading.Event()
    listener = socket.create_server((LOOPBACK, 0))
    listener.settimeout(0.1)

    def accept() -> None:
        while not gone.is_set():
            with suppress(TimeoutError):
                sock, _ = listener.accept()
                threading.Thread(target=_let_in, args=(sock, port), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        gone.set()
        thread.join()
        listener.close()


def _let_in(sock: socket.socket, port: int) -> None:
    sock.settimeout(120)
    with sock, suppress(OSError):
        hello = _record(sock)
        if b"\x02h2" not in hello:
            sock.sendall(REFUSAL)
            sock.recv(1)
            return
        with socket.create_connection((LOOPBACK, port), timeout=120) as inner:
            for one in (sock, inner):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            inner.sendall(hello)
            back = threading.Thread(target=_pass_on, args=(inner, sock), daemon=True)
            back.start()
            _pass_on(sock, inner)
            back.join()


def _record(sock: socket.socket) -> bytes:
    data = b""
    while len(data) < 5 or len(data) < 5 + int.from_bytes(data[3:5]):
        part = sock.recv(65536)
        if not part:
            break
        data += part
    return data


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def saying(data: Callable[[], Iterator[bytes]]) -> Script:
    """What comes after the settings, whatever is asked, until it is all said or the client has left."""

    def script(peer: Peer) -> None:
        peer.send(SETTINGS)
        peer.sock.recv(65536)
        for part in data():
            peer.send(part)
        peer.sock.recv(1)

    return script
