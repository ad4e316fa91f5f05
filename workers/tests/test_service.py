"""The HTTP client against a real server: what it sends, and how it names what goes wrong."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from uuid import UUID

import pytest

from workers.measurement import wire
from workers.measurement.messages import Heartbeat, Progress, ProgressStage, ReceiptStatus
from workers.measurement.routes import PictureKind
from workers.service import AbsentError, RefusedError, Service, ServiceError, UnauthorisedError, UnavailableError
from workers.tests.builders import build_result
from workers.tests.ports import closed_port
from workers.tests.stub_service import TOKEN, StubService

LINES = [wire.encode(build_result(run_id=UUID(int=number))) for number in range(3)]


def client(service: StubService, token: str = TOKEN) -> Service:
    return Service(service.url, token)


@contextmanager
def answering(raw: bytes) -> Iterator[Service]:
    """A server that answers anything with these bytes and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            # What is read in part is reset at the end, and who asked may hang up in the middle of the answer.
            with server.accept()[0] as connection, suppress(ConnectionError):
                connection.settimeout(60)
                _read_request(connection)
                connection.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Service(f"http://127.0.0.1:{server.getsockname()[1]}", TOKEN)
        finally:
            thread.join()


def _read_request(connection: socket.socket) -> None:
    with connection.makefile("rb") as stream:
        size = 0
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        stream.read(size)


def test_results_travel_compressed_and_come_back_as_receipts(service: StubService) -> None:
    receipts = client(service).post_results(LINES)
    assert receipts.statuses == (ReceiptStatus.STORED,) * 3
    assert [result.run_id.int for result in service.results] == [0, 1, 2]
    assert client(service).post_results(LINES[:1]).statuses == (ReceiptStatus.DUPLICATE,)


def test_no_results_at_all_still_prove_the_token(service: StubService) -> None:
    assert client(service).post_results([]).statuses == ()
    with pytest.raises(UnauthorisedError):
        client(service, "another").post_results([])


def test_a_heartbeat_brings_back_the_services_clock(service: StubService) -> None:
    beat = Heartbeat(agent="eu-1", agent_version="1", sent_at=datetime.now(UTC), holding=(UUID(int=1),))
    reply = client(service).heartbeat(beat)
    assert service.heartbeats == [beat]
    assert beat.sent_at <= reply.received_at <= datetime.now(UTC)


def test_progress_and_pictures_need_no_answer(service: StubService) -> None:
    progress = Progress(run_id=UUID(int=1), stage=ProgressStage.LOADING, requests=3)
    client(service).progress(progress)
    client(service).put_picture(UUID(int=1), PictureKind.FILM, b"RIFF\x00\x00\x00\x00WEBPxx")
    assert service.progress == [progress]
    assert service.pictures[f"/api/v1/agent/films/{UUID(int=1)}"][0] == "image/webp"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, UnauthorisedError),
        (403, UnauthorisedError),
        (400, RefusedError),
        (413, RefusedError),
        (404, AbsentError),
        (405, UnavailableError),
        (302, UnavailableError),
        (429, UnavailableError),
        (500, UnavailableError),
        (503, UnavailableError),
    ],
)
def test_an_answer_that_is_no_success_says_what_to_do(
    service: StubService, status: int, error: type[ServiceError]
) -> None:
    service.status = status
    with pytest.raises(error, match=f"POST .*: {status} as the test wants it"):
        client(service).post_results(LINES)


def test_nobody_there_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="refused"):
        Service(f"http://127.0.0.1:{closed_port()}", TOKEN).post_results(LINES)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2_000_000,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + wire.encode(build_result()),
    ],
)
def test_an_answer_of_something_else_at_that_address_is_unavailable(raw: bytes) -> None:
    with answering(raw) as service, pytest.raises(UnavailableError):
        service.post_results(LINES)


def test_a_page_that_a_proxy_answers_with_is_told_on_one_line() -> None:
    page = (
        b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<hr><center>nginx</center>\r\n</html>\r\n"
    )
    raw = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page)
    with answering(raw) as somewhere, pytest.raises(UnavailableError) as told:
        somewhere.post_results(LINES)
    assert str(told.value).endswith("/results: 502 502 Bad Gateway nginx")


def test_too_few_receipts_acknowledge_nothing() -> None:
    body = b'{"kind":"receipts","version":1,"body":{"statuses":["stored"]}}'
    raw = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with answering(raw) as service, pytest.raises(UnavailableError, match="3 results with 1 receipts"):
        service.post_results(LINES)


def test_the_token_is_in_no_error(service: StubService) -> None:
    service.status = 500
    with pytest.raises(UnavailableError) as caught:
        client(service).post_results(LINES)
    assert TOKEN not in str(caught.value)
