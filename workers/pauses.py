"""Whether this process stood still: stopped, frozen with its container, asleep with its machine, or starved.

Whoever stands still finds every deadline passed when it goes on, and would put that down to whom it waited for. The
clock counts the sleep of the machine too, which the monotonic one leaves out.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

# From here on nobody is blamed for what failed meanwhile.
LEAST_S = 2.0
# So long no busy machine keeps a thread waiting that sleeps (measured with seven others for each processor: 21 ms).
_NOTICED_S = 0.3
TICK_S = 0.5
# Runs last some minutes at most.
_REMEMBERED = 100


def boottime_s() -> float:
    """A clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Pauses:
    """Begins to watch with the first run that asks. Thread-safe."""

    def __init__(
        self, now_s: Callable[[], float] = boottime_s, computed_s: Callable[[], float] = time.process_time
    ) -> None:
        self._now_s, self._computed_s = now_s, computed_s
        self._pauses: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        self._ticked_s: float | None = None
        self._computed_before_s = 0.0
        self._lock = threading.Lock()

    def since(self) -> Callable[[], float]:
        """A question: for how many seconds has this process stood still since now, at most in one go."""
        with self._lock:
            if self._ticked_s is None:
                self._ticked_s, self._computed_before_s = self._now_s(), self._computed_s()
                threading.Thread(target=self._watch, name="pauses", daemon=True).start()
        began_s = self._now_s()
        return lambda: self._longest(began_s)

    def tick(self) -> None:
        """Nothing stands still at this moment. Who computed meanwhile kept the interpreter from this watch, and did not
        stand still, unless for long."""
        with self._lock:
            now_s, computed_s = self._now_s(), self._computed_s()
            stood_s = now_s - (now_s if self._ticked_s is None else self._ticked_s) - TICK_S
            idle = computed_s - self._computed_before_s < stood_s
            if stood_s >= (_NOTICED_S if idle else LEAST_S):
                self._pauses.append((now_s, stood_s))
            self._ticked_s, self._computed_before_s = now_s, computed_s

    def _longest(self, began_s: float) -> float:
        """Whoever goes on first may be the one who asks."""
        self.tick()
        with self._lock:
            return max((min(stood_s, at_s - began_s) for at_s, stood_s in self._pauses if at_s > began_s), default=0.0)

    def _watch(self) -> None:
        while True:
            time.sleep(TICK_S)
            self.tick()
