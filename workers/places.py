"""Instruments that live in shaped networks: one for each profile, made when it is first asked for, and anew once its
network has ended by itself.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from workers.closing import Closing
from workers.measurement.profile import Profile
from workers.shaping.place import ShapedPlace

T = TypeVar("T", bound=Closing)


@dataclass(slots=True)
class _Occupied(Generic[T]):
    """An instrument inside its network; `users` are the runs under way with it."""

    place: ShapedPlace
    instrument: T
    stack: ExitStack
    users: int = 0


class Places(Closing, Generic[T]):
    """`open_place` makes a profile's network, `equip` the instrument inside it. For any thread.

    At most `kept` stay open while nobody uses them; the ones longest unused are closed first.
    """

    def __init__(
        self, open_place: Callable[[Profile], ShapedPlace], equip: Callable[[ShapedPlace], T], *, kept: int
    ) -> None:
        self._open_place = open_place
        self._equip = equip
        self._kept = kept
        self._lock = threading.Lock()
        self._open: OrderedDict[Profile, _Occupied[T]] = OrderedDict()

    @contextmanager
    def through(self, profile: Profile) -> Iterator[T]:
        """The profile's instrument, for one run. Raises what making it raises, and ShapingError at the end of a run in
        which its network ended: what was seen meanwhile is nobody else's fault.
        """
        with self._lock:
            occupied = self._standing(profile) or self._occupy(profile)
            self._open.move_to_end(profile)
            occupied.users += 1
        try:
            yield occupied.instrument
            occupied.place.check()
        finally:
            with self._lock:
                self._leave(profile, occupied)

    def close(self) -> None:
        with self._lock:
            for occupied in self._open.values():
                occupied.stack.close()
            self._open.clear()

    def _standing(self, profile: Profile) -> _Occupied[T] | None:
        """What is open; of a network that has ended nothing, and its last user closes it."""
        occupied = self._open.get(profile)
        if occupied is None or occupied.place.stands:
            return occupied
        del self._open[profile]
        if not occupied.users:
            occupied.stack.close()
        return None

    def _occupy(self, profile: Profile) -> _Occupied[T]:
        with ExitStack() as stack:
            place = stack.enter_context(self._open_place(profile))
            instrument = self._equip(place)
            stack.enter_context(instrument)
            self._open[profile] = _Occupied(place, instrument, stack.pop_all())
        return self._open[profile]

    def _leave(self, profile: Profile, occupied: _Occupied[T]) -> None:
        occupied.users -= 1
        if not occupied.users and self._open.get(profile) is not occupied:
            occupied.stack.close()
        self._close_unused()

    def _close_unused(self) -> None:
        unused = [profile for profile, occupied in self._open.items() if not occupied.users]
        for profile in unused[: max(0, len(self._open) - self._kept)]:
            self._open.pop(profile).stack.close()
