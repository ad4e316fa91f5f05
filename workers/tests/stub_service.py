"""The service as a region sees it, small and real: HTTP on loopback, everything that came kept in lists."""

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID

from workers.measurement import routes, wire
from workers.measurement.messages import Heartbeat, HeartbeatReply, Progress, Receipts, ReceiptStatus, RunResult

TOKEN = "fb_agent_test"


class StubService:
    """`status` other than None is what every request gets;
    `skew` shifts its clock; `lost` is told to every heartbeat. A heartbeat lies unread for `slow_s`.
    """

    def __init__(self, port: int = 0) -> None:
        self.results: list[RunResult] = []
        self.heartbeats: list[Heartbeat] = []
        self.progress: list[Progress] = []
        self.pictures: dict[str, tuple[str, bytes]] = {}
        self.batches: list[int] = []
        self.seen: list[str] = []
        self.status: int | None = None
        self.refused_batches: frozenset[UUID] = frozenset()
        self.pictures_status: int | None = None
        self.skew = timedelta()
        self.slow_s = 0.0
        self.lost: tuple[UUID, ...] = ()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def arrived(self, run_id: UUID) -> list[object]:
        """What came of a run, each time that it came."""
        return [result.outcome for result in self.results if result.run_id == run_id]

    @contextmanager
    def running(self) -> Iterator["StubService"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def answer(self, path: str, body: bytes, content_type: str) -> tuple[int, bytes]:
        if path == routes.RESULTS_PATH:
            return self._take_results(gzip.decompress(body).splitlines())
        if path == routes.HEARTBEAT_PATH:
            self.heartbeats.append(wire.decode(body, Heartbeat))
            time.sleep(self.slow_s)
            return 200, wire.encode(HeartbeatReply(received_at=datetime.now(UTC) + self.skew, lost=self.lost))
        if path == routes.PROGRESS_PATH:
            self.progress.append(wire.decode(body, Progress))
            return 204, b""
        if self.pictures_status is not None:
            return self.pictures_status, b"not wanted"
        self.pictures[path] = (content_type, body)
        return 204, b""

    def _take_results(self, lines: list[bytes]) -> tuple[int, bytes]:
        results = [wire.decode(line, RunResult) for line in lines]
        if any(result.run_id in self.refused_batches for result in results):
            return 400, b"not understood"
        known = {result.run_id for result in self.results}
        self.batches.append(len(results))
        self.results += results
        return 200, wire.encode(
            Receipts(
                statuses=tuple(
                    ReceiptStatus.DUPLICATE if result.run_id in known else ReceiptStatus.STORED for result in results
                )
            )
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = False


def _handler(stub: StubService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 120

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            stub.seen.append(self.path)
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                status, answer = 401, b"unknown token"
            elif stub.status is not None:
                status, answer = stub.status, b"as the test wants it"
            else:
                status, answer = stub.answer(self.path, body, self.headers["Content-Type"])
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_PUT = do_POST  # noqa: N815 - the name is http.server's

        def log_message(self, format: str, *args: object) -> None:
            """A test's output is for the test."""

    return Handler
