"""Long polls: `?wait=30` answers when there is something new, or when the time is over, with what is there then."""

from collections.abc import Callable
from threading import BoundedSemaphore
from time import monotonic, sleep
from typing import Annotated, TypeVar

from ninja import Query

from backend.pooled import give_back

MAX_WAIT_S = 60
_PAUSE_S = 0.25
# A web process has few threads, and who waits holds one: beyond this a wish to wait is not granted, only answered.
_WAITING = BoundedSemaphore(4)

Wait = Annotated[
    int, Query(0, ge=0, le=MAX_WAIT_S, description="Answer when it is done, or after so many seconds as it is then.")
]

Found = TypeVar("Found")


def wait_for(look: Callable[[], Found], done: Callable[[Found], bool], *, wait_s: int) -> Found:
    """What `look` finds once it is `done`, the time is over, or too many wait already. `look` reads anew."""
    found = look()
    if not wait_s or done(found) or not _WAITING.acquire(blocking=False):
        return found
    try:
        deadline = monotonic() + wait_s
        while not done(found) and monotonic() < deadline:
            give_back()
            sleep(_PAUSE_S)
            found = look()
        return found
    finally:
        _WAITING.release()
