"""HTTP/3 for page shapes, by aioquic."""

import asyncio
from functools import partial
from pathlib import Path

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection, QuicConnectionError
from aioquic.quic.events import ProtocolNegotiated, QuicEvent
from aioquic.tls import SessionTicket

from workers.tests.shapes.answering import Asked, Fields, answer, reply_to
from workers.tests.shapes.site import Shape


class _Sink:
    def __init__(self, talk: "_Talk", http: H3Connection, stream: int) -> None:
        self._talk = talk
        self._http = http
        self._stream = stream

    async def hint(self, fields: Fields) -> None:
        await self.head(103, fields, None)

    async def head(self, status: int, fields: Fields, length: int | None) -> None:
        sized = fields if length is None else [*fields, ("content-length", str(length))]
        said = [(b":status", str(status).encode()), *((name.lower().encode(), value.encode()) for name, value in sized)]
        self._http.send_headers(self._stream, said)
        self._talk.transmit()

    async def data(self, data: bytes) -> None:
        self._http.send_data(self._stream, data, end_stream=False)
        self._talk.transmit()

    async def end(self) -> None:
        self._http.send_data(self._stream, b"", end_stream=True)
        self._talk.transmit()

    async def abort(self) -> None:
        self._talk.close()

    async def refuse(self, *, all_later: bool) -> None:
        """No shape asks for it."""
        self._talk.close()


class _Talk(QuicConnectionProtocol):
    def __init__(self, quic: QuicConnection, shape: Shape) -> None:
        super().__init__(quic)
        self._shape = shape
        self._http: H3Connection | None = None
        self._answers: set[asyncio.Task[None]] = set()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self._quic)
        if self._http is None:
            return
        for heard in self._http.handle_event(event):
            if isinstance(heard, HeadersReceived):
                fields = {name.decode(): value.decode() for name, value in heard.headers}
                task = asyncio.ensure_future(self._answer(self._http, heard.stream_id, fields))
                self._answers.add(task)
                task.add_done_callback(self._answers.discard)

    async def _answer(self, http: H3Connection, stream: int, fields: dict[str, str]) -> None:
        url = f"https://{fields[':authority']}{fields[':path']}"
        asked = Asked(method=fields[":method"], url=url, headers=fields)
        try:
            await answer(reply_to(self._shape, asked), asked, _Sink(self, http, stream))
        except QuicConnectionError:
            return


async def serve_http3(shape: Shape, address: str, chain: Path, key: Path) -> None:
    """UDP 443 of an address, from now on."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(chain, key)
    tickets: dict[bytes, SessionTicket] = {}
    await serve(
        address,
        443,
        configuration=configuration,
        create_protocol=lambda quic, stream_handler=None: _Talk(quic, shape),
        session_ticket_fetcher=tickets.get,
        session_ticket_handler=partial(_keep, tickets),
    )


def _keep(tickets: dict[bytes, SessionTicket], ticket: SessionTicket) -> None:
    tickets[ticket.ticket] = ticket
