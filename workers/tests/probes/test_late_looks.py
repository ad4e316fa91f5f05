"""Whether a process that looked late at an answer knows that it may have begun sooner: the kernel itself blurs that."""

import threading
import time

from workers.measurement.contention import is_probe_contended
from workers.measurement.messages import ProbeMeasurement
from workers.measurement.timing import answer_phases
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Peer, Server, finish, response

_APART_S, _AWAY_S = 0.05, 0.2


def contended(probe: ProbeMeasurement) -> bool:
    return is_probe_contended(probe.contention_us, answer_phases([hop.timing for hop in probe.hops]).ttfb_us)


def test_an_answer_that_came_in_parts_while_nobody_looked_may_have_begun_before_the_last_of_them(named: Lab) -> None:
    asked, away = threading.Event(), threading.Event()

    def script(peer: Peer) -> None:
        peer.read_request()
        asked.set()
        away.wait(10)
        whole = response()
        peer.send(whole[:20])
        time.sleep(_APART_S)
        peer.send(whole[20:])
        finish(peer)

    async def look_away() -> None:
        away.set()
        time.sleep(_AWAY_S)

    def hold_up() -> None:
        asked.wait(10)
        named.engine._loop.submit(look_away())

    with Server(script) as server:
        helper = threading.Thread(target=hold_up)
        helper.start()
        probe = named.measure(server.url(host="www.example.test"))
        helper.join()
    # The rest of the time away it lay unread.
    least_us = round((_AWAY_S - 2 * _APART_S) * 1_000_000)
    assert (probe.contention_us or 0) >= least_us
    assert contended(probe)


def test_an_answer_that_was_looked_at_when_it_came_began_when_it_is_told(named: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(response())
        finish(peer)

    with Server(script) as server:
        probes = [named.measure(server.url(host="www.example.test")) for _ in range(5)]
    assert not all(contended(probe) for probe in probes)
