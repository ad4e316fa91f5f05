"""Whose turn it is to load a page, among the agents of one user on one machine.

Pages that load at once keep each other waiting for processors, and their times are nobody's then. The queue is a file
that is always empty, and the kernel keeps it: who loads has locked one of its first bytes, who waits the byte of the
instant at which it came. Such a lock (F_OFD_SETLK of fcntl(2)) is an open file's, so that threads have their own, and
ends with its process, however that ends.
"""

import errno
import fcntl
import logging
import os
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from workers.measurement.messages import RunRequest

log = logging.getLogger(__name__)

# Who has waited so long loads beside others. All that is ahead usually takes less; where a person waits, one page does.
LONGEST_WAIT_S, HURRIED_WAIT_S = 120.0, 30.0
# A lock that becomes free tells nobody who waits for any of several.
_LOOK_S = 0.1
# Two pages that begin at once on two processors disturb each other (measured, deploy/SCALING.md).
_PROCESSORS_A_PAGE = 2
# Where in the file those wait whom a person waits for, and all others behind them. What lies before are turns.
_HURRIED, _OTHERS = 1 << 32, 1 << 62
# A `struct flock`: type, whence, start, length (0: without an end), process.
_FLOCK = struct.Struct("hhqqi")


def pages_at_once(browsers: int) -> int:
    """How many pages may load at once on this machine: what its processors carry, and what one agent is told to."""
    return max(browsers, len(os.sched_getaffinity(0)) // _PROCESSORS_A_PAGE)


def usual_folder() -> Path:
    """Where all agents of this user meet. `tempfile` would look for another place where one agent cannot write."""
    return Path(os.environ.get("TMPDIR") or "/tmp") / f"firstbyte-pages-{os.geteuid()}"


def patience_s(request: RunRequest, now: datetime) -> float:
    """How long a run may wait for its turn. Where half of its window has passed, more pages are asked of this machine
    than it can load in turns, and some would be missed: then it waits no longer.
    """
    half = request.scheduled_for + (request.expires_at - request.scheduled_for) / 2
    most_s = HURRIED_WAIT_S if request.urgent else LONGEST_WAIT_S
    return max(0.0, min(most_s, (half - now).total_seconds()))


class PageTurns:
    """Gives `at_once` turns at a time. For any thread, and for processes that are forked."""

    def __init__(self, folder: Path, at_once: int) -> None:
        self._folder, self._at_once = folder, at_once
        self._is_refused = False

    def tell(self) -> None:
        """Logs whether agents of this machine can know of each other."""
        try:
            os.close(_open(self._folder))
        except OSError as error:
            self._refused(error)
        else:
            log.info("pages load %d at once, with those of other agents that use %s", self._at_once, self._folder)

    @contextmanager
    def taken(self, *, hurried: bool, patience_s: float) -> Iterator[None]:
        """Waits for a turn, which is over when the context is left. Who came first is first, who is `hurried` sooner.

        Whoever has waited for `patience_s`, or cannot take turns here, goes on without: a page beside others is worth
        more than none, and says itself whether they disturbed it.
        """
        with ExitStack() as stack:
            try:
                queue = _open(self._folder)
                stack.callback(os.close, queue)
                self._wait(queue, hurried, patience_s)
                self._is_refused = False
            except OSError as error:
                self._refused(error)
            yield

    def _wait(self, queue: int, hurried: bool, patience_s: float) -> None:
        until_s = time.monotonic() + patience_s
        place = _stand_in_line(queue, _HURRIED if hurried else _OTHERS)
        while not self._is_next(queue, place):
            if time.monotonic() >= until_s:
                log.info("a page has waited %.1f s for its turn in vain: it loads beside others", patience_s)
                break
            time.sleep(_LOOK_S)
        _lock(queue, place, fcntl.F_UNLCK)

    def _is_next(self, queue: int, place: int) -> bool:
        """Whether nobody waits before this place, and there is a turn, which is then taken."""
        return not _is_locked(queue, _HURRIED, place - _HURRIED) and any(
            _lock(queue, turn) for turn in range(self._at_once)
        )

    def _refused(self, error: OSError) -> None:
        if not self._is_refused:
            log.warning("pages do not load in turns with those of other agents on this machine: %s", error)
        self._is_refused = True


def _open(folder: Path) -> int:
    """The queue. Raises OSError where it cannot be, or is somebody else's: anybody may make that folder."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        facts = os.fstat(place)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise PermissionError(errno.EPERM, "others than this user may write there", str(folder))
        return os.open("turns", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=place)
    finally:
        os.close(place)


def _stand_in_line(queue: int, line: int) -> int:
    """A place behind all that came before on this line; two may come in the same microsecond."""
    place = line + time.monotonic_ns() // 1000
    while not _lock(queue, place):
        place += 1
    return place


def _lock(queue: int, byte: int, how: int = fcntl.F_WRLCK) -> bool:
    """Locks a byte, or unlocks it; False for one that another has locked."""
    try:
        fcntl.fcntl(queue, fcntl.F_OFD_SETLK, _FLOCK.pack(how, os.SEEK_SET, byte, 1, 0))
    except BlockingIOError:
        return False
    return True


def _is_locked(queue: int, first: int, length: int) -> bool:
    """Whether another has locked any of these bytes."""
    found = fcntl.fcntl(queue, fcntl.F_OFD_GETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, first, length, 0))
    return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)
