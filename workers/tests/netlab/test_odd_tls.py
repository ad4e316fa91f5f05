"""What TLS allows and hardly anybody does: phases, round trips, records and findings stay right, failures are typed."""

import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workers.diagnosis.probe.thinking import think_us
from workers.measurement.evidence import Depth, Exchange, TrialEvidence
from workers.measurement.failure import FailureKind, Stage
from workers.measurement.finding import FindingId as Id
from workers.measurement.finding import NotJudgedReason
from workers.measurement.messages import Failed, Measured, ProbeMeasurement
from workers.tests.netlab.chains import Recipe, Vault
from workers.tests.netlab.column import diagnosis_of
from workers.tests.netlab.lab import Lab
from workers.tests.netlab.network import NAME
from workers.tests.netlab.odd_tls import Act, OddServer, Reframe, Talk, in_pieces, pad_records, server_context
from workers.tests.waiting import undisturbed

pytestmark = pytest.mark.usefixtures("ahead")

RTT_MS = 80
BODY_BYTES = 20_000
_HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {BODY_BYTES}\r\n\r\n".encode()
PAGE = _HEAD + b"x" * BODY_BYTES
PARTS = tuple(PAGE[at : at + 4096] for at in range(0, len(PAGE), 4096))
CHANGE_CIPHER_SPEC = bytes.fromhex("140303000101")

Tweak = Callable[[ssl.SSLContext], object]


class Site:
    """Where odd servers stand, one after the other."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        vault = Vault(folder)
        lab.configure(ca_file=vault.ca_file)
        self._chain = vault.chain(Recipe(names=(NAME,)))

    def probe(self, act: Act, tweak: Tweak = bool, depth: Depth = Depth.LIGHT) -> Measured | Failed:
        context = server_context(self._chain)
        tweak(context)
        listener = self._lab.server.call(lambda: socket.create_server((self._lab.server_address, 0)))
        with OddServer(listener, context, act) as server:
            return self._lab.probe(f"https://{NAME}:{server.port}/", depth=depth)

    def measure(self, act: Act, tweak: Tweak = bool, depth: Depth = Depth.LIGHT) -> ProbeMeasurement:
        outcome = self.probe(act, tweak, depth)
        assert isinstance(outcome, Measured), outcome
        assert isinstance(outcome.measurement, ProbeMeasurement)
        return outcome.measurement


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Lab(rtt_ms=RTT_MS) as lab:
        lab.server.sysctl("net.ipv4.tcp_slow_start_after_idle", 0)
        yield Site(lab, tmp_path_factory.mktemp("site"))


def answering(answer: Act, reframe: Reframe = bytes) -> Act:
    """Shakes hands and gives that answer to each request."""

    def act(talk: Talk) -> None:
        talk.shake_hands(reframe)
        while talk.request():
            answer(talk)
            talk.flush()

    return act


def say_page(talk: Talk) -> None:
    talk.say(*PARTS)


def first(measured: ProbeMeasurement) -> tuple[TrialEvidence, Exchange]:
    assert measured.evidence is not None
    trial = measured.evidence.trials[0]
    return trial, trial.exchanges[0]


def waited_rtt(exchange: Exchange) -> int:
    """For the first byte that could be read, in round trips."""
    assert exchange.first_readable_us is not None
    assert exchange.sent_us is not None
    return round((exchange.first_readable_us - exchange.sent_us) / 1000 / RTT_MS)


def old(context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2


def without_tickets(context: ssl.SSLContext) -> None:
    context.num_tickets = 0


@undisturbed
def test_filled_up_records_are_no_large_chain(site: Site) -> None:
    measured = site.measure(answering(say_page), lambda context: pad_records(context, 4096), Depth.DEEP)
    assert measured.connections[0].tls_round_trips == 2
    diagnosis = diagnosis_of(measured)
    open_ones = {one.id: one.reason for one in diagnosis.not_judged}
    assert open_ones[Id.TLS_CHAIN_EXCEEDS_IW] is NotJudgedReason.PADDED
    said = {one.id for one in diagnosis.findings}
    assert not said & {Id.TLS_CHAIN_EXCEEDS_IW, Id.TLS_HANDSHAKE_STALL, Id.TLS_CERT_FLUSH_STALL, Id.TCP_IW_SMALL}


@undisturbed
def test_a_new_key_in_the_middle_of_a_page_is_no_pause(site: Site) -> None:
    def answer(talk: Talk) -> None:
        talk.say(*PARTS[:2])
        talk.update_key()
        talk.say(*PARTS[2:])

    trial, exchange = first(site.measure(answering(answer)))
    assert exchange.body_bytes == BODY_BYTES
    assert waited_rtt(exchange) == 1
    behind = [one for one in trial.records if one.at_us >= (exchange.first_application_us or 0)]
    assert [one.application for one in behind] == [True, True, False, True, True, True]


@undisturbed
def test_a_new_key_before_the_answer_is_none_of_it(site: Site) -> None:
    def answer(talk: Talk) -> None:
        talk.update_key()
        talk.flush()
        talk.pause(0.24)
        talk.say(*PARTS)

    _, exchange = first(site.measure(answering(answer)))
    assert exchange.first_raw_us is not None
    assert exchange.sent_us is not None
    assert exchange.first_raw_us - exchange.sent_us < 1.5 * RTT_MS * 1000
    assert waited_rtt(exchange) >= 4


@undisturbed
def test_a_server_that_shakes_hands_again_before_it_answers_is_followed_and_does_not_think(site: Site) -> None:
    def answer(talk: Talk) -> None:
        talk.shake_hands_again()
        say_page(talk)

    measured = site.measure(answering(answer), old, Depth.DEEP)
    trial, exchange = first(measured)
    assert exchange.body_bytes == BODY_BYTES
    assert waited_rtt(exchange) == 3
    assert think_us(trial, exchange) is None
    # Nor are its flights those of an answer that stopped for want of a window.
    said = {one.id for one in diagnosis_of(measured).findings}
    assert not said & {Id.TCP_IW_SMALL, Id.HTTP_THINK_TIME, Id.HTTP_BODY_STALL, Id.TCP_NAGLE_DELAYED_ACK}


def test_a_server_that_shakes_hands_again_and_again_is_left(site: Site) -> None:
    def answer(talk: Talk) -> None:
        while True:
            talk.shake_hands_again()

    outcome = site.probe(answering(answer), old)
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.stage) == (FailureKind.RESPONSE_INVALID, Stage.WAIT)


@undisturbed
def test_a_ticket_in_the_middle_of_a_page_is_counted_and_is_no_pause(site: Site) -> None:
    def answer(talk: Talk) -> None:
        talk.say(*PARTS[:1])
        talk.give_ticket()
        talk.say(*PARTS[1:])

    trial, exchange = first(site.measure(answering(answer), without_tickets))
    assert trial.handshake is not None
    assert trial.handshake.tickets == 1
    assert (exchange.body_bytes, waited_rtt(exchange)) == (BODY_BYTES, 1)


@undisturbed
def test_a_ticket_that_comes_long_after_the_answer_is_taken(site: Site) -> None:
    def answer(talk: Talk) -> None:
        talk.say(*PARTS)
        talk.flush()
        talk.pause(0.5)
        talk.give_ticket()

    measured = site.measure(answering(answer), without_tickets, Depth.DEEP)
    assert Id.TLS_RESUMPTION_MISSING not in {one.id for one in diagnosis_of(measured).findings}


def test_many_tickets_are_all_counted(site: Site) -> None:
    def tweak(context: ssl.SSLContext) -> None:
        context.num_tickets = 60

    trial, exchange = first(site.measure(answering(say_page), tweak))
    assert trial.handshake is not None
    assert (trial.handshake.tickets, exchange.body_bytes) == (60, BODY_BYTES)


@pytest.mark.parametrize(("tweak", "round_trips"), [(bool, 1), (old, 2)])
@undisturbed
def test_messages_over_records_of_one_byte_take_no_round_trip_more(site: Site, tweak: Tweak, round_trips: int) -> None:
    def once() -> Reframe:
        """Only the first flight of the server is readable to those who cut it."""
        flights: list[bytes] = []

        def reframe(flight: bytes) -> bytes:
            flights.append(flight)
            return in_pieces(flight) if len(flights) == 1 else flight

        return reframe

    measured = site.measure(lambda talk: answering(say_page, once())(talk), tweak)
    assert measured.connections[0].tls_round_trips == round_trips
    assert first(measured)[1].body_bytes == BODY_BYTES


@undisturbed
def test_a_retried_hello_over_records_of_one_byte_is_a_retried_hello(site: Site) -> None:
    def tweak(context: ssl.SSLContext) -> None:
        context.set_ecdh_curve("secp384r1")

    measured = site.measure(answering(say_page, in_pieces), tweak)
    trial, exchange = first(measured)
    assert trial.handshake is not None
    assert trial.handshake.hello_retry
    assert measured.connections[0].tls_round_trips == 2
    assert exchange.body_bytes == BODY_BYTES


@undisturbed
def test_a_needless_change_of_cipher_is_passed_over(site: Site) -> None:
    def reframe(flight: bytes) -> bytes:
        hello_bytes = 5 + int.from_bytes(flight[3:5])
        return flight[:hello_bytes] + 3 * CHANGE_CIPHER_SPEC + flight[hello_bytes:]

    measured = site.measure(answering(say_page, reframe))
    assert measured.connections[0].tls_round_trips == 1
    assert first(measured)[1].body_bytes == BODY_BYTES


@pytest.mark.parametrize("before", [CHANGE_CIPHER_SPEC, 20 * CHANGE_CIPHER_SPEC, b"\x17\x03\x03\0\0"])
def test_what_must_not_come_before_the_servers_hello_ends_the_handshake(site: Site, before: bytes) -> None:
    outcome = site.probe(answering(say_page, lambda flight: before + flight))
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.stage) == (FailureKind.TLS_FAILED, Stage.TLS)
