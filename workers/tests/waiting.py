"""Waiting for what will happen soon, without guessing how soon."""

import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from workers.tests.second_tries import measured_again

T = TypeVar("T")
P = ParamSpec("P")
TRIES = 10


def wait_for(condition: Callable[[], T], what: str, timeout_s: float = 120) -> T:
    """The first true value of the condition; fails the test with `what` was awaited when it does not come in time."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(0.01)


def undisturbed(test: Callable[P, None]) -> Callable[P, None]:
    """For a test that says how long something takes: a busy machine spoils it now and then, and a fault each time.

    It begins anew each time: what it makes on disk is in a folder of its own (`mkdtemp`). The second try comes at once,
    those after it when all is quiet.
    """

    @wraps(test)
    def tried(*args: P.args, **kwargs: P.kwargs) -> None:
        for number in range(1, TRIES):
            try:
                return test(*args, **kwargs)
            # Whatever it raises: of flights that came as one there is no second to unpack.
            except Exception as error:
                measured_again(error, at_once=number == 1)
        return test(*args, **kwargs)

    return tried
