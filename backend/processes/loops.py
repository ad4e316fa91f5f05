"""Several loops in one process, each in a thread with a database connection of its own.

One process for all of them, since each process costs as much memory as Django and numpy do. To add a loop, add a line
to LOOPS: its name, and a function that makes its step. A step does what is due and gives the seconds until it wants to
be called again; it raises django.db.Error when the database is gone, and then it is called again later.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from importlib import import_module

from django.db import Error, connection

from backend.runs.loop import repeat
from workers.stopping import Stop

log = logging.getLogger(__name__)

Step = Callable[[], float]
# What a step cannot do now it may be able to do later; the other loops go on.
AFTER_FAULT_S = 5.0
_LOOK_S = 1.0


def _of(module: str, name: str = "step") -> Callable[[], Step]:
    """Makes a step of a module's function, or of its class."""

    def make() -> Step:
        found = getattr(import_module(module), name)
        step: Step = found().step if isinstance(found, type) else found
        return step

    return make


LOOPS: dict[str, Callable[[], Step]] = {
    "judging": _of("backend.alerts.judging", "Judging"),
    "trends": _of("backend.alerts.trends"),
    "scrutiny": _of("backend.alerts.scrutiny"),
    "delivery": _of("backend.alerts.delivery", "Delivering"),
    "previews": _of("backend.alerts.previews"),
    "gates": _of("backend.gates.steps"),
    "experiments": _of("backend.experiments.steps"),
    "callbacks": _of("backend.gates.callbacks"),
    "comparing": _of("backend.compare.steps"),
    "weekly": _of("backend.weekly.steps"),
    "rejudging": _of("backend.runs.rejudging"),
}


def run(loops: Mapping[str, Callable[[], Step]], stop: Stop) -> None:
    """Runs all loops until stopped. Each is made here first, so that what it imports is imported once."""
    threads = [
        threading.Thread(target=repeat, args=(name, _guarded(name, make()), stop), name=name)
        for name, make in loops.items()
    ]
    # The main thread asks the database nothing from here on.
    connection.close()
    for thread in threads:
        thread.start()
    # A thread that ended although nobody asked it to is a fault that only a new process mends.
    while not stop.wait(_LOOK_S):
        if not all(thread.is_alive() for thread in threads):
            stop.set()
    for thread in threads:
        thread.join()


def _guarded(name: str, step: Step) -> Step:
    """A fault of one step is logged, and neither ends its loop nor the others."""

    def guarded() -> float:
        try:
            return step()
        except Error:
            raise
        except Exception:
            log.exception("%s failed; it goes on in %.0f s", name, AFTER_FAULT_S)
            connection.close()
            return AFTER_FAULT_S

    return guarded
