"""From the spool to the service: in order, in batches, and nothing is deleted that is not acknowledged."""

import logging
import random

from workers.ledger import Recent
from workers.measurement.messages import ReceiptStatus
from workers.service import AbsentError, RefusedError, Service, ServiceError
from workers.spool import BATCH_RESULTS, Entry, Spool

log = logging.getLogger(__name__)

# Without a ring the spool is looked at this often: a ring can be lost with the process that would have heard it.
IDLE_S = 5.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0


class Uploader:
    """Sends the spool, oldest first. One batch at a time; never loses what is not acknowledged."""

    def __init__(self, service: Service, spool: Spool, lost: Recent) -> None:
        self._service, self._spool, self._lost = service, spool, lost
        self._failures = 0
        self._batch = BATCH_RESULTS

    def step(self) -> float:
        """Sends one batch; gives the seconds to wait before the next: 0 when there may be more."""
        waiting = self._spool.batch(max_results=self._batch)
        if not waiting:
            return IDLE_S
        entries = self._wanted(waiting)
        if not entries:
            return 0.0
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
            self._send_pictures(entry)
        receipts = self._service.post_results([entry.line for entry in entries])
        for entry, status in zip(entries, receipts.statuses, strict=True):
            if status in (ReceiptStatus.REFUSED, ReceiptStatus.UNREADABLE):
                log.warning("the service did not store run %s: %s", entry.run_id, status)
            self._spool.remove(entry)

    def _send_pictures(self, entry: Entry) -> None:
        for kind, picture in entry.pictures.items():
            try:
                self._service.put_picture(entry.run_id, kind, picture)
            except (RefusedError, AbsentError) as error:
                log.warning("%s: the picture of run %s is not wanted: %s", kind, entry.run_id, error)

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
