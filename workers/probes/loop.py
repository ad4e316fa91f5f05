"""One thread, one epoll, many coroutines. Not asyncio: a coroutine waits for one socket and one instant, or for quiet.

That is all a probe needs, and it leaves a socket's reads, their order and their kernel stamps in the probe's own hands.
"""

import heapq
import os
import select
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from itertools import count
from socket import socket
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")

READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
_BATCH = 64
# What has ended is told when nothing else is to be done, and no later than this: who is woken takes the interpreter
# away from the loop at the next calls of the kernel, which costs several threads at once less than one after the other.
_TELL_WITHIN_NS = 20_000_000
# Who is told mostly has something else to submit at once. So long the loop does not rest then, so that nobody rings: it
# would wake at the first ring and take the interpreter from all the others. (Python's epoll waits for no less.)
_LULL_S = 0.001
# Of those that wait for quiet so many go on in a row, before sockets have their turn again.
_MOST_AT_ONCE = 16
Wait = tuple[socket, int, int]


class DeadlineError(Exception):
    """The instant came before the socket was ready."""


class LoopClosedError(Exception):
    """The loop was closed while work was under way."""


class _Looks(threading.local):
    """Of the loop in this thread: when it looked last, and before that."""

    before_ns = 0
    last_ns = 0


_LOOKS = _Looks()


def looked_ns() -> int:
    """When the loop of this thread looked last which sockets are ready."""
    return _LOOKS.last_ns


def looked_before_ns() -> int:
    """When it looked before that: whoever waited then and goes on now waited in vain."""
    return _LOOKS.before_ns


@types.coroutine
def ready(sock: socket, events: int, deadline_ns: int) -> Generator[Wait, None, None]:
    """Waits until the socket is READABLE or WRITABLE. Raises DeadlineError at `deadline_ns` on the monotonic clock."""
    yield (sock, events, deadline_ns)


@types.coroutine
def quiet() -> Generator[None, None, None]:
    """Waits until no socket is ready, but not for long: what is computed for several in a row finds its own code in the
    processor's caches, and not OpenSSL's."""
    yield


class Promise(Generic[T]):
    """What one thread will tell another: a future of the standard library, without what costs it as much as a probe's
    system calls."""

    __slots__ = ("_error", "_told", "_value", "on_told")

    def __init__(self) -> None:
        self.on_told: Callable[[], None] | None = None
        self._told = threading.Lock()
        self._told.acquire()
        self._error: BaseException | None = None
        self._value: Any = None

    def tell(self, value: T | None, error: BaseException | None = None) -> None:
        """Once."""
        self._value, self._error = value, error
        self._told.release()
        if self.on_told is not None:
            self.on_told()

    def result(self, timeout_s: float = -1) -> T:
        """Waits for it, and raises what was told as an error. Raises TimeoutError after `timeout_s`; -1 is for ever."""
        if not self._told.acquire(timeout=timeout_s):
            raise TimeoutError
        self._told.release()
        if self._error is not None:
            raise self._error
        return cast("T", self._value)


class _Task(Generic[T]):
    """`sock` and `events` are what the kernel watches on its behalf; `spared_ns` a deadline that was let pass."""

    __slots__ = ("alarm", "coroutine", "deadline_ns", "events", "fd", "promise", "sock", "spared_ns")

    def __init__(self, coroutine: Coroutine[Wait | None, None, T], on_told: Callable[[], None] | None) -> None:
        self.coroutine = coroutine
        self.promise: Promise[T] = Promise()
        self.promise.on_told = on_told
        self.sock: socket | None = None
        self.events = 0
        self.fd = -1
        self.deadline_ns = 0
        self.spared_ns = 0
        self.alarm: tuple[int, int] | None = None


class Loop:
    """Runs coroutines in a thread of its own from `start()` to `close()`; `submit` may be called from any thread.

    `enter` is the first thing that thread does: what belongs to a thread, as its network namespace, is changed there.
    """

    def __init__(self, name: str, *, enter: Callable[[], None] | None = None) -> None:
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._bell, select.EPOLLIN)
        self._arrivals: deque[_Task[Any]] = deque()
        self._waiting: dict[int, _Task[Any]] = {}
        self._patient: deque[_Task[Any]] = deque()
        self._alarms: list[tuple[int, int]] = []
        self._sleepers: dict[tuple[int, int], _Task[Any]] = {}
        self._ended: list[tuple[Promise[Any], Any]] = []
        self._quiet_by_ns = 0
        self._order = count()
        self._lock = threading.Lock()
        self._closing = False
        # Whether the bell has to be rung, or arrivals will be looked at anyway.
        self._resting = False
        self._has_told = False
        self._enter = enter
        self._entered: Promise[None] = Promise()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread. Raises what `enter` raised, and then nothing runs."""
        self._thread.start()
        self._entered.result()

    def submit(
        self, coroutine: Coroutine[Wait | None, None, T], on_told: Callable[[], None] | None = None
    ) -> Promise[T]:
        """What the coroutine returns or raises; then `on_told` is called in the loop's thread. Raises LoopClosedError
        unless the loop runs."""
        task = _Task(coroutine, on_told)
        with self._lock:
            if self._closing or not self._thread.is_alive():
                coroutine.close()
                raise LoopClosedError
            self._arrivals.append(task)
            if self._resting:
                self._resting = False
                os.eventfd_write(self._bell, 1)
        return task.promise

    def close(self) -> None:
        """Ends the thread. Work still under way ends with LoopClosedError. Closing again does nothing."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            os.eventfd_write(self._bell, 1)
        if self._thread.ident is not None:
            self._thread.join()
        self._epoll.close()
        os.close(self._bell)

    def _run(self) -> None:
        try:
            if self._enter is not None:
                self._enter()
        except Exception as error:
            self._entered.tell(None, error)
            return
        self._entered.tell(None)
        while not self._closing:
            awaited = bool(self._patient or self._ended)
            ready_now = self._look(awaited=awaited)
            for fd, _ in ready_now:
                if fd == self._bell:
                    os.eventfd_read(self._bell)
                elif fd in self._waiting:
                    self._resume(self._waiting.pop(fd))
                else:
                    self._look_away(fd)
            self._ring()
            while self._arrivals:
                self._resume(self._arrivals.popleft())
            if awaited and (not ready_now or time.monotonic_ns() >= self._quiet_by_ns):
                self._be_quiet()
        for task in (*self._waiting.values(), *self._patient, *self._arrivals):
            self._resume(task, LoopClosedError())
        self._tell_ended()

    def _look(self, *, awaited: bool) -> list[tuple[int, int]]:
        """What is ready; waits for it unless there are arrivals or somebody is `awaited`."""
        # Before it, since a process may be stopped in the middle.
        begun_ns = time.monotonic_ns()
        if self._has_told:
            self._has_told = False
            ready_now = self._epoll.poll(0 if awaited or self._arrivals else _LULL_S, _BATCH)
        else:
            self._resting = True
            ready_now = self._epoll.poll(0 if awaited or self._arrivals else self._pause_s(), _BATCH)
            self._resting = False
        _LOOKS.before_ns = _LOOKS.last_ns
        # Of a full batch others may be ready too.
        if len(ready_now) < _BATCH:
            _LOOKS.last_ns = begun_ns
        return ready_now

    def _be_quiet(self) -> None:
        """Lets those go on that waited for it, and only then is anybody told."""
        for _ in range(min(len(self._patient), _MOST_AT_ONCE)):
            self._resume(self._patient.popleft())
        self._tell_ended()

    def _tell_ended(self) -> None:
        for promise, value in self._ended:
            promise.tell(value)
        self._has_told = bool(self._ended)
        self._ended.clear()

    def _pause_s(self) -> float | None:
        if not self._alarms:
            return None
        return max(0.0, (self._alarms[0][0] - time.monotonic_ns()) / 1e9)

    def _ring(self) -> None:
        """Wakes what has waited long enough. A task has one alarm; when it rings too early it is set anew.

        What has come meanwhile and was not looked at, since others had their turn, is not late: it is handed on, once.
        """
        now_ns = time.monotonic_ns()
        while self._alarms and self._alarms[0][0] <= now_ns:
            task = self._sleepers.pop(heapq.heappop(self._alarms), None)
            if task is None:
                continue
            task.alarm = None
            if task.deadline_ns > now_ns:
                self._set_alarm(task)
            elif task.spared_ns != task.deadline_ns and _has_come(task):
                task.spared_ns = task.deadline_ns
                del self._waiting[task.fd]
                self._resume(task)
            else:
                del self._waiting[task.fd]
                self._look_away(task.fd)
                task.sock = None
                self._resume(task, DeadlineError())

    def _resume(self, task: _Task[Any], error: Exception | None = None) -> None:
        try:
            wait = task.coroutine.send(None) if error is None else task.coroutine.throw(error)
            self._await(task, wait)
        except StopIteration as end:
            self._drop_alarm(task)
            self._want_quiet()
            self._ended.append((task.promise, end.value))
        except Exception as failure:
            self._drop_alarm(task)
            task.coroutine.close()
            task.promise.tell(None, failure)

    def _want_quiet(self) -> None:
        if not self._patient and not self._ended:
            self._quiet_by_ns = time.monotonic_ns() + _TELL_WITHIN_NS

    def _await(self, task: _Task[Any], wait: Wait | None) -> None:
        if wait is None:
            self._drop_alarm(task)
            self._want_quiet()
            self._patient.append(task)
            return
        sock, events, task.deadline_ns = wait
        if sock is not task.sock:
            self._watch(task, sock, events)
        elif events != task.events:
            self._epoll.modify(task.fd, events)
            task.events = events
        self._waiting[task.fd] = task
        if task.alarm is None or task.deadline_ns < task.alarm[0]:
            self._drop_alarm(task)
            self._set_alarm(task)

    def _watch(self, task: _Task[Any], sock: socket, events: int) -> None:
        """Until the socket is closed, or its task waits for another: an old event must never wake a new wait."""
        if task.sock is not None and task.sock is not sock and task.sock.fileno() >= 0:
            self._look_away(task.fd)
        task.fd = sock.fileno()
        try:
            self._epoll.register(task.fd, events)
        except FileExistsError:
            self._epoll.modify(task.fd, events)
        task.sock, task.events = sock, events

    def _look_away(self, fd: int) -> None:
        with suppress(OSError):
            self._epoll.unregister(fd)

    def _set_alarm(self, task: _Task[Any]) -> None:
        task.alarm = (task.deadline_ns, next(self._order))
        self._sleepers[task.alarm] = task
        heapq.heappush(self._alarms, task.alarm)

    def _drop_alarm(self, task: _Task[Any]) -> None:
        """The entry in the heap stays until its time and rings for nobody; the task and its result are free at once."""
        if task.alarm is not None:
            del self._sleepers[task.alarm]
            task.alarm = None


def _has_come(task: _Task[Any]) -> bool:
    look = select.poll()
    look.register(task.fd, task.events)
    return bool(look.poll(0))
