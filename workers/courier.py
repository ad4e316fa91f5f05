"""The process of an agent that talks to the service:
it uploads the spool, tells that the agent lives, and where runs are.
"""

import logging
import os
import queue
import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workers.bell import Bell
from workers.ledger import Recent, holding
from workers.measurement.messages import Heartbeat, HeartbeatReply, Progress, ReceiptStatus
from workers.measurement.routes import HEARTBEAT_INTERVAL_S
from workers.service import RefusedError, Service, ServiceError
from workers.spool import BATCH_RESULTS, Entry, Spool
from workers.version import VERSION

log = logging.getLogger(__name__)

# Without a ring the spool is looked at this often: a ring can be lost with the process that would have heard it.
IDLE_S = 5.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
# More leases than this in one heartbeat would be more than an agent can hold; the rest are results that wait.
MAX_NAMED = 5_000
SKEW_WORTH_A_WORD_S = 5
MAX_PROGRESS = 1_000
FAREWELL_S = 8.0


class Uploader:
    """Sends the spool, oldest first. One batch at a time; never loses what is not acknowledged."""

    def __init__(self, service: Service, spool: Spool, lost: Recent) -> None:
        self._service, self._spool, self._lost = service, spool, lost
        self._failures = 0
        self._batch = BATCH_RESULTS

    def step(self) -> float:
        """Sends one batch; gives the seconds to wait before the next: 0 when there may be more."""
        entries = self._wanted(self._spool.batch(max_results=self._batch))
        if not entries:
            return IDLE_S
        try:
            self._send(entries)
        except RefusedError as error:
            self._refused(entries, error)
        except ServiceError as error:
            return self._failed(error)
        else:
            self._batch = BATCH_RESULTS
        self._failures = 0
        return 0.0

    @property
    def failing(self) -> bool:
        return self._failures > 0

    def _wanted(self, entries: list[Entry]) -> list[Entry]:
        """Without runs that the service has given to another agent."""
        for entry in entries:
            if entry.run_id in self._lost:
                log.info("run %s is no longer ours: its result is dropped", entry.run_id)
                self._spool.remove(entry)
        return [entry for entry in entries if entry.run_id not in self._lost]

    def _send(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._send_picture(entry)
        receipts = self._service.post_results([entry.line for entry in entries])
        for entry, status in zip(entries, receipts.statuses, strict=True):
            if status in (ReceiptStatus.REFUSED, ReceiptStatus.UNREADABLE):
                log.warning("the service did not store run %s: %s", entry.run_id, status)
            self._spool.remove(entry)

    def _send_picture(self, entry: Entry) -> None:
        if entry.screenshot is None:
            return
        try:
            self._service.put_screenshot(entry.run_id, entry.screenshot)
        except RefusedError as error:
            log.warning("the screenshot of run %s is not wanted: %s", entry.run_id, error)

    def _refused(self, entries: list[Entry], error: RefusedError) -> None:
        """One bad result must not hold up the others: smaller batches, down to the one that is to blame."""
        if len(entries) == 1:
            self._spool.set_aside(entries[0].path, str(error))
            self._batch = BATCH_RESULTS
        else:
            self._batch = len(entries) // 2

    def _failed(self, error: ServiceError) -> float:
        self._failures += 1
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 10)) * random.uniform(0.5, 1)
        log.warning("results wait, next try in %.1f s: %s", wait_s, error)
        self._spool.trim()
        return wait_s


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a heartbeat says of this agent besides its runs; None where there is no browser."""

    agent: str
    browser_version: str | None = None
    browser_sandbox: bool | None = None


class Pulse:
    """One heartbeat after another."""

    def __init__(self, service: Service, spool: Spool, held: Path, about: About) -> None:
        self._service, self._spool, self._held, self._about = service, spool, held, about
        self._skewed = False

    def beat(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> HeartbeatReply | None:
        """Tells the service what is held; None when it could not be told."""
        sent_at, sent = now(), time.monotonic()
        waiting = self._spool.run_ids()
        message = Heartbeat(
            agent=self._about.agent,
            agent_version=VERSION,
            sent_at=sent_at,
            browser_version=self._about.browser_version,
            browser_sandbox=self._about.browser_sandbox,
            holding=(*holding(self._held, now_s=sent_at.timestamp()), *waiting)[:MAX_NAMED],
            spooled=len(waiting),
        )
        try:
            reply = self._service.heartbeat(message)
        except ServiceError as error:
            log.warning("the service does not hear us: %s", error)
            return None
        self._judge_clock((reply.received_at - sent_at).total_seconds() - (time.monotonic() - sent) / 2)
        return reply

    def _judge_clock(self, skew_s: float) -> None:
        skewed = abs(skew_s) > SKEW_WORTH_A_WORD_S
        if skewed and not self._skewed:
            log.warning(
                "this clock is %+.1f s off the service's: durations are right, but runs may expire early", -skew_s
            )
        self._skewed = skewed


class Courier:
    """Four threads: the bell, the uploads, the heartbeats and the progress, so that none waits for another."""

    def __init__(
        self, *, bell: Bell, service: Service, spool: Spool, pulse: Pulse, uploader: Uploader, lost: Recent
    ) -> None:
        self._bell, self._service, self._spool = bell, service, spool
        self._pulse, self._uploader, self._lost = pulse, uploader, lost
        self._work, self._stop = threading.Event(), threading.Event()
        self._progress: queue.Queue[Progress] = queue.Queue(MAX_PROGRESS)

    def run(self) -> None:
        """Works until SIGTERM, then sends what lies in the spool once more. Call it in the main thread."""
        signal.signal(signal.SIGTERM, lambda *_: self._stop.set())
        threading.excepthook = _end_the_process
        uploads = threading.Thread(target=self._upload, name="uploads")
        for thread in (uploads, *(threading.Thread(target=each, daemon=True) for each in (self._beat, self._tell))):
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


def make_courier(*, bell: Bell, service: Service, spool: Spool, held: Path, about: About) -> Courier:
    """All the parts of a courier, put together."""
    lost = Recent(MAX_NAMED)
    return Courier(
        bell=bell,
        service=service,
        spool=spool,
        pulse=Pulse(service, spool, held, about),
        uploader=Uploader(service, spool, lost),
        lost=lost,
    )
