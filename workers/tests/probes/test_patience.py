"""How long a server is borne with whose TLS takes its time, or takes ours."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from workers.measurement.failure import FailureKind, Stage
from workers.tests.netlab.odd_tls import OddServer, Talk
from workers.tests.probes.conftest import NAME, Lab
from workers.tests.servers import response
from workers.tests.waiting import undisturbed


def give_tickets(talk: Talk) -> None:
    for _ in range(1000):
        talk.give_ticket()


def update_keys(talk: Talk) -> None:
    for _ in range(1000):
        talk.update_key()


def say_crumbs(talk: Talk) -> None:
    talk.say(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 90_000)


def asked(act: Callable[[Talk], None]) -> Callable[[Talk], None]:
    """Does that once it was asked for something, and then keeps silent."""

    def talk_on(talk: Talk) -> None:
        talk.shake_hands()
        talk.request()
        act(talk)
        talk.flush()
        talk.pause(60)

    return talk_on


@contextmanager
def odd_site(named: Lab, act: Callable[[Talk], None]) -> Iterator[str]:
    context = named.authority.context(NAME)
    context.set_alpn_protocols(["http/1.1"])
    with OddServer(socket.create_server(("127.0.0.1", 0)), context, act) as server:
        yield f"https://{NAME}:{server.port}/"


@undisturbed
def test_a_server_that_has_begun_to_answer_has_all_of_the_time_for_it(named: Lab) -> None:
    """Half of it is kept for another ClientHello only while nothing shows that the first one got through."""
    hellos: list[Talk] = []

    def take_time(talk: Talk) -> None:
        def in_two_parts(flight: bytes) -> bytes:
            talk.sock.sendall(flight[:100])
            talk.pause(1.8)
            return flight[100:]

        hellos.append(talk)
        talk.shake_hands(in_two_parts)
        talk.request()
        talk.say(response())
        talk.flush()
        talk.sock.recv(1)

    with odd_site(named, take_time) as url:
        measurement = named.measure(url, timeout_us=3_000_000)
    assert measurement.hops[-1].status == 200
    assert len(hellos) == 1


@pytest.mark.parametrize(
    ("act", "stage"), [(give_tickets, Stage.WAIT), (update_keys, Stage.WAIT), (say_crumbs, Stage.DOWNLOAD)]
)
def test_a_flood_of_records_that_bring_next_to_nothing_is_left(
    named: Lab, act: Callable[[Talk], None], stage: Stage
) -> None:
    """Each takes the time of all probes under way."""
    with odd_site(named, asked(act)) as url:
        failed, _ = named.fail(url, timeout_us=20_000_000)
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.RESPONSE_INVALID, stage)


def test_as_many_small_records_as_a_page_may_have_are_read(named: Lab) -> None:
    def say_much(talk: Talk) -> None:
        for _ in range(20):
            talk.give_ticket()
        talk.update_key()
        talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n", *[b"x"] * 30_000)

    with odd_site(named, asked(say_much)) as url:
        measurement = named.measure(url, timeout_us=20_000_000)
    assert measurement.hops[-1].body_bytes == 30_000
