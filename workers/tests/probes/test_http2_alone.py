"""Servers that speak nothing but HTTP/2: measured all the same, however they say so, and hostile ones in bounds."""

import gzip
import socket
from collections.abc import Callable, Iterator
from itertools import pairwise, repeat
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
)

from workers.measurement.connection import Header
from workers.measurement.evidence import Depth, EarlyData, Trial
from workers.measurement.failure import Blame, FailureKind, Stage
from workers.measurement.messages import ProbeMeasurement
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.conduct import Conduct
from workers.tests.netlab.misbehaving import MisbehavingServer
from workers.tests.netlab.nginx import NginxConduct
from workers.tests.probes.conftest import Lab
from workers.tests.probes.http2_site import (
    SETTINGS,
    Page,
    Site,
    alone,
    hanging_up,
    http2_context,
    in_frames,
    refusing,
    saying,
)
from workers.tests.probes.real_nginx import serving
from workers.tests.servers import Peer, Script, Server, answering, finish, response
from workers.tests.waiting import undisturbed

NAME = "www.example.test"


def server_of(lab: Lab, talk: Script, otherwise: Script = in_frames, *, name: str = NAME) -> Server:
    return Server(alone(talk, otherwise), context=http2_context(lab.authority.context(name)))


def is_over_http2(measurement: ProbeMeasurement) -> bool:
    """All of it, with no trace of what was tried before."""
    assert measurement.evidence is not None
    shaken = [one.handshake for one in measurement.evidence.trials if one.trial is not Trial.PLAIN]
    return {one.protocol for one in measurement.connections} == {"h2"} and all(
        one is not None and one.protocol == "h2" for one in shaken
    )


def test_a_server_that_refuses_anything_else_is_measured(named: Lab, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    listener = socket.create_server(("127.0.0.1", 0))
    conduct = Conduct(protocols=("h2",), body_bytes=30_000)
    with MisbehavingServer(listener, conduct, vault.chain(Recipe(names=(NAME,)))) as server:
        measurement = named.measure(f"https://{NAME}:{server.port}/")
    assert server.connections == 2
    assert is_over_http2(measurement)
    (hop,), (connection,) = measurement.hops, measurement.connections
    assert (hop.status, hop.body_bytes) == (200, 30_000)
    assert {header.name for header in hop.response_headers} >= {"content-type", "strict-transport-security"}
    assert (connection.tls_round_trips, connection.requests) == (1, 1)
    timing = hop.timing
    spans = (timing.dns, timing.connect, timing.tls, timing.send, timing.wait, timing.download)
    for earlier, later in pairwise(spans):
        assert earlier is not None
        assert later is not None
        assert earlier.end_us == later.start_us
    assert measurement.evidence is not None
    (trial,) = measurement.evidence.trials
    assert (trial.trial, trial.failure, trial.exchanges[0].status) == (Trial.FULL, None, 200)
    assert trial.tcp_ended is not None


@pytest.mark.parametrize("otherwise", [in_frames, hanging_up])
def test_a_server_that_says_so_only_by_its_answer_is_measured(named: Lab, otherwise: Script) -> None:
    with server_of(named, Site().talk, otherwise) as server:
        measurement = named.measure(server.url(host=NAME))
    assert server.connections == 2
    assert is_over_http2(measurement)
    assert measurement.hops[0].body_bytes == 5


@pytest.mark.parametrize(
    ("script", "kind"),
    [(hanging_up, FailureKind.CONNECTION_RESET), (answering(b"what?\r\n\r\n"), FailureKind.RESPONSE_INVALID)],
)
def test_a_server_that_is_broken_in_every_protocol_is_told_as_before(
    named: Lab, script: Script, kind: FailureKind
) -> None:
    with Server(script, context=named.authority.context(NAME)) as server:
        failed, measurement = named.fail(server.url(host=NAME))
    assert server.connections == 2
    assert (failed.failure.kind, failed.failure.blame) == (kind, Blame.TARGET)
    assert measurement.evidence is not None
    (trial,) = measurement.evidence.trials
    assert len(trial.exchanges) == 1


def test_a_server_that_agreed_on_http1_is_asked_once(named: Lab) -> None:
    context = named.authority.context(NAME)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with Server(hanging_up, context=context) as server:
        failed, _ = named.fail(server.url(host=NAME))
    assert failed.failure.kind is FailureKind.CONNECTION_RESET
    assert server.connections == 1


def test_http2_in_the_clear_is_no_answer(named: Lab) -> None:
    """No browser speaks it without TLS."""
    with Server(in_frames) as server:
        failed, _ = named.fail(server.url(host=NAME))
    assert (failed.failure.kind, server.connections) == (FailureKind.RESPONSE_INVALID, 1)


def test_redirects_of_such_a_server_go_on_in_http2(named: Lab) -> None:
    pages = {"/": Page(body=b"", status=301, headers=(("location", "/two"),)), "/two": Page(body=b"there")}
    site = Site(pages=pages)
    with server_of(named, site.talk) as server:
        measurement = named.measure(server.url(host=NAME))
    assert [hop.status for hop in measurement.hops] == [301, 200]
    assert is_over_http2(measurement)
    assert server.connections == 3


def test_a_redirect_to_another_server_begins_anew(named: Lab) -> None:
    with Server(answering(response()), context=named.authority.context(NAME)) as other:
        moved = {"/": Page(body=b"", status=302, headers=(("location", other.url(host=NAME)),))}
        with server_of(named, Site(pages=moved).talk) as server:
            measurement = named.measure(server.url(host=NAME))
    assert [one.protocol for one in measurement.connections] == ["h2", "http/1.1"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_text_is_found_in_what_we_ask_for(named: Lab, packed: bool) -> None:
    body = "<p>Grüße</p>".encode() * 3000
    headers = (("content-type", "text/html"), *([("content-encoding", "gzip")] if packed else []))
    site = Site(pages={"/": Page(body=gzip.compress(body) if packed else body, headers=headers)})
    with server_of(named, site.talk) as server:
        named.measure(server.url(host=NAME), body_text="Grüße")
        failed, _ = named.fail(server.url(host=NAME), body_text="Abschied")
    assert failed.failure.kind is FailureKind.TEXT_MISSING
    assert {asked["accept-encoding"] for asked in site.asked} == {"gzip"}


def test_secrets_are_said_only_to_a_server_that_is_trusted(named: Lab) -> None:
    secret = (Header(name="Authorization", value="Bearer secret"),)
    site = Site()
    with server_of(named, site.talk) as server:
        named.measure(server.url(host=NAME), headers=secret)
    with server_of(named, site.talk, name="other.test") as server:
        named.fail(server.url(host=NAME), headers=secret)
    assert [asked.get("authorization") for asked in site.asked] == ["Bearer secret", None]


@undisturbed
def test_settings_do_not_pass_for_the_answer(named: Lab) -> None:
    """They come at once, and the answer when the server has thought."""
    with server_of(named, Site(pages={"/": Page(body=b"x" * 20_000, after_s=0.3)}).talk) as server:
        measurement = named.measure(server.url(host=NAME))
    wait = measurement.hops[0].timing.wait
    assert wait is not None
    assert wait.end_us - wait.start_us >= 299_000
    assert measurement.evidence is not None
    (trial,) = measurement.evidence.trials
    answer = trial.exchanges[0]
    assert answer.first_raw_us is not None
    assert answer.first_application_us is not None
    assert answer.first_application_us - answer.first_raw_us >= 200_000
    first = next(record for record in trial.records if record.application)
    assert first.at_us == answer.first_application_us


def test_a_deep_probe_of_a_real_server_learns_all_over_http2(named: Lab, tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    named.configure(ca_file=vault.ca_file)
    with (
        serving(NginxConduct(body_bytes=30_000), vault.chain(Recipe(names=(NAME,))), tmp_path) as inner,
        refusing(inner) as port,
    ):
        measurement = named.measure(f"https://{NAME}:{port}/", depth=Depth.DEEP)
    assert is_over_http2(measurement)
    evidence = measurement.evidence
    assert evidence is not None
    assert all(one.failure is None for one in evidence.trials if one.trial is not Trial.PLAIN)
    twice = evidence.of(Trial.FULL)[1]
    assert [(one.status, one.body_bytes) for one in twice.exchanges] == [(200, 30_000)] * 3
    assert [one.kept for one in twice.exchanges] == [True, True, None]
    assert twice.exchanges[2].idle_us
    # What a busy machine makes look suspicious is asked more than once.
    assert {len(delayed.exchanges) for delayed in evidence.of(Trial.DELAYED_ACK)} == {2}
    (early,) = evidence.of(Trial.EARLY_DATA)
    assert early.handshake is not None
    assert early.handshake.early_data is EarlyData.ACCEPTED
    assert early.exchanges[0].status == 200
    resumed = evidence.of(Trial.RESUMED, Trial.TLS12_TICKET, Trial.TLS12_SESSION_ID)
    assert all(one.handshake is not None and one.handshake.resumed for one in resumed)
    assert len(evidence.of(Trial.FULL)) >= 3


def test_a_connection_that_is_said_good_bye_to_is_not_kept(named: Lab) -> None:
    with server_of(named, Site(most=1).talk) as server:
        measurement = named.measure(server.url(host=NAME), depth=Depth.DEEP)
    assert measurement.evidence is not None
    asked_twice = measurement.evidence.of(Trial.FULL)[1:]
    assert [[one.kept for one in trial.exchanges] for trial in asked_twice] == [[False]] * 3
    assert all(trial.failure is None for trial in measurement.evidence.trials if trial.trial is not Trial.PLAIN)


def test_a_server_that_speaks_in_a_pause_keeps_its_connection(named: Lab) -> None:
    with server_of(named, Site(pings=True).talk) as server:
        measurement = named.measure(server.url(host=NAME), depth=Depth.DEEP)
    assert measurement.evidence is not None
    rested = measurement.evidence.of(Trial.FULL)[1]
    assert [one.status for one in rested.exchanges] == [200] * 3
    assert rested.exchanges[2].idle_us


HEAD = HeadersFrame(1, data=bytes([0x88]), flags=["END_HEADERS"]).serialize()
MIB = 1024 * 1024


def endless(*parts: bytes) -> Callable[[], Iterator[bytes]]:
    """All that again and again, in writes of a good size."""
    part = b"".join(parts)
    return lambda: repeat(part * (65_536 // len(part) + 1))


def once(*parts: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: iter(parts)


def bomb() -> bytes:
    """A kilobyte that stands in the table once and is pointed at a thousand times."""
    encoder = Encoder()
    packed = encoder.encode([(":status", "200"), ("x-bomb", "x" * 3000)])
    return packed + encoder.encode([("x-bomb", "x" * 3000)] * 1000)


def hostile(*parts: bytes) -> Callable[[], Iterator[bytes]]:
    return once(b"".join(parts))


K = FailureKind
INVALID, RESET, CUT = K.RESPONSE_INVALID, K.CONNECTION_RESET, K.DOWNLOAD_INCOMPLETE
CASES: dict[str, tuple[Callable[[], Iterator[bytes]], FailureKind, Stage]] = {
    "no frames": (hostile(b"\xff" * 5000), INVALID, Stage.WAIT),
    "a frame of 16 MB": (hostile(b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"), INVALID, Stage.WAIT),
    "a body without a head": (hostile(DataFrame(1, data=b"x").serialize()), INVALID, Stage.WAIT),
    "settings out of range": (hostile(SettingsFrame(0, settings={4: 2**31}).serialize()), INVALID, Stage.WAIT),
    "a push": (hostile(PushPromiseFrame(1, promised_stream_id=2, data=b"\x88").serialize()), INVALID, Stage.WAIT),
    "a head that makes no sense": (
        hostile(HeadersFrame(1, data=b"\xff" * 30, flags=["END_HEADERS"]).serialize()),
        INVALID,
        Stage.WAIT,
    ),
    "a head that grows in memory": (
        hostile(HeadersFrame(1, data=bomb(), flags=["END_HEADERS"]).serialize()),
        INVALID,
        Stage.WAIT,
    ),
    "a head without end": (
        lambda: (
            HeadersFrame(1, data=b"\x88").serialize()
            if not number
            else ContinuationFrame(1, data=b"x" * 900).serialize()
            for number in range(10_000)
        ),
        INVALID,
        Stage.WAIT,
    ),
    "pings without end": (endless(PingFrame(0, opaque_data=b"anybody?").serialize()), INVALID, Stage.WAIT),
    "settings without end": (endless(SETTINGS), INVALID, Stage.WAIT),
    "empty parts without end": (lambda: iter((HEAD, *repeat(DataFrame(1).serialize(), 9000))), INVALID, Stage.DOWNLOAD),
    "crumbs without end": (
        lambda: iter((HEAD, *repeat(DataFrame(1, data=b"x").serialize() * 1000, 60))),
        INVALID,
        Stage.DOWNLOAD,
    ),
    "a reset": (hostile(RstStreamFrame(1, error_code=ErrorCodes.REFUSED_STREAM).serialize()), RESET, Stage.WAIT),
    "a reset in the middle": (
        hostile(HEAD, DataFrame(1, data=b"x").serialize(), RstStreamFrame(1, error_code=2).serialize()),
        CUT,
        Stage.DOWNLOAD,
    ),
    "a good-bye": (hostile(GoAwayFrame(0, last_stream_id=0, error_code=11).serialize()), RESET, Stage.WAIT),
}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_server_costs_little_and_is_told_by_its_kind(named: Lab, name: str) -> None:
    """Most say without end what they say; no more of it is read than a page may have."""
    data, kind, stage = CASES[name]
    with server_of(named, saying(data)) as server:
        failed, measurement = named.fail(server.url(host=NAME))
    assert (failed.failure.kind, failed.failure.stage, failed.failure.blame) == (kind, stage, Blame.TARGET)
    (connection,) = measurement.connections
    assert connection.protocol == "h2"
    assert (connection.received_bytes or 0) < MIB


@undisturbed
def test_a_server_that_only_agrees_and_keeps_silent_ends_in_time(named: Lab) -> None:
    with server_of(named, lambda peer: peer.pause(20)) as server:
        failed, _ = named.fail(server.url(host=NAME), timeout_us=500_000)
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.RESPONSE_TIMEOUT, Stage.WAIT)


def test_a_server_that_hangs_up_within_the_body_is_told_so(named: Lab) -> None:
    def talk(peer: Peer) -> None:
        peer.send(SETTINGS)
        peer.sock.recv(65536)
        peer.send(HEAD + DataFrame(1, data=b"x" * 100).serialize())
        finish(peer)

    with server_of(named, talk) as server:
        failed, measurement = named.fail(server.url(host=NAME))
    assert failed.failure.kind is FailureKind.DOWNLOAD_INCOMPLETE
    assert measurement.hops[0].status == 200


def test_a_hostile_server_harms_no_deep_probe(named: Lab) -> None:
    """It behaves on the first connection alone."""
    site, hostile_talk = Site(), saying(hostile(*repeat(PingFrame(0, opaque_data=b"anybody?").serialize(), 300)))

    def talk(peer: Peer) -> None:
        (hostile_talk if site.asked else site.talk)(peer)

    with server_of(named, talk) as server:
        measurement = named.measure(server.url(host=NAME), depth=Depth.DEEP)
    assert measurement.evidence is not None
    kinds = {one.failure.kind for one in measurement.evidence.trials if one.failure is not None}
    assert FailureKind.RESPONSE_INVALID in kinds
