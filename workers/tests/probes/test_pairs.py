"""Pairs from real servers on loopback: what is measured on each leg, and what is said when one is broken."""

import gzip
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest

from workers.measurement.connection import Header
from workers.measurement.failure import Blame, FailureKind
from workers.measurement.messages import Failed, Kind, Measured, PairMeasurement, ProgressStage
from workers.measurement.pair import CacheState, Leg, LegExchange, PairTarget
from workers.measurement.timing import phases_of
from workers.pairs import PairEngine, order_of
from workers.tests.builders import build_request
from workers.tests.ports import closed_port
from workers.tests.probes.conftest import EXTRA_PORTS, Lab
from workers.tests.servers import Peer, Server, answering, finish, keeping, redirect, response
from workers.tests.waiting import undisturbed, wait_for

A, B = Leg.A, Leg.B
A_FIRST, B_FIRST = UUID(int=0), UUID(int=3)


class PairLab:
    """Two servers' worth of asking."""

    def __init__(self, lab: Lab, engine: PairEngine) -> None:
        self.lab = lab
        self._engine = engine

    def pair(self, url: str, other: str, *, address: str | None = None, **changes: Any) -> Measured | Failed:
        values: dict[str, Any] = {"run_id": A_FIRST, "timeout_us": 60_000_000} | changes
        target = PairTarget(url=other, address=address)
        return self._engine.pair(build_request(kind=Kind.PAIR, url=url, other=target, **values))

    def measure(self, url: str, other: str, **changes: Any) -> PairMeasurement:
        outcome = self.pair(url, other, **changes)
        assert isinstance(outcome, Measured), outcome
        assert isinstance(outcome.measurement, PairMeasurement)
        return outcome.measurement

    def fail(self, url: str, other: str, **changes: Any) -> tuple[Failed, PairMeasurement]:
        outcome = self.pair(url, other, **changes)
        assert isinstance(outcome, Failed), outcome
        assert isinstance(outcome.measurement, PairMeasurement)
        return outcome, outcome.measurement


@pytest.fixture
def pairs(lab: Lab) -> Iterator[PairLab]:
    with PairEngine(lab.settings) as engine:
        yield PairLab(lab, engine)


def legs(measurement: PairMeasurement) -> list[tuple[Leg, bool]]:
    return [(exchange.leg, exchange.reused) for exchange in measurement.exchanges]


def one(measurement: PairMeasurement, leg: Leg, *, reused: bool = False) -> LegExchange:
    return next(each for each in measurement.exchanges if (each.leg, each.reused) == (leg, reused))


@undisturbed
def test_both_legs_are_asked_cold_and_then_over_the_same_two_connections(pairs: PairLab) -> None:
    pairs.lab.zone.a["cdn.example.test"] = ["127.0.0.1"]
    context = pairs.lab.authority.context("cdn.example.test")
    headers = ("X-Cache: HIT", "Age: 12", 'ETag: "a1"', "Content-Type: text/css")
    with (
        Server(keeping(response(b"x" * 3000, headers=headers)), context=context) as cdn,
        Server(keeping(response(b"y" * 4000), after_s=0.05)) as origin,
    ):
        measurement = pairs.measure(cdn.url("/a.css", host="cdn.example.test"), origin.url("/a.css"))
        assert (cdn.connections, origin.connections) == (1, 1)
        ports = (cdn.port, origin.port)
    assert legs(measurement) == [(A, False), (B, False), (A, True), (B, True)]
    assert [exchange.order for exchange in measurement.exchanges] == [1, 2, 3, 4]
    assert [exchange.connection for exchange in measurement.exchanges] == [1, 2, 1, 2]
    assert [(each.number, each.port, each.requests) for each in measurement.connections] == [
        (1, ports[0], 2),
        (2, ports[1], 2),
    ]
    assert measurement.not_kept == ()
    cold, far = one(measurement, A), one(measurement, B)
    assert (cold.status, cold.protocol, cold.body_bytes, cold.etag) == (200, "http/1.1", 3000, '"a1"')
    assert (cold.cache.state, cold.cache.evidence) == (CacheState.HIT, Header(name="X-Cache", value="HIT"))
    assert cold.cache.age_s == 12
    assert Header(name="Content-Type", value="text/css") in cold.response_headers
    assert (far.body_bytes, far.cache.state, far.etag) == (4000, CacheState.UNKNOWN, None)
    assert (phases_of(far.timing).wait_us or 0) >= 50_000
    assert measurement.connections[0].tls_version is not None


def test_a_cold_exchange_has_every_phase_and_a_reused_one_only_its_own(pairs: PairLab) -> None:
    pairs.lab.zone.a["cdn.example.test"] = ["127.0.0.1"]
    context = pairs.lab.authority.context("cdn.example.test")
    with Server(keeping(response()), context=context) as server:
        url = server.url(host="cdn.example.test")
        measurement = pairs.measure(url, url)
    for exchange in measurement.exchanges:
        phases = phases_of(exchange.timing)
        opening = (phases.dns_us, phases.connect_us, phases.tls_us)
        assert opening == (None, None, None) if exchange.reused else None not in opening
        known = [us or 0 for us in (*opening, phases.send_us, phases.wait_us, phases.download_us)]
        assert phases.total_us == sum(known)
    ends = [(exchange.timing.start_us, exchange.timing.end_us) for exchange in measurement.exchanges]
    assert all(end == start for (_, end), (start, _) in pairwise(ends))


def test_the_runs_own_id_decides_which_leg_goes_first(pairs: PairLab) -> None:
    with Server(keeping(response())) as server:
        first = pairs.measure(server.url(), server.url("/b"), run_id=A_FIRST)
        last = pairs.measure(server.url(), server.url("/b"), run_id=B_FIRST)
    assert legs(first) == [(A, False), (B, False), (A, True), (B, True)]
    assert legs(last) == [(B, False), (A, False), (B, True), (A, True)]
    assert [connection.number for connection in last.connections] == [1, 2]
    assert one(last, A).connection == 2


def test_the_two_coins_are_fair_and_know_nothing_of_each_other() -> None:
    ids = [uuid4() for _ in range(4000)]
    thrown = [(order_of(run, reused=False)[0], order_of(run, reused=True)[0]) for run in ids]
    for outcome in [(A, A), (A, B), (B, A), (B, B)]:
        assert 850 < thrown.count(outcome) < 1150


def test_a_server_that_says_it_closes_gives_no_reused_pair(pairs: PairLab) -> None:
    with (
        Server(keeping(response())) as cdn,
        Server(answering(response(headers=("Connection: close",)))) as origin,
    ):
        measurement = pairs.measure(cdn.url(), origin.url())
        assert origin.connections == 1
    assert legs(measurement) == [(A, False), (B, False)]
    assert measurement.not_kept == (B,)


@pytest.mark.parametrize(
    "said", [b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"HTTP/1.1 200 OK\r\n\r\nuntil it closes"]
)
def test_answers_after_which_nothing_can_follow_are_known(pairs: PairLab, said: bytes) -> None:
    with Server(answering(said)) as cdn, Server(keeping(response())) as origin:
        measurement = pairs.measure(cdn.url(), origin.url())
    assert measurement.not_kept == (A,)
    assert len(measurement.exchanges) == 2


def test_an_old_server_that_says_keep_alive_is_taken_at_its_word(pairs: PairLab) -> None:
    said = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nhi"
    with Server(keeping(said)) as cdn, Server(keeping(response())) as origin:
        assert len(pairs.measure(cdn.url(), origin.url()).exchanges) == 4


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("run_id", [A_FIRST, B_FIRST])
def test_a_server_that_closes_without_saying_so_is_no_failure(pairs: PairLab, run_id: UUID, *, secured: bool) -> None:
    context = pairs.lab.authority.context() if secured else None
    with Server(answering(response()), context=context) as cdn, Server(keeping(response())) as origin:
        measurement = pairs.measure(cdn.url(), origin.url(), run_id=run_id)
    assert A in measurement.not_kept
    assert (A, True) not in legs(measurement)
    assert legs(measurement)[:2] == [(leg, False) for leg in order_of(run_id, reused=False)]


def test_a_second_answer_that_breaks_off_is_a_failure(pairs: PairLab) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(response())
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        finish(peer)

    with Server(script) as cdn, Server(keeping(response())) as origin:
        failed, measurement = pairs.fail(cdn.url(), origin.url())
    assert failed.failure.kind is FailureKind.DOWNLOAD_INCOMPLETE
    assert failed.failure.detail.startswith("Leg a: ")
    assert legs(measurement)[-1] == (A, True)


def test_a_leg_that_refuses_fails_the_run_and_keeps_what_was_seen_of_the_other(pairs: PairLab) -> None:
    with Server(keeping(response())) as cdn:
        failed, measurement = pairs.fail(cdn.url(), f"http://127.0.0.1:{closed_port()}/")
    assert failed.failure.kind is FailureKind.CONNECT_REFUSED
    assert failed.failure.blame is Blame.TARGET
    assert failed.failure.detail.startswith("Leg b: The server refused the connection: 127.0.0.1 port")
    assert legs(measurement) == [(A, False), (B, False)]
    assert one(measurement, A).status == 200
    assert one(measurement, B).timing.end_us is None
    assert measurement.connections[1].connect is None


def test_a_test_of_the_visitor_is_no_asset_either(pairs: PairLab) -> None:
    asked = response(b"prove it", headers=("cf-mitigated: challenge",), status="403 Forbidden")
    with Server(keeping(asked)) as cdn, Server(keeping(response())) as origin:
        failed, _ = pairs.fail(cdn.url(), origin.url(), accepted_status=(200, 403))
    assert failed.failure.kind is FailureKind.PAGE_CHALLENGE
    assert failed.failure.detail.startswith("Leg a: ")


def test_an_error_page_is_no_asset_however_fast_it_is(pairs: PairLab) -> None:
    with Server(keeping(response(status="503 Busy"))) as cdn, Server(keeping(response())) as origin:
        failed, measurement = pairs.fail(cdn.url(), origin.url())
        assert isinstance(pairs.pair(cdn.url(), origin.url(), accepted_status=(200, 503)), Measured)
    assert failed.failure.kind is FailureKind.STATUS_UNEXPECTED
    assert failed.failure.detail.endswith("503")
    assert legs(measurement) == [(A, False), (B, False)]


def test_a_redirect_is_an_answer_and_is_not_followed(pairs: PairLab) -> None:
    with Server(keeping(redirect("/else"))) as cdn, Server(keeping(response())) as origin:
        measurement = pairs.measure(cdn.url(), origin.url())
        assert cdn.connections == 1
    assert [exchange.status for exchange in measurement.exchanges] == [302, 200, 302, 200]


@undisturbed
def test_a_slow_leg_ends_with_the_run(pairs: PairLab) -> None:
    with Server(keeping(response(), after_s=5)) as cdn, Server(keeping(response())) as origin:
        failed, _ = pairs.fail(cdn.url(), origin.url(), timeout_us=300_000)
    assert failed.failure.kind is FailureKind.RESPONSE_TIMEOUT
    assert failed.failure.detail == "Leg a: No first byte came in time: within 0.3 s"


def test_both_legs_are_asked_alike_and_as_a_browser_would(pairs: PairLab) -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        while request := peer.read_request():
            seen.append(request)
            peer.send(response())

    headers = (Header(name="Authorization", value="Bearer abc"),)
    with Server(script) as server:
        pairs.measure(server.url("/one"), server.url("/two"), headers=headers)
    assert len(seen) == 4
    assert len({request.partition(b"\r\n")[2] for request in seen}) == 1
    assert b"Connection: keep-alive\r\n" in seen[0]
    assert b"Accept-Encoding: gzip, deflate, br, zstd\r\n" in seen[0]
    assert b"Authorization: Bearer abc\r\n" in seen[0]


def test_packed_bytes_are_counted_as_they_come(pairs: PairLab) -> None:
    packed = gzip.compress(b"x" * 10_000)
    with (
        Server(keeping(response(packed, headers=("Content-Encoding: gzip",)))) as cdn,
        Server(keeping(response(b"x" * 10_000))) as origin,
    ):
        measurement = pairs.measure(cdn.url(), origin.url())
    assert (one(measurement, A).content_encoding, one(measurement, A).body_bytes) == ("gzip", len(packed))
    assert (one(measurement, B).content_encoding, one(measurement, B).body_bytes) == (None, 10_000)


def test_an_origin_can_be_asked_by_address_under_the_name_of_the_cdn(pairs: PairLab) -> None:
    pairs.lab.zone.a["cdn.example.test"] = ["127.0.0.1"]
    context = pairs.lab.authority.context("cdn.example.test")
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        while request := peer.read_request():
            seen.append(request)
            peer.send(response())

    with Server(keeping(response()), context=context) as cdn, Server(script, context=context, host="127.0.0.2") as far:
        url = cdn.url(host="cdn.example.test")
        pairs.measure(url, url, address=f"127.0.0.2:{far.port}")
        # For A and AAAA: who has asked may go on before the server has heard both.
        before = wait_for(lambda: pairs.lab.dns.questions % 2 == 0 and pairs.lab.dns.questions, "both to be heard")
        measurement = pairs.measure(url, url, address=f"127.0.0.2:{far.port}")
        authority = f"cdn.example.test:{cdn.port}"
        port = far.port
    assert f"Host: {authority}\r\n".encode() in seen[0]
    origin = measurement.connections[1]
    assert (origin.host, origin.address, origin.port) == ("cdn.example.test", "127.0.0.2", port)
    assert origin.dns is None
    assert origin.certificate_error is None
    # One for A, one for AAAA: of the CDN's leg alone.
    wait_for(lambda: pairs.lab.dns.questions >= before + 2, "both questions to be heard")
    assert pairs.lab.dns.questions - before == 2


def test_an_address_that_may_not_be_measured_is_not_dialled(lab: Lab) -> None:
    lab.configure(allowed=())
    with PairEngine(lab.settings) as engine, Server(keeping(response())) as server:
        for address in ("127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "::ffff:127.0.0.1"):
            target = f"{address}:{server.port}" if address.count(":") < 2 or "[" in address else address
            failed, measurement = PairLab(lab, engine).fail(
                "http://1.1.1.1:8080/", "http://1.1.1.1:8080/", address=target, run_id=B_FIRST
            )
            assert failed.failure.kind is FailureKind.BLOCKED_DESTINATION
            assert measurement.connections[0].connect is None
        assert server.connections == 0


@pytest.mark.parametrize(
    ("url", "other", "address", "kind"),
    [
        ("http://127.0.0.1:8080/", "ftp://127.0.0.1/", None, FailureKind.INVALID_URL),
        ("http://127.0.0.1:22/", "http://127.0.0.1:8080/", None, FailureKind.INVALID_URL),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/", "origin.example.test", FailureKind.INVALID_URL),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/", "127.0.0.1:22", FailureKind.INVALID_URL),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_sent(
    pairs: PairLab, url: str, other: str, address: str | None, kind: FailureKind
) -> None:
    assert 22 not in EXTRA_PORTS
    failed, measurement = pairs.fail(url, other, address=address)
    assert failed.failure.kind is kind
    assert "leg " in failed.failure.detail
    assert measurement.exchanges == ()


def test_a_pair_without_a_second_leg_is_our_own_request_at_fault(pairs: PairLab) -> None:
    with PairEngine(pairs.lab.settings) as engine:
        outcome = engine.pair(build_request(kind=Kind.PAIR))
    assert isinstance(outcome, Failed)
    assert outcome.failure.kind is FailureKind.INVALID_REQUEST


def test_a_person_who_waits_is_told_once(pairs: PairLab) -> None:
    told: list[ProgressStage] = []
    with Server(keeping(response())) as server, PairEngine(pairs.lab.settings) as engine:
        request = build_request(kind=Kind.PAIR, url=server.url(), other=PairTarget(url=server.url()))
        engine.pair(request, lambda stage, _: told.append(stage))
    assert told == [ProgressStage.CONNECTING, ProgressStage.LOADING, ProgressStage.COMPUTING]


def test_what_was_said_before_it_was_asked_for_is_no_answer(pairs: PairLab) -> None:
    """It would be one that took no time at all."""
    said = threading.Event()

    def talkative(peer: Peer) -> None:
        while peer.read_request():
            peer.send(response(b"x" * 3000))
            peer.send(response(b"x" * 3000))
            said.set()

    def waiting(peer: Peer) -> None:
        while peer.read_request():
            wait_for(said.is_set, "the other server to have said too much")
            peer.send(response(b"y" * 3000))

    pairs.lab.zone.a["cdn.example.test"] = ["127.0.0.1"]
    context = pairs.lab.authority.context("cdn.example.test")
    with Server(talkative, context=context) as cdn, Server(waiting) as origin:
        measurement = pairs.measure(cdn.url("/a.css", host="cdn.example.test"), origin.url("/a.css"))
    assert legs(measurement) == [(A, False), (B, False)]
    assert measurement.not_kept == (A,)
