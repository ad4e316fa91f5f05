"""The wish to end, told by a signal."""

import queue
import signal


class Stop:
    """What a loop asks whether it shall end, and waits on in between; set once, by a signal or by any thread.

    Not a threading.Event: its `set` takes a lock that its `wait` holds, so that a signal which arrives in the wrong
    microsecond of the main thread's wait is waited for forever. A SimpleQueue may be put into at any time.
    """

    def __init__(self) -> None:
        self._is_set = False
        # Empty for a moment while whoever was told puts the wish back.
        self._wishes: queue.SimpleQueue[None] = queue.SimpleQueue()

    def heed(self, *numbers: signal.Signals) -> None:
        """From now on these signals set it. Only in the main thread."""
        for number in numbers:
            signal.signal(number, lambda *_: self.set())

    def set(self) -> None:
        """Everybody who waits, and will wait, is told."""
        self._is_set = True
        self._wishes.put(None)

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout_s: float) -> bool:
        """Waits until set, at most so long (not at all if negative); whether it is set."""
        try:
            self._wishes.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return self._is_set
        # For the next who waits.
        self._wishes.put(None)
        return True
