"""How long the certificate that a site shows is still good."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from backend.alerts.judgement.samples import Memory, Sample, Standing, forget_others, newest_us
from backend.alerts.states import State

DAY_US = 86_400_000_000
# What a region saw so long before another says nothing of today: it is not measured any more, or sees no certificate.
_OLD_US = 2 * DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysLeft:
    """Fewer days than `warn` is degraded, fewer than `critical` failing."""

    warn: int
    critical: int


# The run that saw a certificate, the host that showed it, and when it ends.
Shown = tuple[UUID, str, datetime]


def ends_first(seen: Sequence[Shown], *, kind: str, host: str | None) -> Shown | None:
    """Of the certificates that a monitor of a kind saw, the site's own that ends first.

    Third parties' are not the site's to renew.
    """
    own = [one for one in seen if one[1] == host] or (list(seen) if kind == "probe" else [])
    return min(own, key=lambda one: one[2], default=None)


class Reading(NamedTuple):
    """The certificate that ends first of those a region saw at an instant: its host, and the run by its hex."""

    at_us: int
    ends_us: int
    host: str
    run: str


class CertificateEnds:
    """Looks at the certificate that ends first of those the last runs saw (`show`).

    Each region's counts: where servers take turns, one that was forgotten at the renewal is still met by somebody.
    """

    def __init__(self, memory: Memory, limit: DaysLeft) -> None:
        self._limit = limit
        self._seen = {code: Reading(*values) for code, values in memory.get("seen", {}).items()}

    def memory(self) -> Memory:
        return {"seen": {code: list(reading) for code, reading in self._seen.items()}}

    def observe(self, sample: Sample) -> None:
        """A single run says nothing here; certificates are read from connections now and then."""

    def show(self, region: str, reading: Reading) -> None:
        """What a region saw last."""
        self._seen[region] = reading

    def keep(self, regions: Collection[str]) -> None:
        forget_others(self._seen, regions)

    def standing(self, current: State, now_us: int) -> Standing:
        oldest_us = newest_us(reading.at_us for reading in self._seen.values()) - _OLD_US
        fresh = [reading for reading in self._seen.values() if reading.at_us >= oldest_us]
        if not fresh:
            return Standing(state=current, since_us=now_us, firm=False)
        first = min(fresh, key=lambda reading: (reading.ends_us, reading.host))
        left_us = first.ends_us - now_us
        if left_us > self._limit.warn * DAY_US:
            return Standing(state=State.OK, since_us=now_us)
        state = State.FAILING if left_us <= self._limit.critical * DAY_US else State.DEGRADED
        days = self._limit.critical if state is State.FAILING else self._limit.warn
        return Standing(
            state=state,
            since_us=first.ends_us - days * DAY_US,
            after=first.run,
            facts={
                "host": first.host,
                "ends_us": first.ends_us,
                "days": max(0, round(left_us / DAY_US)),
                "expired": left_us <= 0,
            },
        )
