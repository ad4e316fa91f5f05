"""A QUIC server that a test makes say what it likes, at 127.0.0.1 and a port that the kernel chose."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ProtocolNegotiated, QuicEvent, StreamDataReceived
from aioquic.tls import SessionTicket

from workers.tests.ports import free_port
from workers.tests.servers import LOOPBACK, Authority

Conduct = Callable[["Talk"], None]


class Talk(QuicConnectionProtocol):
    """One client. The conduct is called once its request was read."""

    def __init__(self, quic: QuicConnection, conduct: Conduct, *, raw: bool) -> None:
        super().__init__(quic)
        self.quic = quic
        self.http: H3Connection | None = None
        self.request: dict[str, str] = {}
        self._conduct = conduct
        self._raw = raw

    def quic_event_received(self, event: QuicEvent) -> None:
        if self._raw:
            if isinstance(event, StreamDataReceived) and event.stream_id == 0 and event.end_stream:
                self._conduct(self)
            return
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self.quic)
        for heard in [] if self.http is None else self.http.handle_event(event):
            if isinstance(heard, HeadersReceived):
                self.request = {name.decode(): value.decode() for name, value in heard.headers}
                self._conduct(self)

    def head(self, status: str = "200", *headers: tuple[str, str], end: bool = False) -> None:
        assert self.http is not None
        fields = [(name.encode(), value.encode()) for name, value in ((":status", status), *headers)]
        self.http.send_headers(0, fields, end_stream=end)
        self.transmit()

    def body(self, data: bytes, *, end: bool = True) -> None:
        assert self.http is not None
        self.http.send_data(0, data, end_stream=end)
        self.transmit()

    def say(self, data: bytes, *, stream: int = 0, end: bool = False) -> None:
        """Bytes on a stream, whatever they mean."""
        self.quic.send_stream_data(stream, data, end)
        self.transmit()

    def later(self, after_s: float, what: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(after_s, what)


def answering(body: bytes = b"hello", *headers: tuple[str, str]) -> Conduct:
    def conduct(talk: Talk) -> None:
        talk.head("200", *headers)
        talk.body(body)

    return conduct


@contextmanager
def http3_server(
    conduct: Conduct,
    authority: Authority,
    directory: Path,
    *names: str,
    protocol: str = "h3",
    retry: bool = False,
    raw: bool = False,
    early_data: bool = False,
) -> Iterator[int]:
    """The port of a server with a leaf for the names. `raw`: it says only what the conduct says."""
    leaf = authority.ca.issue_cert(*(names or (LOOPBACK, "localhost")))
    chain, key = directory / "h3.pem", directory / "h3.key"
    leaf.private_key_pem.write_to_path(str(key))
    chain.write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))
    configuration = QuicConfiguration(is_client=False, alpn_protocols=[protocol])
    configuration.load_cert_chain(chain, key)
    tickets: dict[bytes, SessionTicket] = {}
    sessions: dict[str, Any] = {}
    if early_data:
        sessions = {"session_ticket_fetcher": tickets.get, "session_ticket_handler": _keeping(tickets)}
    loop = asyncio.new_event_loop()
    # aioquic cannot tell which port the kernel chose, so it is chosen before.
    port = free_port()
    server = loop.run_until_complete(
        serve(
            LOOPBACK,
            port,
            configuration=configuration,
            create_protocol=lambda quic, stream_handler=None: Talk(quic, conduct, raw=raw),
            retry=retry,
            **sessions,
        )
    )
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def _keeping(tickets: dict[bytes, SessionTicket]) -> Callable[[SessionTicket], None]:
    def keep(ticket: SessionTicket) -> None:
        tickets[ticket.ticket] = ticket

    return keep
