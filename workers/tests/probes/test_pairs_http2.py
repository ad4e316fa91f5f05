"""Pairs of servers that speak HTTP/2: like is compared with like, and where it cannot be, the result says so."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest

from workers.measurement.failure import FailureKind
from workers.measurement.messages import PairMeasurement
from workers.measurement.pair import Leg, Protocols
from workers.measurement.timing import phases_of
from workers.pairs import PairEngine, order_of
from workers.tests.ports import closed_port
from workers.tests.probes.conftest import Lab
from workers.tests.probes.http2_site import Page, Site, alone, hanging_up, in_frames, refusing, saying
from workers.tests.probes.test_pairs import A_FIRST, B_FIRST, PairLab, legs, one
from workers.tests.servers import Peer, Script, Server, finish, keeping, response
from workers.tests.waiting import undisturbed

A, B = Leg.A, Leg.B
BOTH_ORDERS = pytest.mark.parametrize("run_id", [A_FIRST, B_FIRST])
H2, H1 = "h2", "http/1.1"


class Servers:
    """Real servers over TLS on loopback, each with the protocols it agrees to."""

    def __init__(self, lab: Lab, stack: ExitStack) -> None:
        self._lab = lab
        self._stack = stack

    def serve(self, script: Script, *protocols: str) -> Server:
        return self._stack.enter_context(Server(script, context=self.context(*protocols)))

    def context(self, *protocols: str) -> ssl.SSLContext:
        context = self._lab.authority.context()
        context.set_alpn_protocols(list(protocols))
        return context

    def speaking(self, *protocols: str, site: Site | None = None) -> Server:
        """Answers in what was agreed on; who agreed on nothing it knows is hung up on."""
        otherwise = keeping(response(b"hello")) if H1 in protocols else hanging_up
        return self.serve(alone((site or Site()).talk, otherwise), *protocols)


@pytest.fixture
def servers(lab: Lab) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(lab, stack)


@pytest.fixture
def pairs(lab: Lab) -> Iterator[PairLab]:
    with PairEngine(lab.settings) as engine:
        yield PairLab(lab, engine)


def spoken(measurement: PairMeasurement) -> tuple[list[str | None], Protocols | None]:
    """The protocols of leg a and of leg b, in which the connections and all exchanges agree."""
    by_leg = [{each.protocol for each in measurement.exchanges if each.leg is leg} for leg in Leg]
    assert all(len(found) == 1 for found in by_leg)
    numbers = {each.leg: each.connection for each in measurement.exchanges}
    connections = {each.number: each.protocol for each in measurement.connections}
    assert [connections[numbers[leg]] for leg in Leg] == [next(iter(found)) for found in by_leg]
    return [next(iter(found)) for found in by_leg], measurement.protocols


@BOTH_ORDERS
@pytest.mark.parametrize(
    ("cdn", "origin", "asked", "protocols"),
    [
        ((H2,), (H2,), [H2, H2], Protocols.SAME),
        ((H2, H1), (H2,), [H2, H2], Protocols.SAME),
        ((H2, H1), (H2, H1), [H2, H2], Protocols.SAME),
        ((H2, H1), (H1,), [H1, H1], Protocols.SAME),
        ((H1,), (H2, H1), [H1, H1], Protocols.SAME),
        ((H1,), (H1,), [H1, H1], Protocols.SAME),
        ((H2,), (H1,), [H2, H1], Protocols.DIFFERENT),
        ((H1,), (H2,), [H1, H2], Protocols.DIFFERENT),
    ],
)
def test_like_is_compared_with_like_wherever_both_have_a_protocol_in_common(
    pairs: PairLab,
    servers: Servers,
    run_id: UUID,
    cdn: tuple[str, ...],
    origin: tuple[str, ...],
    asked: list[str],
    protocols: Protocols,
) -> None:
    a, b = servers.speaking(*cdn), servers.speaking(*origin)
    for _ in range(2):
        measurement = pairs.measure(a.url(), b.url(), run_id=run_id)
        assert spoken(measurement) == (asked, protocols)
        first, last = order_of(run_id, reused=False)
        assert legs(measurement) == [(first, False), (last, False), (first, True), (last, True)]
        assert {each.body_bytes for each in measurement.exchanges} == {5}
        assert [each.requests for each in measurement.connections] == [2, 2]


def test_servers_are_met_once_and_asked_nothing_then(pairs: PairLab, servers: Servers) -> None:
    cdn, origin = Site(), Site()
    a, b = servers.speaking(H2, H1, site=cdn), servers.speaking(H2, site=origin)
    for number in (1, 2, 3):
        pairs.measure(a.url(), b.url())
        assert (len(cdn.asked), len(origin.asked)) == (2 * number, 2 * number)
        assert (a.connections, b.connections) == (1 + number, 1 + number)


@undisturbed
def test_every_phase_of_http2_is_seen_on_its_own_leg(pairs: PairLab, servers: Servers) -> None:
    slow = Site(pages={"/": Page(body=b"x" * 40_000, after_s=0.08, headers=(("x-cache", "HIT"), ("etag", '"1"')))})
    a, b = servers.speaking(H2), servers.speaking(H2, site=slow)
    measurement = pairs.measure(a.url(), b.url())
    for reused in (False, True):
        near, far = one(measurement, A, reused=reused), one(measurement, B, reused=reused)
        assert (far.status, far.body_bytes, far.etag) == (200, 40_000, '"1"')
        assert (phases_of(far.timing).wait_us or 0) >= 80_000 > (phases_of(near.timing).wait_us or 0)
        opening = (phases_of(far.timing).connect_us, phases_of(far.timing).tls_us)
        assert opening == (None, None) if reused else None not in opening


@BOTH_ORDERS
@pytest.mark.parametrize("site", [Site(most=1), Site(most=1, pings=True)])
def test_a_server_that_says_good_bye_gives_no_reused_pair(
    pairs: PairLab, servers: Servers, run_id: UUID, site: Site
) -> None:
    a, b = servers.speaking(H2), servers.speaking(H2, site=site)
    measurement = pairs.measure(a.url(), b.url(), run_id=run_id)
    assert B in measurement.not_kept
    assert (B, True) not in legs(measurement)
    assert measurement.protocols is Protocols.SAME


@BOTH_ORDERS
def test_a_server_that_leaves_without_a_word_is_no_failure(pairs: PairLab, servers: Servers, run_id: UUID) -> None:
    def leaving(peer: Peer) -> None:
        Site().talk(_OneAnswer(peer))  # type: ignore[arg-type]  # as much of a peer as a site needs
        finish(peer)

    a, b = servers.serve(alone(leaving, hanging_up), H2), servers.speaking(H2)
    measurement = pairs.measure(a.url(), b.url(), run_id=run_id)
    assert measurement.not_kept == (A,)
    assert (A, True) not in legs(measurement)


def test_a_server_that_asks_whether_one_is_there_keeps_its_connection(pairs: PairLab, servers: Servers) -> None:
    a, b = servers.speaking(H2, site=Site(pings=True)), servers.speaking(H2)
    assert len(pairs.measure(a.url(), b.url()).exchanges) == 4


@BOTH_ORDERS
@pytest.mark.parametrize("otherwise", [hanging_up, in_frames])
def test_beside_a_server_without_tls_one_of_http2_alone_is_asked_in_its_own(
    pairs: PairLab, servers: Servers, run_id: UUID, otherwise: Script
) -> None:
    """And is told apart from it: nothing was agreed on beforehand."""
    a = servers.serve(alone(Site().talk, otherwise), H2)
    with Server(keeping(response(b"hello"))) as b:
        for _ in range(2):
            assert spoken(pairs.measure(a.url(), b.url(), run_id=run_id)) == ([H2, H1], Protocols.DIFFERENT)


def test_one_that_refuses_http1_by_an_alert_is_measured_all_the_same(pairs: PairLab, servers: Servers) -> None:
    a, b = servers.speaking(H2), servers.speaking(H1)
    with refusing(a.port) as door:
        for _ in range(2):
            measurement = pairs.measure(f"https://127.0.0.1:{door}/", b.url())
            assert spoken(measurement) == ([H2, H1], Protocols.DIFFERENT)
            assert [each.port for each in measurement.connections] == [door, b.port]


def test_a_server_that_breaks_off_is_not_asked_again_for_another_protocol(pairs: PairLab, servers: Servers) -> None:
    with Server(keeping(response())) as plain:
        a = servers.serve(hanging_up, "something-else")
        failed, measurement = pairs.fail(a.url(), plain.url())
    assert failed.failure.kind is FailureKind.CONNECTION_RESET
    assert legs(measurement) == [(A, False)]


def test_an_origin_that_was_set_up_anew_is_noticed_at_once(pairs: PairLab, servers: Servers) -> None:
    a = servers.speaking(H2, H1)
    context = servers.context(H2, H1)
    with Server(alone(Site().talk, keeping(response())), context=context) as b:
        assert spoken(pairs.measure(a.url(), b.url())) == ([H2, H2], Protocols.SAME)
        context.set_alpn_protocols([H1])
        assert spoken(pairs.measure(a.url(), b.url(), run_id=B_FIRST)) == ([H1, H1], Protocols.SAME)
        context.set_alpn_protocols([H2, H1])
        assert spoken(pairs.measure(a.url(), b.url())) == ([H1, H1], Protocols.SAME)


def test_what_is_not_followed_by_a_like_pair_is_said_to_be_different(pairs: PairLab, servers: Servers) -> None:
    a = servers.speaking(H2, H1)
    context = servers.context(H2, H1)
    with Server(alone(Site().talk, keeping(response())), context=context) as b:
        pairs.measure(a.url(), b.url())
        context.set_alpn_protocols([H1])
        assert spoken(pairs.measure(a.url(), b.url())) == ([H2, H1], Protocols.DIFFERENT)
        assert spoken(pairs.measure(a.url(), b.url())) == ([H1, H1], Protocols.SAME)


@BOTH_ORDERS
def test_a_leg_that_is_down_is_named_whichever_is_met_first(pairs: PairLab, servers: Servers, run_id: UUID) -> None:
    a = servers.speaking(H2)
    failed, measurement = pairs.fail(a.url(), f"https://127.0.0.1:{closed_port()}/", run_id=run_id)
    assert failed.failure.kind is FailureKind.CONNECT_REFUSED
    assert failed.failure.detail.startswith("Leg b: ")
    assert (B, False) in legs(measurement)
    assert measurement.protocols is None


def test_a_certificate_that_is_wrong_on_one_leg_fails_the_pair_before_it_is_asked(
    pairs: PairLab, servers: Servers, lab: Lab
) -> None:
    site = Site()
    context = lab.authority.context("elsewhere.example.test")
    context.set_alpn_protocols([H2])
    a = servers.speaking(H2)
    with Server(alone(site.talk, hanging_up), context=context) as b:
        failed, _ = pairs.fail(a.url(), b.url())
        assert failed.failure.kind is FailureKind.CERTIFICATE_WRONG_HOST
        assert failed.failure.detail.startswith("Leg b: ")
        assert site.asked == []
        assert spoken(pairs.measure(a.url(), b.url(), ignore_certificate_errors=True)) == ([H2, H2], Protocols.SAME)


def test_another_answer_over_http2_is_seen(pairs: PairLab, servers: Servers) -> None:
    busy = Site(pages={"/": Page(status=503)})
    a, b = servers.serve(alone(busy.talk, keeping(response())), H2, H1), servers.speaking(H2, H1)
    failed, _ = pairs.fail(a.url(), b.url())
    assert failed.failure.kind is FailureKind.STATUS_UNEXPECTED
    assert failed.failure.detail.startswith("Leg a: ")
    assert failed.failure.detail.endswith("503")


def test_garbage_over_http2_is_an_answer_that_cannot_be_read(pairs: PairLab, servers: Servers) -> None:
    a = servers.serve(saying(lambda: iter([b"\xff" * 64])), H2)
    failed, _ = pairs.fail(a.url(), servers.speaking(H2).url())
    assert failed.failure.kind is FailureKind.RESPONSE_INVALID


class _OneAnswer:
    """A peer that is gone when it is read from the second time after a request."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._answered = False
        self.sock = self

    def send(self, data: bytes) -> None:
        self._peer.send(data)
        self._answered = self._answered or b"hello" in data

    def pause(self, seconds: float) -> None:
        self._peer.pause(seconds)

    def recv(self, size: int) -> bytes:
        return b"" if self._answered else self._peer.sock.recv(size)
