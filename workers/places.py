"""Instruments that live in shaped networks: one for each profile, made when it is first asked for."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from workers.closing import Closing
from workers.measurement.profile import Profile

T = TypeVar("T")


@dataclass(slots=True)
class _Occupied(Generic[T]):
    """An instrument inside its network; `users` are the runs under way with it."""

    instrument: T
    stack: ExitStack
    users: int = 0


class Places(Closing, Generic[T]):
    """`make` gives the instrument of a profile and leaves on the stack what ends it. For any thread.

    At most `kept` stay open while nobody uses them; the ones longest unused are closed first.
    """

    def __init__(self, make: Callable[[Profile, ExitStack], T], *, kept: int) -> None:
        self._make = make
        self._kept = kept
        self._lock = threading.Lock()
        self._open: OrderedDict[Profile, _Occupied[T]] = OrderedDict()

    @contextmanager
    def through(self, profile: Profile) -> Iterator[T]:
        """The profile's instrument, for one run. Raises what making it raises."""
        with self._lock:
            occupied = self._open.get(profile) or self._occupy(profile)
            self._open.move_to_end(profile)
            occupied.users += 1
        try:
            yield occupied.instrument
        finally:
            with self._lock:
                occupied.users -= 1
                self._close_unused()

    def close(self) -> None:
        with self._lock:
            for occupied in self._open.values():
                occupied.stack.close()
            self._open.clear()

    def _occupy(self, profile: Profile) -> _Occupied[T]:
        with ExitStack() as stack:
            self._open[profile] = _Occupied(self._make(profile, stack), stack.pop_all())
        return self._open[profile]

    def _close_unused(self) -> None:
        unused = [profile for profile, occupied in self._open.items() if not occupied.users]
        for profile in unused[: max(0, len(self._open) - self._kept)]:
            self._open.pop(profile).stack.close()
