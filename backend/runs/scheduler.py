"""The scheduler: claims what is due when it is due, and publishes it. As many as one likes may run."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import monotonic

from django.utils import timezone

from backend.fleet.actions import restore_broker_accounts
from backend.fleet.broker import BrokerUnavailableError
from backend.runs.broker import BrokerError
from backend.runs.claim import BATCH, claim, next_due
from backend.runs.outbox import publish, publish_again_after_loss, waiting
from backend.runs.outgoing import Outgoing
from backend.runs.partitions import ensure_partitions

log = logging.getLogger(__name__)

# Slots registered meanwhile are seen after this at the latest.
LONGEST_WAIT_S = 1.0
# With thousands of slots a second each tick takes those of a twentieth of a second together instead of one by one.
SHORTEST_WAIT_S = 0.05
# So many batches before the outbox and the broker are looked at again.
_BATCHES = 20
_OUTBOX_EVERY_S = 0.5
_BROKER_RETRY_S = 1.0
_REPORT_EVERY_S = 60.0


class Scheduler:
    """`step` does what is due and gives the seconds until there may be more."""

    def __init__(self, clock: Callable[[], datetime] = timezone.now) -> None:
        self._clock = clock
        self._partitions_made = False
        self._broker_again_at = self._outbox_at = monotonic()
        self._report_at = monotonic() + _REPORT_EVERY_S
        self._claimed = self._published = 0

    def step(self) -> float:
        """Raises django.db.Error when the database cannot be used; then nothing is lost, and it can be called again."""
        if not self._partitions_made:
            ensure_partitions(self._clock())
            self._partitions_made = True
        if monotonic() >= self._outbox_at:
            self._empty_outbox()
            self._outbox_at = monotonic() + _OUTBOX_EVERY_S
        for _ in range(_BATCHES):
            messages = claim(self._clock())
            self._claimed += len(messages)
            self._publish(messages)
            if len(messages) < BATCH:
                break
        self._report()
        return self._wait_s()

    def _empty_outbox(self) -> None:
        """What other processes left, and everything again when Redis was emptied."""
        if not self._broker_answers(self._mend_broker):
            return
        for _ in range(_BATCHES):
            messages = waiting(self._clock())
            self._publish(messages)
            if len(messages) < BATCH:
                break

    def _mend_broker(self) -> None:
        count = publish_again_after_loss(self._clock())
        if count is not None:
            accounts = restore_broker_accounts()
            # A broker begins empty too, and then nothing was lost.
            level = logging.WARNING if count or accounts else logging.INFO
            log.log(level, "the broker was empty: %d runs are published again, %d accounts restored", count, accounts)

    def _publish(self, messages: Sequence[Outgoing]) -> None:
        def push() -> None:
            self._published += publish(messages, now=self._clock())

        self._broker_answers(push)

    def _broker_answers(self, work: Callable[[], None]) -> bool:
        """Does the work unless the broker failed a moment ago: claiming must not wait for it."""
        if monotonic() < self._broker_again_at:
            return False
        try:
            work()
        except (BrokerError, BrokerUnavailableError) as error:
            self._broker_again_at = monotonic() + _BROKER_RETRY_S
            log.warning("what is due stays in the outbox, the broker cannot be reached: %s", error)
            return False
        return True

    def _wait_s(self) -> float:
        due = next_due()
        until_due_s = LONGEST_WAIT_S if due is None else (due - self._clock()) / timedelta(seconds=1)
        return min(max(until_due_s, SHORTEST_WAIT_S), LONGEST_WAIT_S)

    def _report(self) -> None:
        if monotonic() < self._report_at:
            return
        log.info("claimed %d runs, published %d", self._claimed, self._published)
        self._claimed = self._published = 0
        self._report_at = monotonic() + _REPORT_EVERY_S
