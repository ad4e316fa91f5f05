"""Telling the service, again and again, that this agent lives and which runs it holds."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workers.fitness import browser_fault
from workers.ledger import holding
from workers.measurement.messages import Heartbeat, HeartbeatReply
from workers.pauses import boottime_s
from workers.service import Service, ServiceError
from workers.skew import WORTH_S, tell, told
from workers.spool import Spool
from workers.version import build

log = logging.getLogger(__name__)

# More leases than an agent can hold at once; what is beyond are results that wait in a spool that grows.
MAX_NAMED = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a heartbeat says of this agent besides its runs; None where there is no browser."""

    agent: str
    browser_version: str | None = None
    browser_sandbox: bool | None = None


class Pulse:
    """One heartbeat after another. `about` may be told more of this agent in between."""

    def __init__(
        self,
        service: Service,
        spool: Spool,
        held: Path,
        about: About,
        *,
        unfit: Path | None = None,
        skew: Path | None = None,
    ) -> None:
        self._service, self._spool, self._held, self.about = service, spool, held, about
        self._unfit, self._skew = unfit, skew
        self._skewed = False
        # Of a courier that begins anew, what the one before it had written.
        self._ahead_s = 0.0 if skew is None else told(skew)

    def beat(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> HeartbeatReply | None:
        """Tells the service what is held; None when it could not be told."""
        sent_at, sent_s = now(), boottime_s()
        # In this order, or a run that ends in between would be in neither.
        held = holding(self._held, now_s=time.monotonic())
        waiting = self._spool.run_ids()
        message = Heartbeat(
            agent=self.about.agent,
            agent_version=build(),
            sent_at=sent_at,
            browser_version=self.about.browser_version,
            browser_sandbox=self.about.browser_sandbox,
            holding=tuple(dict.fromkeys((*held, *waiting)))[:MAX_NAMED],
            spooled=len(waiting),
            browser_fault=None if self._unfit is None else browser_fault(self._unfit),
            spool_fault=self._spool.fault(),
            clock_ahead_us=round(self._ahead_s * 1_000_000),
        )
        try:
            reply = self._service.heartbeat(message)
        except ServiceError as error:
            log.warning("the service does not hear us: %s", error)
            return None
        most_s = (reply.received_at - sent_at).total_seconds()
        self._judge_clock(most_s - (boottime_s() - sent_s), most_s)
        return reply

    def _judge_clock(self, least_s: float, most_s: float) -> None:
        """The service's clock is ahead of ours by something between the two: it read the heartbeat at some moment
        between sending and answer. Where that lasted so long that our clock may be right or off, nothing is learnt,
        but that what was known before cannot be."""
        known_s = 0.0 if self._skew is None else -told(self._skew)
        skewed = least_s >= WORTH_S or most_s <= -WORTH_S
        skew_s = (least_s + most_s) / 2
        if not skewed and max(-least_s, most_s) >= WORTH_S:
            if least_s - WORTH_S < known_s < most_s + WORTH_S:
                return
            skew_s = 0.0
        # Of all that it may be, the least.
        self._ahead_s = -min(max(0.0, least_s), most_s)
        if self._skew is not None:
            tell(self._skew, -skew_s)
        if skewed and not self._skewed:
            log.warning("this clock is %+.1f s off the service's, whose time counts: set it right", -skew_s)
        self._skewed = skewed
