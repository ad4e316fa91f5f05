"""The life of a process that does one thing again and again: ends on SIGTERM, outlives its database's restarts."""

import logging
import signal
from collections.abc import Callable

from django.core.checks import Tags
from django.core.management.base import BaseCommand
from django.db import Error, close_old_connections, connection

from workers.memory import settle_heap
from workers.stopping import Stop

log = logging.getLogger(__name__)

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.1, 5.0


class LoopCommand(BaseCommand):
    """A command that works until it is told to end. The checks left out import all pages: half of its memory."""

    requires_system_checks = [Tags.security]

    def run_from_argv(self, argv: list[str]) -> None:
        """As a process of its own: all that it needs is imported."""
        settle_heap()
        super().run_from_argv(argv)


def stop_on_signals() -> Stop:
    """What SIGTERM or SIGINT sets. Only in the main thread."""
    stop = Stop()
    stop.heed(signal.SIGTERM, signal.SIGINT)
    return stop


def repeat(name: str, step: Callable[[], float], stop: Stop) -> None:
    """Calls `step` until stopped, waiting the seconds it gives. After a database error it begins a new connection."""
    backoff_s = FIRST_BACKOFF_S
    log.info("%s starts", name)
    while not stop.is_set():
        try:
            wait_s, backoff_s = step(), FIRST_BACKOFF_S
        except Error as error:
            log.warning("%s waits %.1f s for the database: %s", name, backoff_s, str(error).strip())
            connection.close()
            wait_s, backoff_s = backoff_s, min(2 * backoff_s, LONGEST_BACKOFF_S)
        stop.wait(wait_s)
    close_old_connections()
    connection.close()
    log.info("%s ends", name)
