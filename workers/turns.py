"""Which process of a region looks for messages that nobody acknowledged: the one whose turn it is.

kombu holds a lock meanwhile, and frees it by a script. A region's account may run none: one without an end would stop
the broker for all regions. A turn ends by itself instead. Two that look at once do no harm, since each message is put
back in a transaction, which comes to nothing where another has put it back.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis


def missing_parts() -> tuple[str, ...]:
    """Private parts that the installed kombu lacks; no agent works unless this is empty."""
    missing = tuple(name for name in ("Mutex", "MutexHeld") if not hasattr(redis, name))
    if not missing and "Mutex" not in redis.QoS.restore_visible.__code__.co_names:
        return ("QoS.restore_visible with Mutex",)
    return missing


def take_turns() -> None:
    """Lets kombu take turns in this process, where it would hold a lock.

    Raises RuntimeError when the installed kombu does not fit.
    """
    if missing := missing_parts():
        raise RuntimeError(f"this kombu lacks {', '.join(missing)}: install the version of requirements.txt")
    redis.Mutex = _turn


@contextmanager
def _turn(client: Any, name: str, expire: int) -> Iterator[None]:
    """Ends after `expire` seconds, however long it takes: see above."""
    if not client.set(name, "", nx=True, ex=expire):
        raise redis.MutexHeld
    yield
