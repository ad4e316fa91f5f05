"""One thread, one epoll, many coroutines. Not asyncio: a coroutine waits for one socket and one instant, nothing else.

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
from concurrent.futures import Future
from itertools import count
from socket import socket
from typing import Any, Generic, TypeVar

T = TypeVar("T")

READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
_BATCH = 64
Wait = tuple[int, int, int]


class DeadlineError(Exception):
    """The instant came before the socket was ready."""


class LoopClosedError(Exception):
    """The loop was closed while work was under way."""


@types.coroutine
def ready(sock: socket, events: int, deadline_ns: int) -> Generator[Wait, None, None]:
    """Waits until the socket is READABLE or WRITABLE. Raises DeadlineError at `deadline_ns` on the monotonic clock."""
    yield (sock.fileno(), events, deadline_ns)


class _Task(Generic[T]):
    __slots__ = ("alarm", "coroutine", "deadline_ns", "fd", "future")

    def __init__(self, coroutine: Coroutine[Wait, None, T]) -> None:
        self.coroutine = coroutine
        self.future: Future[T] = Future()
        self.fd = -1
        self.deadline_ns = 0
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
        self._alarms: list[tuple[int, int]] = []
        self._sleepers: dict[tuple[int, int], _Task[Any]] = {}
        # Told at the end of a round: who is woken takes the interpreter away at the next call of the kernel.
        self._ended: list[tuple[Future[Any], Any]] = []
        self._order = count()
        self._lock = threading.Lock()
        self._closing = False
        # Whether the bell has to be rung, or arrivals will be looked at anyway.
        self._resting = False
        self._enter = enter
        self._entered: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread. Raises what `enter` raised, and then nothing runs."""
        self._thread.start()
        self._entered.result()

    def submit(self, coroutine: Coroutine[Wait, None, T]) -> "Future[T]":
        """The future of what the coroutine returns or raises. Raises LoopClosedError unless the loop runs."""
        task = _Task(coroutine)
        with self._lock:
            if self._closing or not self._thread.is_alive():
                coroutine.close()
                raise LoopClosedError
            self._arrivals.append(task)
            if self._resting:
                self._resting = False
                os.eventfd_write(self._bell, 1)
        return task.future

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
            self._entered.set_exception(error)
            return
        self._entered.set_result(None)
        while not self._closing:
            self._resting = True
            ready_now = self._epoll.poll(0 if self._arrivals else self._pause_s(), _BATCH)
            self._resting = False
            for fd, _ in ready_now:
                if fd == self._bell:
                    os.eventfd_read(self._bell)
                elif fd in self._waiting:
                    self._resume(self._waiting.pop(fd))
            self._ring()
            while self._arrivals:
                self._resume(self._arrivals.popleft())
            self._tell_ended()
        for task in (*self._waiting.values(), *self._arrivals):
            self._resume(task, LoopClosedError())
        self._tell_ended()

    def _tell_ended(self) -> None:
        for future, value in self._ended:
            future.set_result(value)
        self._ended.clear()

    def _pause_s(self) -> float | None:
        if not self._alarms:
            return None
        return max(0.0, (self._alarms[0][0] - time.monotonic_ns()) / 1e9)

    def _ring(self) -> None:
        """Wakes what has waited long enough. A task has one alarm; when it rings too early it is set anew."""
        now_ns = time.monotonic_ns()
        while self._alarms and self._alarms[0][0] <= now_ns:
            task = self._sleepers.pop(heapq.heappop(self._alarms), None)
            if task is None:
                continue
            task.alarm = None
            if task.deadline_ns > now_ns:
                self._set_alarm(task)
            else:
                del self._waiting[task.fd]
                self._epoll.unregister(task.fd)
                self._resume(task, DeadlineError())

    def _resume(self, task: _Task[Any], error: Exception | None = None) -> None:
        try:
            wait = task.coroutine.send(None) if error is None else task.coroutine.throw(error)
            self._await(task, wait)
        except StopIteration as end:
            self._drop_alarm(task)
            self._ended.append((task.future, end.value))
        except Exception as failure:
            self._drop_alarm(task)
            task.coroutine.close()
            task.future.set_exception(failure)

    def _await(self, task: _Task[Any], wait: Wait) -> None:
        task.fd, events, task.deadline_ns = wait
        try:
            self._epoll.modify(task.fd, events | select.EPOLLONESHOT)
        except FileNotFoundError:
            self._epoll.register(task.fd, events | select.EPOLLONESHOT)
        self._waiting[task.fd] = task
        if task.alarm is None or task.deadline_ns < task.alarm[0]:
            self._drop_alarm(task)
            self._set_alarm(task)

    def _set_alarm(self, task: _Task[Any]) -> None:
        task.alarm = (task.deadline_ns, next(self._order))
        self._sleepers[task.alarm] = task
        heapq.heappush(self._alarms, task.alarm)

    def _drop_alarm(self, task: _Task[Any]) -> None:
        """The entry in the heap stays until its time and rings for nobody; the task and its result are free at once."""
        if task.alarm is not None:
            del self._sleepers[task.alarm]
            task.alarm = None
