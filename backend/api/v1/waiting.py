"""Long polls: `?wait=30` answers when there is something new, or when the time is over, with what is there then."""

import signal
from collections.abc import Callable
from threading import BoundedSemaphore, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Annotated, TypeVar

from ninja import Query

from backend.pooled import give_back
from workers.stopping import Stop

MAX_WAIT_S = 60
_PAUSE_S = 0.25
# A web process has few threads, and who waits holds one: beyond this a wish to wait is not granted, only answered.
_WAITING = BoundedSemaphore(4)
_ENDING = Stop()

Wait = Annotated[
    int, Query(0, ge=0, le=MAX_WAIT_S, description="Answer when it is done, or after so many seconds as it is then.")
]

Found = TypeVar("Found")


def wait_for(look: Callable[[], Found], done: Callable[[Found], bool], *, wait_s: int) -> Found:
    """What `look`, which reads anew, finds once it is `done`, the time is over, the server ends, or too many wait."""
    found = look()
    if not wait_s or done(found) or not _WAITING.acquire(blocking=False):
        return found
    try:
        deadline = monotonic() + wait_s
        while not done(found) and monotonic() < deadline and not _ENDING.is_set():
            give_back()
            _ENDING.wait(_PAUSE_S)
            found = look()
        return found
    finally:
        _WAITING.release()


def answer_before_the_end() -> None:
    """From here on SIGTERM answers whoever waits, and then does what it would have done: a server ends once all are
    answered. Only the main thread can ask for that; in another one nothing is done."""
    if current_thread() is not main_thread():
        return
    end = signal.getsignal(signal.SIGTERM)

    def told(number: int, _: FrameType | None) -> None:
        _ENDING.set()
        signal.signal(number, end)
        signal.raise_signal(number)

    signal.signal(signal.SIGTERM, told)
