"""The process of an agent that talks to the service:
it uploads the spool, tells that the agent lives, and where runs are.
"""

import logging
import os
import queue
import signal
import threading
from collections.abc import Callable

from workers.bell import Bell
from workers.ledger import Recent
from workers.measurement.messages import Progress
from workers.measurement.routes import HEARTBEAT_INTERVAL_S
from workers.pulse import MAX_NAMED, About, Pulse
from workers.service import Service, ServiceError
from workers.spool import Spool
from workers.stopping import Stop
from workers.uploader import Uploader

log = logging.getLogger(__name__)

MAX_PROGRESS = 1_000
# How long the last uploads may take after SIGTERM; what is left then waits on disk for the next start.
FAREWELL_S = 8.0


class Courier:
    """A thread each for the bell, the uploads, the heartbeats and the progress, so that none waits for another.

    `look_around` finds out about this machine. Trying a browser takes seconds, so the first heartbeat goes without.
    """

    def __init__(
        self, *, bell: Bell, service: Service, spool: Spool, pulse: Pulse, look_around: Callable[[], About]
    ) -> None:
        self._bell, self._service, self._pulse, self._look_around = bell, service, pulse, look_around
        self._lost = Recent(MAX_NAMED)
        self._uploader = Uploader(service, spool, self._lost)
        self._work, self._stop = threading.Event(), Stop()
        self._progress: queue.Queue[Progress] = queue.Queue(MAX_PROGRESS)

    def run(self) -> None:
        """Works until SIGTERM, then sends what lies in the spool once more. Call it in the main thread."""
        self._stop.heed(signal.SIGTERM)
        threading.excepthook = _end_the_process
        uploads = threading.Thread(target=self._upload, name="uploads")
        others = [threading.Thread(target=each, daemon=True) for each in (self._beat, self._tell, self._learn)]
        for thread in (uploads, *others):
            thread.start()
        while not self._stop.is_set():
            self._listen()
        self._work.set()
        uploads.join(FAREWELL_S)

    def _listen(self) -> None:
        rung, told = self._bell.listen(0.5)
        for progress in told:
            try:
                self._progress.put_nowait(progress)
            except queue.Full:
                log.debug("progress of run %s dropped: the service is slow", progress.run_id)
        if rung and not self._uploader.failing:
            self._work.set()

    def _upload(self) -> None:
        while True:
            self._work.clear()
            wait_s = self._uploader.step()
            if self._stop.is_set() and (wait_s > 0):
                return
            self._work.wait(wait_s)

    def _beat(self) -> None:
        wait_s = 0.0
        while not self._stop.wait(wait_s):
            reply = self._pulse.beat()
            if reply is not None:
                for run_id in reply.lost:
                    self._lost.add(run_id)
                # The service is there again, so there is nothing to back off from.
                self._work.set()
            wait_s = HEARTBEAT_INTERVAL_S

    def _learn(self) -> None:
        self._pulse.about = self._look_around()

    def _tell(self) -> None:
        while True:
            progress = self._progress.get()
            try:
                self._service.progress(progress)
            except ServiceError as error:
                log.debug("progress of run %s not told: %s", progress.run_id, error)


def _end_the_process(fault: threading.ExceptHookArgs) -> None:
    """A courier without one of its threads would look alive and do half its work: the parent starts another."""
    log.critical("the courier failed in %s", fault.thread and fault.thread.name, exc_info=fault.exc_value)
    os._exit(os.EX_SOFTWARE)
