"""Whether a process that looked late at an answer knows that it may have begun sooner: the kernel itself blurs that."""

import threading
import time

from workers.measurement.contention import is_probe_contended
from workers.measurement.messages import ProbeMeasurement
from workers.measurement.timing import answer_phases
from workers.probes.loop import quiet
from workers.tests.probes.conftest import Lab
from workers.tests.servers import Peer, Server, finish, response
from workers.tests.waiting import undisturbed

_APART_S, _AWAY_S, _BUSY_S = 0.05, 0.2, 0.02
_NEAR_US = 10_000


def contended(probe: ProbeMeasurement) -> bool:
    return is_probe_contended(probe.contention_us, answer_phases([hop.timing for hop in probe.hops]).ttfb_us)


@undisturbed
def test_an_answer_that_came_in_parts_while_nobody_looked_may_have_begun_before_the_last_of_them(named: Lab) -> None:
    asked, away = threading.Event(), threading.Event()
    thought_s: list[float] = []

    def script(peer: Peer) -> None:
        peer.read_request()
        began_s = time.monotonic()
        asked.set()
        away.wait(10)
        whole = response()
        thought_s.append(time.monotonic() - began_s)
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
    told = answer_phases([hop.timing for hop in probe.hops]).wait_us
    assert told is not None
    assert probe.contention_us is not None
    assert told - probe.contention_us <= thought_s[0] * 1_000_000 + _NEAR_US
    # A kernel that keeps the two apart tells the first one's time.
    assert contended(probe) or told <= thought_s[0] * 1_000_000 + _NEAR_US


def test_an_answer_that_was_looked_at_when_it_came_began_when_it_is_told(named: Lab) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(response())
        finish(peer)

    with Server(script) as server:
        probes = [named.measure(server.url(host="www.example.test")) for _ in range(5)]
    assert not all(contended(probe) for probe in probes)


@undisturbed
def test_a_loop_that_is_busy_with_others_knows_when_it_looked_in_vain(named: Lab) -> None:
    """An answer that was asked for long before was not there then."""

    def script(peer: Peer) -> None:
        peer.read_request()
        time.sleep(2 * _AWAY_S)
        peer.send(response())
        finish(peer)

    async def be_busy() -> None:
        while time.monotonic() < until_s:
            time.sleep(_BUSY_S)
            await quiet()

    with Server(script) as server:
        until_s = time.monotonic() + 4 * _AWAY_S
        named.engine._loop.submit(be_busy())
        probe = named.measure(server.url(host="www.example.test"))
    assert (probe.contention_us or 0) <= _AWAY_S * 1_000_000
