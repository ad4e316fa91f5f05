"""HTTP/3 by aioquic, whose first flight may be too long for what a server may send before it knows the client."""

import asyncio
import ssl
import threading
from types import TracebackType
from typing import Self

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent

from workers.tests.netlab.chains import Chain
from workers.tests.netlab.misbehaving import page

_START_S = 60.0


class _Answering(QuicConnectionProtocol):
    """Answers every request with the same page."""

    http: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for happening in self.http.handle_event(event):
            if isinstance(happening, HeadersReceived):
                self._answer(self.http, happening.stream_id)

    def _answer(self, http: H3Connection, stream: int) -> None:
        body = page(4000)
        headers = {":status": "200", "content-type": "text/html", "content-length": str(len(body))}
        http.send_headers(stream, [(name.encode(), value.encode()) for name, value in headers.items()])
        http.send_data(stream, body, end_stream=True)
        self.transmit()


class QuicServer:
    """Serves an address over QUIC from a thread of its own until its `with` block ends."""

    def __init__(self, address: str, port: int, chain: Chain) -> None:
        self._where = (address, port)
        self._configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
        self._configuration.load_cert_chain(chain.chain_file, chain.key_file)
        self._configuration.verify_mode = ssl.CERT_NONE
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(_START_S):
            raise TimeoutError("the QUIC server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        address, port = self._where
        serving = serve(address, port, configuration=self._configuration, create_protocol=_Answering)
        server = self._loop.run_until_complete(serving)
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
