"""The loop: many waits at once, each with its own end."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from workers.probes.loop import READABLE, WRITABLE, DeadlineError, Loop, LoopClosedError, Promise, quiet, ready
from workers.tests.waiting import undisturbed, wait_for


def in_ns(seconds: float) -> int:
    return time.monotonic_ns() + int(seconds * 1e9)


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop("test")
    loop.start()
    yield loop
    loop.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    one.setblocking(False)
    with one, other:
        yield one, other


async def read_once(sock: socket.socket, deadline_ns: int) -> bytes:
    await ready(sock, READABLE, deadline_ns)
    return sock.recv(100)


def test_a_coroutine_waits_for_its_socket(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    future = loop.submit(read_once(pair[0], in_ns(120)))
    pair[1].send(b"hello")
    assert future.result(120) == b"hello"


def test_a_wait_ends_at_its_deadline(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    before = time.monotonic()
    with pytest.raises(DeadlineError):
        loop.submit(read_once(pair[0], in_ns(0.1))).result(120)
    assert 0.1 <= time.monotonic() - before < 100


@undisturbed
def test_what_came_in_time_is_handed_on_however_late_the_loop_looks(loop: Loop) -> None:
    """More sockets are ready than are looked at in one go, and the last of them was to be waited for until now."""
    pairs = [socket.socketpair() for _ in range(100)]
    blocked, go_on = threading.Event(), threading.Event()

    async def keep_busy() -> None:
        blocked.set()
        assert go_on.wait(120)

    async def twice(sock: socket.socket, deadline_ns: int) -> bytes:
        said = await read_once(sock, deadline_ns)
        with suppress(DeadlineError):
            while True:
                await ready(sock, READABLE, deadline_ns)
        return said

    with ExitStack() as stack:
        for one in (one for both in pairs for one in both):
            stack.enter_context(one)
        others = [loop.submit(read_once(one, in_ns(120))) for one, _ in pairs[:-1]]
        # Long enough for a busy machine to have them all wait and all sent to.
        deadline_ns = in_ns(3)
        last = loop.submit(twice(pairs[-1][0], deadline_ns))
        loop.submit(keep_busy())
        assert blocked.wait(120)
        for _, peer in pairs:
            peer.send(b"in time")
        # Still there when the wait is over.
        pairs[-1][1].send(b"x" * 200)
        wait_for(lambda: time.monotonic_ns() > deadline_ns, "the deadline to pass")
        go_on.set()
        assert [one.result(120) for one in others] == [b"in time"] * 99
        assert last.result(120).startswith(b"in time")


def test_a_later_wait_may_have_an_earlier_or_a_later_deadline(
    loop: Loop, pair: tuple[socket.socket, socket.socket]
) -> None:
    async def several() -> list[str]:
        ends = []
        for seconds in (0.2, 0.05, 0.1):
            try:
                await ready(pair[0], READABLE, in_ns(seconds))
            except DeadlineError:
                ends.append("expired")
        await ready(pair[0], WRITABLE, in_ns(120))
        return [*ends, "written"]

    assert loop.submit(several()).result(120) == ["expired"] * 3 + ["written"]


def test_what_a_coroutine_raises_is_told_to_who_submitted_it(loop: Loop) -> None:
    async def broken() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        loop.submit(broken()).result(120)
    assert loop.submit(read_nothing()).result(120) == "alive"


async def read_nothing() -> str:
    return "alive"


async def spent_s() -> float:
    """Processor time of the loop's own thread, whatever else this process does."""
    return time.thread_time()


def test_a_coroutine_may_wait_for_its_sockets_in_turns(loop: Loop) -> None:
    (one, its_peer), (other, others_peer) = socket.socketpair(), socket.socketpair()

    async def in_turns() -> list[bytes]:
        said = [await read_once(one, in_ns(120))]
        its_peer.send(b"third")
        others_peer.send(b"second")
        return [*said, await read_once(other, in_ns(120)), await read_once(one, in_ns(120))]

    with one, its_peer, other, others_peer:
        promise = loop.submit(in_turns())
        its_peer.send(b"first")
        assert promise.result(120) == [b"first", b"second", b"third"]


def test_what_comes_for_nobody_keeps_no_loop_busy(loop: Loop) -> None:
    one, other = socket.socketpair()
    with one, other:
        other.send(b"word")
        assert loop.submit(read_once(one, in_ns(120))).result(120) == b"word"
        other.send(b"for nobody")
        before_s = loop.submit(spent_s()).result(120)
        assert loop.submit(read_nothing()).result(120) == "alive"
        with pytest.raises(DeadlineError):
            loop.submit(read_once(other, in_ns(0.3))).result(120)
        assert loop.submit(spent_s()).result(120) - before_s < 0.1


def test_what_has_ended_is_told_while_others_keep_the_loop_busy(
    loop: Loop, pair: tuple[socket.socket, socket.socket]
) -> None:
    async def look_without_end() -> None:
        while True:
            await ready(pair[0], READABLE, in_ns(120))

    pair[1].send(b"always there")
    loop.submit(look_without_end())
    assert loop.submit(read_nothing()).result(120) == "alive"


def test_who_waits_for_quiet_goes_on_after_those_whose_sockets_are_ready(
    loop: Loop, pair: tuple[socket.socket, socket.socket]
) -> None:
    order: list[str] = []

    async def wait_for_quiet() -> None:
        await quiet()
        order.append("quiet")

    async def read() -> None:
        await read_once(pair[0], in_ns(120))
        order.append("ready")

    async def begin() -> None:
        pair[1].send(b"hello")
        promises.append(loop.submit(wait_for_quiet()))
        promises.append(loop.submit(read()))

    promises: list[Promise[None]] = []
    loop.submit(begin()).result(120)
    for promise in promises:
        promise.result(120)
    assert order == ["ready", "quiet"]


def test_who_waits_for_quiet_has_no_deadline_any_more(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    async def read_and_wait() -> bytes:
        data = await read_once(pair[0], in_ns(0.05))
        await quiet()
        return data

    pair[1].send(b"hello")
    assert loop.submit(read_and_wait()).result(120) == b"hello"
    with pytest.raises(DeadlineError):
        loop.submit(read_once(pair[0], in_ns(0.1))).result(120)


def test_many_may_wait_for_quiet_at_once(loop: Loop) -> None:
    async def wait(number: int) -> int:
        await quiet()
        return number

    promises = [loop.submit(wait(number)) for number in range(100)]
    assert [promise.result(120) for promise in promises] == list(range(100))


def test_closing_ends_who_waits_for_quiet() -> None:
    loop = Loop("test")
    began = threading.Event()

    async def wait_again_and_again() -> None:
        began.set()
        while True:
            await quiet()

    loop.start()
    promise = loop.submit(wait_again_and_again())
    assert began.wait(120)
    loop.close()
    with pytest.raises(LoopClosedError):
        promise.result(120)


def test_a_closed_socket_fails_its_own_coroutine_only(loop: Loop) -> None:
    async def wait_on_closed() -> None:
        sock = socket.socket()
        sock.close()
        await ready(sock, READABLE, in_ns(120))

    with pytest.raises((OSError, ValueError)):
        loop.submit(wait_on_closed()).result(120)
    assert loop.submit(read_nothing()).result(120) == "alive"


def test_many_threads_may_submit_at_once(loop: Loop) -> None:
    futures: list[Promise[str]] = []
    threads = [
        threading.Thread(target=lambda: futures.extend(loop.submit(read_nothing()) for _ in range(50)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [future.result(120) for future in futures] == ["alive"] * 400


def test_closing_ends_every_wait_and_refuses_new_work(pair: tuple[socket.socket, socket.socket]) -> None:
    loop = Loop("test")
    loop.start()
    future = loop.submit(read_once(pair[0], in_ns(60)))
    loop.close()
    loop.close()
    with pytest.raises(LoopClosedError):
        future.result(120)
    with pytest.raises(LoopClosedError):
        loop.submit(read_nothing())


def test_a_loop_can_be_closed_without_having_run() -> None:
    loop = Loop("test")
    with pytest.raises(LoopClosedError):
        loop.submit(read_nothing())
    loop.close()


def test_what_a_thread_has_to_enter_is_entered_before_any_work() -> None:
    entered: list[int] = []

    async def where() -> int:
        return threading.get_ident()

    loop = Loop("test", enter=lambda: entered.append(threading.get_ident()))
    loop.start()
    assert entered == [loop.submit(where()).result(120)]
    loop.close()


def test_a_thread_that_cannot_enter_does_no_work_and_its_starter_hears_why() -> None:
    def refuse() -> None:
        raise PermissionError("no such place")

    loop = Loop("test", enter=refuse)
    with pytest.raises(PermissionError, match="no such place"):
        loop.start()
    loop.close()
