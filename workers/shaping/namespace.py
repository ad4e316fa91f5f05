"""A network of its own on this machine: a network namespace, kept alive by a thread that lives in it.

No name of it is written anywhere, so that nothing is left when this process ends, however it ends.
"""

import ctypes
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, TypeVar

from workers.closing import Closing
from workers.shaping.faults import NotPermittedError, ShapingError

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
# Of this thread, whatever thread of the process asks.
_OWN = "/proc/thread-self/ns/net"
_MISSING = (
    "this process may not make a network of its own: it needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW. "
    "Run it as root, or in a container with these capabilities, or measure with the profile 'native'."
)


class Network(Protocol):
    """Somewhere to act: a namespace, or where this process is."""

    fd: int

    def call(self, action: Callable[[], T], /) -> T: ...


class Here:
    """The network of the thread that makes it; to be used in that thread."""

    def __init__(self) -> None:
        self.fd = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)

    def call(self, action: Callable[[], T], /) -> T:
        return action()

    def close(self) -> None:
        os.close(self.fd)


class Namespace(Closing):
    """A network namespace with its loopback down. `call` acts in it, `enter` moves the calling thread to it.

    Raises NotPermittedError where the process has no right to make one.
    """

    def __init__(self, name: str) -> None:
        self._orders: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._made: Future[int] = Future()
        self._thread = threading.Thread(target=self._live, name=f"network {name}", daemon=True)
        self._thread.start()
        self.fd = self._made.result()

    def enter(self) -> None:
        """Moves the calling thread, and what it starts from now on, into this network."""
        _check(_LIBC.setns(self.fd, _CLONE_NEWNET), "enter a network")

    def call(self, action: Callable[[], T], /) -> T:
        """What the action returns or raises, carried out inside. Sockets that it opens stay inside."""
        future: Future[T] = Future()
        self._orders.put((action, future))
        return future.result()

    def sysctl(self, name: str, value: str | int) -> None:
        """Sets one of the network's own settings, as `net.ipv4.tcp_no_metrics_save`. Raises ShapingError."""
        path = Path("/proc/sys", *name.split("."))
        try:
            self.call(lambda: path.write_text(str(value)))
        except OSError as error:
            raise ShapingError(f"{name} cannot be set in a network: {error.strerror}") from error

    def close(self) -> None:
        """Ends the thread, and what was started to end with it. Closing again does nothing."""
        if self.fd >= 0:
            self._orders.put(None)
            self._thread.join()
            os.close(self.fd)
            self.fd = -1

    def _live(self) -> None:
        try:
            _check(_LIBC.unshare(_CLONE_NEWNET), "make a network")
            self._made.set_result(os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC))
        except Exception as error:
            self._made.set_exception(error)
            return
        while (order := self._orders.get()) is not None:
            _carry_out(*order)


def _carry_out(action: Callable[[], Any], future: "Future[Any]") -> None:
    try:
        future.set_result(action())
    except BaseException as error:
        future.set_exception(error)


def _check(returned: int, what: str) -> None:
    if returned == 0:
        return
    code = ctypes.get_errno()
    if code in (1, 13):
        raise NotPermittedError(_MISSING)
    raise ShapingError(f"cannot {what}: {os.strerror(code)}")
