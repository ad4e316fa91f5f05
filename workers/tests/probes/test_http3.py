"""HTTP/3: a real QUIC server, one that misbehaves, and none at all."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from threading import Event, Thread
from time import monotonic_ns

import pytest
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import FrameType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workers.measurement.compute.probe.evidence_trial import trial_evidence
from workers.measurement.connection import Header
from workers.measurement.evidence import Direction, Trial, TrialEvidence
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.target import parse_target
from workers.probes.http3 import ENOUGH_BODY_BYTES, Http3Asking, advertised_port, http3_trial
from workers.probes.loop import Loop
from workers.probes.openssl import Contexts
from workers.probes.quic import Quic
from workers.probes.stamps import stamping_socket
from workers.tests.http3_server import Conduct, Talk, answering, http3_server
from workers.tests.ports import closed_port
from workers.tests.servers import LOOPBACK, Authority
from workers.tests.waiting import undisturbed

Serve = Callable[..., int]


@dataclass
class Prober:
    """Our side, and the servers that a test starts."""

    directory: Path
    stack: ExitStack
    authority: Authority
    loop: Loop = field(default_factory=lambda: Loop("quic"))

    def __post_init__(self) -> None:
        self.contexts = Contexts(self.authority.ca_file)
        self.stack.enter_context(stamping_socket())
        self.loop.start()
        self.stack.callback(self.loop.close)

    def serve(self, conduct: Conduct, *names: str, **how: bool | str) -> int:
        server = http3_server(conduct, self.authority, self.directory, *names, **how)  # type: ignore[arg-type] # flags
        return self.stack.enter_context(server)

    def ask(
        self, port: int, *, within_s: float = 60.0, rtt_us: int | None = None, ignoring: bool = False
    ) -> TrialEvidence:
        target = parse_target(f"https://localhost:{port}/a?b=1", extra_ports=frozenset({port}))
        asking = Http3Asking(
            target=target,
            address=LOOPBACK,
            port=port,
            headers=(Header(name="X-Key", value="1"),),
            user_agent="agent/1",
            rtt_us=rtt_us,
            ignore_certificate_errors=ignoring,
        )
        deadline_ns = monotonic_ns() + int(within_s * 1e9)
        run_ns = monotonic_ns()
        capture = self.loop.submit(http3_trial(asking, self.contexts.faults, deadline_ns)).result(240)
        return trial_evidence(capture, run_ns, tuple(range(len(_chain(capture.hop.handshake)))))


def _chain(handshake: object) -> tuple[bytes, ...]:
    return getattr(handshake, "chain", ())


@pytest.fixture
def prober(tmp_path: Path) -> Iterator[Prober]:
    with ExitStack() as stack:
        yield Prober(tmp_path, stack, Authority.make(tmp_path))


def test_an_answer_is_measured_from_the_first_datagram_to_the_last(prober: Prober) -> None:
    asked: list[dict[str, str]] = []

    def conduct(talk: Talk) -> None:
        asked.append(talk.request)
        talk.head("200", ("content-type", "text/html"))
        talk.body(b"x" * 20_000)

    trial = prober.ask(prober.serve(conduct))
    assert trial.failure is None
    assert (trial.trial, trial.address, trial.connect_us, trial.kernel_clock) == (Trial.HTTP3, LOOPBACK, None, True)
    (request,) = asked
    assert (request[":method"], request[":path"], request["x-key"]) == ("GET", "/a?b=1", "1")
    (exchange,) = trial.exchanges
    assert (exchange.status, exchange.body_bytes) == (200, 20_000)
    assert [header.value for header in exchange.headers if header.name == "content-type"] == ["text/html"]
    assert exchange.head_bytes is not None
    assert 4 < exchange.head_bytes < 100
    shaken = trial.handshake
    assert shaken is not None
    marks = [
        shaken.started_us,
        shaken.ended_us,
        exchange.asked_us,
        exchange.sent_us,
        exchange.first_application_us,
        exchange.first_readable_us,
        exchange.head_us,
        exchange.first_body_us,
        exchange.ended_us,
        trial.ended_us,
    ]
    known = [mark for mark in marks if mark is not None]
    assert len(known) == len(marks)
    assert known == sorted(known)


def test_the_handshake_is_told(prober: Prober) -> None:
    trial = prober.ask(prober.serve(answering(), early_data=True))
    shaken = trial.handshake
    assert shaken is not None
    assert (shaken.version, shaken.protocol, shaken.resumed) == ("TLSv1.3", "h3", False)
    assert (shaken.cipher or "").startswith("TLS_")
    assert (shaken.stapled, shaken.hello_retry, shaken.faults) == (None, False, ())
    assert shaken.hello_bytes == 2400
    assert len(shaken.chain) == 1
    assert shaken.certificate_message_bytes is not None
    assert 300 < shaken.certificate_message_bytes < 1500
    assert shaken.tickets == 1
    assert shaken.max_early_data_bytes == 0xFFFFFFFF
    assert shaken.network_us is not None
    assert shaken.own_us is not None


def test_datagrams_are_transfers_in_their_order(prober: Prober) -> None:
    trial = prober.ask(prober.serve(answering(b"x" * 5000)))
    first = trial.transfers[0]
    assert (first.direction, first.at_us, first.size_bytes) == (Direction.SENT, 0, 1200)
    assert [one.at_us for one in trial.transfers] == sorted(one.at_us for one in trial.transfers)
    # Nothing but the hello, again where a busy machine keeps the server from answering at once.
    before = list(takewhile(lambda one: one.direction is Direction.SENT, trial.transfers))
    assert {one.size_bytes for one in before} == {1200}
    received = [one for one in trial.transfers if one.direction is Direction.RECEIVED]
    assert sum(one.size_bytes for one in received) > 5000
    assert not trial.truncated


def test_a_server_that_is_not_trusted_is_asked_without_secrets(prober: Prober, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    stranger = Authority.make(tmp_path / "other")
    asked: list[dict[str, str]] = []

    def conduct(talk: Talk) -> None:
        asked.append(talk.request)
        answering()(talk)

    port = prober.stack.enter_context(http3_server(conduct, stranger, tmp_path / "other", "other.test"))
    trial = prober.ask(port)
    assert trial.handshake is not None
    assert {fault.code for fault in trial.handshake.faults} == {20, 62}
    assert trial.exchanges[0].status == 200
    prober.ask(port, ignoring=True)
    assert ["x-key" in request for request in asked] == [False, True]


@undisturbed
def test_think_time_lies_before_the_first_byte(prober: Prober) -> None:
    def conduct(talk: Talk) -> None:
        talk.later(0.2, lambda: answering()(talk))

    (exchange,) = prober.ask(prober.serve(conduct)).exchanges
    assert exchange.first_readable_us is not None
    assert exchange.sent_us is not None
    assert 200_000 <= exchange.first_readable_us - exchange.sent_us < 300_000


def test_interim_answers_are_kept(prober: Prober) -> None:
    def conduct(talk: Talk) -> None:
        talk.head("103", ("link", "</a.css>"))
        talk.head("204", end=True)

    (exchange,) = prober.ask(prober.serve(conduct)).exchanges
    assert (exchange.interim, exchange.status, exchange.body_bytes) == ((103,), 204, 0)
    assert exchange.ended_us is not None


def test_a_long_body_is_read_as_far_as_it_tells_something(prober: Prober) -> None:
    trial = prober.ask(prober.serve(answering(b"x" * 3_000_000)))
    assert trial.failure is None
    (exchange,) = trial.exchanges
    assert (exchange.status, exchange.ended_us, exchange.body_bytes) == (200, None, None)
    received = sum(one.size_bytes for one in trial.transfers if one.direction is Direction.RECEIVED)
    assert received < ENOUGH_BODY_BYTES * 1.5


def test_a_server_that_wants_to_see_the_address_again_is_followed(prober: Prober) -> None:
    trial = prober.ask(prober.serve(answering(), retry=True))
    assert trial.failure is None
    assert trial.exchanges[0].status == 200
    assert trial.handshake is not None
    assert trial.handshake.certificate_message_bytes is not None


@undisturbed
def test_udp_that_nobody_answers_is_given_up_soon(prober: Prober) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((LOOPBACK, 0))
        before_ns = monotonic_ns()
        trial = prober.ask(silent.getsockname()[1], within_s=20, rtt_us=100)
    assert trial.failure is not None
    assert (trial.failure.kind, trial.failure.stage) == (FailureKind.CONNECT_TIMEOUT, Stage.CONNECT)
    assert 1.4e9 < monotonic_ns() - before_ns < 5e9
    assert trial.handshake is not None
    assert trial.handshake.ended_us is None
    assert len([one for one in trial.transfers if one.direction is Direction.SENT]) >= 3


def test_a_closed_port_is_told_at_once(prober: Prober) -> None:
    trial = prober.ask(closed_port())
    assert trial.failure is not None
    assert trial.failure.kind is FailureKind.CONNECT_REFUSED


def test_a_server_without_http3_is_told_by_its_alert(prober: Prober) -> None:
    trial = prober.ask(prober.serve(answering(), protocol="doq"))
    assert trial.failure is not None
    assert (trial.failure.kind, trial.failure.stage) == (FailureKind.TLS_ALERT, Stage.TLS)


def test_a_server_that_leaves_before_and_amid_its_answer_is_told(prober: Prober) -> None:
    def early(talk: Talk) -> None:
        talk.close(0x10C, "no")

    def late(talk: Talk) -> None:
        talk.head()
        talk.body(b"hello", end=False)
        talk.later(0.05, lambda: talk.close(0x102, "bad\x00luck"))

    assert _failure(prober, early) == (FailureKind.CONNECTION_RESET, Stage.WAIT)
    assert _failure(prober, late) == (FailureKind.DOWNLOAD_INCOMPLETE, Stage.DOWNLOAD)


def _failure(prober: Prober, conduct: Conduct, **how: bool) -> tuple[FailureKind, Stage]:
    trial = prober.ask(prober.serve(conduct, **how))
    assert trial.failure is not None
    return trial.failure.kind, trial.failure.stage


def test_a_stream_that_is_reset_is_told(prober: Prober) -> None:
    def conduct(talk: Talk) -> None:
        talk.quic.reset_stream(0, 0x10B)
        talk.transmit()

    assert _failure(prober, conduct) == (FailureKind.CONNECTION_RESET, Stage.WAIT)


@undisturbed
def test_an_answer_that_never_comes_or_never_ends_has_a_time(prober: Prober) -> None:
    def half(talk: Talk) -> None:
        talk.head()
        talk.body(b"hello", end=False)

    for conduct, kind in ((lambda _: None, FailureKind.RESPONSE_TIMEOUT), (half, FailureKind.DOWNLOAD_TIMEOUT)):
        trial = prober.ask(prober.serve(conduct), within_s=0.6)
        assert trial.failure is not None
        assert trial.failure.kind is kind


def frame(kind: int, payload: bytes) -> bytes:
    return encode_uint_var(kind) + encode_uint_var(len(payload)) + payload


@pytest.mark.parametrize(
    "said",
    [
        frame(FrameType.DATA, b"before any head"),
        frame(FrameType.HEADERS, b"\x00\x00\xff\xff\xff\xff\xff"),
        frame(FrameType.HEADERS, b"\x02\x00\x80"),
        frame(FrameType.SETTINGS, b""),
        frame(FrameType.PUSH_PROMISE, b"\x00\x00\x00"),
        frame(FrameType.HEADERS, b"\x00\x00" + b"\xd9" * 3),
    ],
)
def test_what_is_no_http3_is_no_answer(prober: Prober, said: bytes) -> None:
    kind, _ = _failure(prober, lambda talk: talk.say(said, end=True), raw=True)
    assert kind is FailureKind.RESPONSE_INVALID


def test_an_answer_without_head_is_none(prober: Prober) -> None:
    kind, _ = _failure(prober, lambda talk: talk.say(b"", end=True), raw=True)
    assert kind is FailureKind.RESPONSE_INVALID


def test_a_head_without_end_is_left(prober: Prober) -> None:
    def conduct(talk: Talk) -> None:
        talk.say(encode_uint_var(FrameType.HEADERS) + encode_uint_var(1 << 40) + b"\x00" * 400_000)

    kind, _ = _failure(prober, conduct, raw=True)
    assert kind is FailureKind.RESPONSE_INVALID


def test_a_small_block_cannot_unfold_into_a_large_head(prober: Prober) -> None:
    """The QPACK bomb needs a table that the server fills: we offer none."""

    def conduct(talk: Talk) -> None:
        talk.say(b"\x02" + b"\x3f\xe1\x1f" + b"\x41a\x7f\xe1\x1e" + b"x" * 4000, stream=3)
        talk.say(frame(FrameType.HEADERS, b"\x02\x00" + b"\x80" * 60_000), end=True)

    kind, _ = _failure(prober, conduct, raw=True)
    assert kind in {FailureKind.RESPONSE_INVALID, FailureKind.CONNECTION_RESET}


def test_a_flood_of_datagrams_is_left(prober: Prober) -> None:
    gone = Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flooding:
        flooding.bind((LOOPBACK, 0))
        flooding.settimeout(60)

        def flood() -> None:
            _, address = flooding.recvfrom(4096)
            while not gone.wait(0.0002):
                for _ in range(8):
                    flooding.sendto(b"\xff" * 1200, address)

        thread = Thread(target=flood)
        thread.start()
        trial = prober.ask(flooding.getsockname()[1], within_s=120)
        gone.set()
        thread.join()
    assert trial.failure is not None
    assert trial.failure.kind is FailureKind.RESPONSE_INVALID


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples // 4)
@given(st.lists(st.tuples(st.sampled_from([0, 3, 7, 11]), st.binary(max_size=60)), max_size=4), st.booleans())
def test_no_bytes_on_any_stream_break_the_reader(
    raw_server: tuple[Prober, int, list[Conduct]], said: list[tuple[int, bytes]], end: bool
) -> None:
    prober, port, conducts = raw_server

    def conduct(talk: Talk) -> None:
        for stream, data in said:
            talk.say(data, stream=stream)
        talk.say(b"", end=end)
        if not end:
            talk.close()

    conducts[:] = [conduct]
    trial = prober.ask(port, within_s=0.5)
    assert trial.failure is None or trial.failure.kind is not FailureKind.INTERNAL_ERROR


@pytest.fixture
def raw_server(prober: Prober) -> tuple[Prober, int, list[Conduct]]:
    conducts: list[Conduct] = []
    return prober, prober.serve(lambda talk: conducts[0](talk), raw=True), conducts


@given(st.binary(max_size=1300))
def test_no_datagram_breaks_the_reader(data: bytes) -> None:
    quic = Quic("a.test", 20_000)
    quic.connect((LOOPBACK, 443), now=0.0)
    quic.datagrams_to_send(now=0.0)
    quic.receive_datagram(data, (LOOPBACK, 443), now=0.1)
    assert quic.chain == ()


def test_where_http3_is_spoken_is_read_from_the_header() -> None:
    assert advertised_port(["clear"]) is None
    assert advertised_port(['h2=":443"; ma=60', 'h3-29=":443", h3=":8443"; ma=86400']) == 8443
    assert advertised_port(['h3=":443"; ma=86400,h3-29=":443"; ma=86400']) == 443
    assert advertised_port(['h3="other.test:443"']) is None
