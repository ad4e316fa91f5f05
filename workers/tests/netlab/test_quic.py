"""The QUIC server of the lab answers over HTTP/3."""

import asyncio
import ssl
from pathlib import Path

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.quic import QuicServer
from workers.tests.ports import free_port

NAME = "www.lab.test"


class Visitor(QuicConnectionProtocol):
    """Asks once and keeps what comes."""

    def begin(self) -> None:
        self.http = H3Connection(self._quic)
        self.answer: asyncio.Future[list[H3Event]] = self._loop.create_future()
        self.events: list[H3Event] = []
        stream = self._quic.get_next_available_stream_id()
        asked = {":method": "GET", ":scheme": "https", ":authority": NAME, ":path": "/"}
        self.http.send_headers(stream, [(a.encode(), b.encode()) for a, b in asked.items()], end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        if hasattr(self, "http"):
            self.events += self.http.handle_event(event)
            if any(isinstance(one, DataReceived) and one.stream_ended for one in self.events):
                self.answer.set_result(self.events)


async def visit(port: int, ca_file: Path) -> list[H3Event]:
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, server_name=NAME, verify_mode=ssl.CERT_REQUIRED)
    configuration.load_verify_locations(str(ca_file))
    async with connect("127.0.0.1", port, configuration=configuration, create_protocol=Visitor) as visitor:
        assert isinstance(visitor, Visitor)
        visitor.begin()
        return await asyncio.wait_for(visitor.answer, 60)


def test_a_page_comes_over_http3(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    port = free_port()
    with QuicServer("127.0.0.1", port, vault.chain(Recipe(names=(NAME,), size_bytes=5500))):
        events = asyncio.run(visit(port, vault.ca_file))
    heads = [dict(event.headers) for event in events if isinstance(event, HeadersReceived)]
    assert heads[0][b":status"] == b"200"
    assert sum(len(event.data) for event in events if isinstance(event, DataReceived)) == 4000
