"""What time it is by the service: this machine's clock may be hours off, and runs are worth something until an instant.

The courier hears the service's time with every heartbeat and leaves the difference in a file; those that measure read
it now and then. Before the first heartbeat, and where the file cannot be written, the machine's own clock counts.
"""

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

# Less is a network's hesitation, and no reason to doubt a clock.
WORTH_S = 5.0
_READ_EVERY_S = 5.0
# A machine without a battery begins in 1970.
_MOST_S = 100 * 365 * 86_400.0


def skew_in(spool_dir: Path) -> Path:
    """Where the file of an agent is."""
    return spool_dir / "skew"


def tell(path: Path, ahead_s: float) -> None:
    """This clock is so many seconds ahead of the service's."""
    # Telling must not end the courier.
    with contextlib.suppress(OSError):
        if abs(ahead_s) < WORTH_S:
            path.unlink(missing_ok=True)
        else:
            partial = path.with_suffix(".part")
            partial.write_text(f"{ahead_s:.3f}", "ascii")
            partial.replace(path)


def told(path: Path) -> float:
    """For how many seconds this clock is held to be ahead of the service's: none, unless something else was told."""
    with contextlib.suppress(OSError, ValueError):
        ahead_s = float(path.read_text("ascii"))
        # Of a file that was spoilt also what is no number, or no clock's.
        return ahead_s if abs(ahead_s) <= _MOST_S else 0.0
    return 0.0


class ServiceTime:
    """The time by the service's clock, aware UTC. Thread-safe: two that read at once read the same."""

    def __init__(self, path: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path, self._now = path, now
        self._ahead = timedelta()
        self._read_at_s: float | None = None

    def __call__(self) -> datetime:
        if self._read_at_s is None or time.monotonic() - self._read_at_s > _READ_EVERY_S:
            self._ahead, self._read_at_s = timedelta(seconds=told(self._path)), time.monotonic()
        return self._now() - self._ahead
