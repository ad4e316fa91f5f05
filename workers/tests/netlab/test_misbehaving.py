"""The misbehaving server misbehaves exactly as told: its writes, its pauses, its records, its sessions."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from workers.tests.netlab.certificates import KeyKind
from workers.tests.netlab.chains import Chain, Recipe, Vault
from workers.tests.netlab.conduct import Conduct, Refusal, Stall
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.netlab.wire_side import Wire
from workers.tests.waiting import wait_for

NAME = "www.lab.test"
REQUEST = b"GET / HTTP/1.1\r\nHost: www.lab.test\r\n\r\n"
_APPLICATION_DATA = 23


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[bytes | float]:
    """What the server gives to the kernel, and the pauses that it makes between, in seconds."""
    noted: list[bytes | float] = []
    write, pause = Wire.write, Wire.pause

    def noting_write(wire: Wire, data: bytes) -> None:
        noted.append(data)
        write(wire, data)

    def noting_pause(wire: Wire, seconds: float) -> None:
        if seconds:
            noted.append(seconds)
        began_s = time.monotonic()
        pause(wire, seconds)
        assert time.monotonic() - began_s >= seconds

    monkeypatch.setattr(Wire, "write", noting_write)
    monkeypatch.setattr(Wire, "pause", noting_pause)
    return noted


def writes(acts: list[bytes | float]) -> list[bytes]:
    return [act for act in acts if isinstance(act, bytes)]


def told(acts: list[bytes | float]) -> list[str | float]:
    """In words, how often it wrote or for how long it paused."""
    return ["writes" if isinstance(act, bytes) else act for act in acts]


@contextmanager
def serving(conduct: Conduct, chain: Chain | None) -> Iterator[MisbehavingServer]:
    """Until its last word to anybody: the next test's server would seem to have said that."""
    before = set(threading.enumerate())
    with MisbehavingServer(socket.create_server(("127.0.0.1", 0)), conduct, chain) as server:
        yield server
    wait_for(lambda: before.issuperset(threading.enumerate()), "the server's connections to end")


class Visitor:
    """A client that verifies, and counts what it gets."""

    def __init__(
        self,
        vault: Vault,
        *,
        newest: str = "TLSv1_3",
        protocols: tuple[str, ...] = ("http/1.1",),
        timeout_s: float = 10,
    ) -> None:
        self.timeout_s = timeout_s
        self.context = ssl.create_default_context(cafile=str(vault.ca_file))
        self.context.maximum_version = ssl.TLSVersion[newest]
        self.context.set_alpn_protocols(list(protocols))

    def connect(self, port: int, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
        sock = socket.create_connection(("127.0.0.1", port), timeout=self.timeout_s)
        return self.context.wrap_socket(sock, server_hostname=NAME, session=session)


@contextmanager
def visiting(conduct: Conduct, visitor: Visitor | None = None, chain: Chain | None = None) -> Iterator[socket.socket]:
    """A connection to a server of that conduct; plain without a visitor."""
    with serving(conduct, chain) as server:
        if visitor is None:
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as sock:
                yield sock
        else:
            with visitor.connect(server.port) as sock:
                yield sock


def ask(sock: socket.socket) -> bytes:
    """The whole answer to one request."""
    sock.sendall(REQUEST)
    data = b""
    while b"\r\n\r\n" not in data:
        data += sock.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += sock.recv(65536)
    return head + b"\r\n\r\n" + body


def records_of(data: bytes) -> list[tuple[int, int]]:
    """Type and length of each TLS record."""
    found = []
    while data:
        length = int.from_bytes(data[3:5])
        found.append((data[0], length))
        data = data[5 + length :]
    return found


@pytest.mark.parametrize("newest", ["TLSv1_2", "TLSv1_3"])
def test_a_faultless_server_answers_again_and_again(vault: Vault, newest: str) -> None:
    with visiting(Conduct(), Visitor(vault, newest=newest), vault.chain(Recipe(names=(NAME,)))) as sock:
        answers = {ask(sock), ask(sock)}
        assert isinstance(sock, ssl.SSLSocket)
        assert sock.selected_alpn_protocol() == "http/1.1"
    assert len(answers) == 1
    answer = answers.pop()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert len(answer.partition(b"\r\n\r\n")[2]) == 4000


def test_it_speaks_plainly_without_a_chain() -> None:
    with visiting(Conduct(redirect_to="https://www.lab.test/")) as sock:
        answer = ask(sock)
    assert answer.startswith(b"HTTP/1.1 301 ")
    assert b"\r\nLocation: https://www.lab.test/\r\n" in answer


def test_the_first_flight_is_written_in_parts(vault: Vault, acts: list[bytes | float]) -> None:
    chain = vault.chain(Recipe(names=(NAME,), size_bytes=5500))
    with serving(Conduct(handshake_write_bytes=4096, newest="TLSv1.2"), chain) as server:
        Visitor(vault).connect(server.port).close()
    first, second, *_ = writes(acts)
    assert len(first) == 4096
    assert 1300 < len(second) < 2200
    # ServerHello, Certificate and ServerHelloDone: one record each or together, and nothing is lost between.
    assert {kind for kind, _ in records_of(first + second)} == {22}


def test_the_first_flight_stalls_in_the_middle(vault: Vault, acts: list[bytes | float]) -> None:
    chain = vault.chain(Recipe(names=(NAME,), size_bytes=5500))
    with serving(Conduct(handshake_stall=Stall(after_bytes=2000, pause_s=0.2)), chain) as server:
        Visitor(vault).connect(server.port).close()
    assert told(acts)[:3] == ["writes", 0.2, "writes"]
    assert len(writes(acts)[0]) == 2000


def test_a_busy_server_thinks_before_its_first_flight(vault: Vault, acts: list[bytes | float]) -> None:
    with serving(Conduct(handshake_think_s=0.1), vault.chain(Recipe(names=(NAME,)))) as server:
        Visitor(vault).connect(server.port).close()
    assert told(acts)[:2] == [0.1, "writes"]


@pytest.mark.parametrize(("size", "overhead"), [(16384, 17), (4096, 17), (1300, 17)])
def test_records_have_the_wished_size(vault: Vault, acts: list[bytes | float], size: int, overhead: int) -> None:
    conduct = Conduct(record_bytes=size, body_bytes=20_000)
    with visiting(conduct, Visitor(vault), vault.chain(Recipe(names=(NAME,)))) as sock:
        ask(sock)
    answer = next(data for data in writes(acts) if len(data) > 19_000)
    lengths = [length for kind, length in records_of(answer) if kind == _APPLICATION_DATA]
    assert lengths[0] == size + overhead
    assert max(lengths) == lengths[0]


@pytest.mark.parametrize("chained", [True, False])
def test_head_and_page_are_two_writes(vault: Vault, acts: list[bytes | float], chained: bool) -> None:
    visitor, chain = (Visitor(vault), vault.chain(Recipe(names=(NAME,)))) if chained else (None, None)
    with visiting(Conduct(head_apart=True, body_bytes=700, nodelay=False), visitor, chain) as sock:
        ask(sock)
        noted = len(acts)
        ask(sock)
    head, body = writes(acts[noted : noted + 2])
    assert len(head) < 300
    assert 700 <= len(body) < 750


@pytest.mark.parametrize("flushed", [True, False])
def test_thinking_comes_before_the_answer_or_after_its_head(
    vault: Vault, acts: list[bytes | float], flushed: bool
) -> None:
    with visiting(Conduct(think_s=(0.15,), head_flushed=flushed, body_bytes=20_000)) as sock:
        ask(sock)
    assert told(acts) == (["writes", 0.15, "writes"] if flushed else [0.15, "writes"])


def test_thinking_can_be_flaky(acts: list[bytes | float]) -> None:
    with visiting(Conduct(think_s=(0.0, 0.2))) as sock:
        for _ in range(4):
            ask(sock)
    assert told(acts) == ["writes", 0.2, "writes", "writes", 0.2, "writes"]


def test_a_page_can_stall(acts: list[bytes | float]) -> None:
    stall = Stall(after_bytes=5000, pause_s=0.2)
    with visiting(Conduct(body_stall=stall, body_bytes=20_000)) as sock:
        ask(sock)
    assert told(acts) == ["writes", 0.2, "writes"]
    first, second = writes(acts)
    assert 5000 < len(first) < 5400
    assert len(second) == 15_000


def test_a_connection_can_end_after_each_answer(vault: Vault) -> None:
    with visiting(Conduct(keep_alive=False), Visitor(vault), vault.chain(Recipe(names=(NAME,)))) as sock:
        assert b"\r\nConnection: close\r\n" in ask(sock)
        assert sock.recv(10) == b""


def test_a_connection_can_end_after_some_answers(vault: Vault) -> None:
    with visiting(Conduct(most_requests=2), Visitor(vault), vault.chain(Recipe(names=(NAME,)))) as sock:
        assert b"\r\nConnection: keep-alive\r\n" in ask(sock)
        assert b"\r\nConnection: close\r\n" in ask(sock)
        assert sock.recv(10) == b""


def test_a_long_hello_kills_a_server_that_cannot_take_it(vault: Vault) -> None:
    chain = vault.chain(Recipe(names=(NAME,)))
    with serving(Conduct(hello_limit_bytes=100), chain) as server, pytest.raises(ConnectionResetError):
        Visitor(vault).connect(server.port)
    with serving(Conduct(hello_limit_bytes=2000), chain) as server:
        Visitor(vault).connect(server.port).close()


def test_a_long_hello_can_meet_silence(vault: Vault) -> None:
    conduct = Conduct(hello_limit_bytes=100, refusal=Refusal.SILENCE)
    with serving(conduct, vault.chain(Recipe(names=(NAME,)))) as server, pytest.raises(TimeoutError):
        Visitor(vault, timeout_s=0.5).connect(server.port)


def test_garbage_can_follow_a_negotiation(vault: Vault) -> None:
    conduct = Conduct(protocols=("h2", "http/1.1"), garbage_over="h2")
    with serving(conduct, vault.chain(Recipe(names=(NAME,)))) as server:
        with Visitor(vault, protocols=("h2", "http/1.1")).connect(server.port) as sock:
            assert sock.recv(1000) == b"\xff" * 100
        with Visitor(vault).connect(server.port) as sock:
            assert ask(sock).startswith(b"HTTP/1.1 200 OK")


def resumed(vault: Vault, conduct: Conduct, newest: str, visits: int = 4) -> list[bool]:
    """Whether each visit after the first could go on with the session of the first."""
    visitor = Visitor(vault, newest=newest)
    with serving(conduct, vault.chain(Recipe(names=(NAME,), key=KeyKind.P256))) as server:
        with visitor.connect(server.port) as sock:
            ask(sock)
            session = sock.session
        found: list[bool] = []
        for _ in range(visits):
            with visitor.connect(server.port, session) as sock:
                found.append(bool(sock.session_reused))
    return found


@pytest.mark.parametrize("newest", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize(
    ("conduct", "expected"),
    [
        (Conduct(), [True] * 4),
        (Conduct(session_ids=False), [True] * 4),
        (Conduct(tickets=False), [True] * 4),
        (Conduct(tickets=False, session_ids=False), [False] * 4),
        (Conduct(nodes=(0, 1)), [False, True, False, True]),
    ],
)
def test_sessions_are_kept_as_told(vault: Vault, conduct: Conduct, expected: list[bool], newest: str) -> None:
    assert resumed(vault, conduct, newest) == expected


def test_who_continues_a_session_does_not_wait_for_a_signature(vault: Vault, acts: list[bytes | float]) -> None:
    assert resumed(vault, Conduct(signature_s=0.1), "TLSv1_3") == [True] * 4
    assert acts.count(0.1) == 1


def test_a_server_ends_with_its_block_whatever_its_clients_do(vault: Vault) -> None:
    chain = vault.chain(Recipe(names=(NAME,)))
    with serving(Conduct(handshake_think_s=600.0), chain) as server, suppress(TimeoutError):
        Visitor(vault, timeout_s=0.3).connect(server.port)
