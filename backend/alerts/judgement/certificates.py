"""How long the certificate that a site shows is still good."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from backend.alerts.judgement.samples import Memory, Sample, Standing
from backend.alerts.states import State

DAY_US = 86_400_000_000


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


class CertificateEnds:
    """Looks at the certificate that ends first of those the last runs saw (`show`)."""

    def __init__(self, memory: Memory, limit: DaysLeft) -> None:
        self._limit = limit
        self._ends_us: int | None = memory.get("ends_us")
        self._host, self._run = str(memory.get("host", "")), str(memory.get("run", ""))

    def memory(self) -> Memory:
        return {"ends_us": self._ends_us, "host": self._host, "run": self._run}

    def observe(self, sample: Sample) -> None:
        """A single run says nothing here; certificates are read from connections now and then."""

    def show(self, ends_us: int, host: str, run: str) -> None:
        """What was seen at the last look."""
        self._ends_us, self._host, self._run = ends_us, host, run

    def keep(self, regions: Collection[str]) -> None:
        """A certificate is the site's, wherever it was seen."""

    def standing(self, current: State, now_us: int) -> Standing:
        if self._ends_us is None:
            return Standing(state=State.OK, since_us=now_us)
        left_us = self._ends_us - now_us
        if left_us > self._limit.warn * DAY_US:
            return Standing(state=State.OK, since_us=now_us)
        state = State.FAILING if left_us <= self._limit.critical * DAY_US else State.DEGRADED
        days = self._limit.critical if state is State.FAILING else self._limit.warn
        return Standing(
            state=state,
            since_us=min(now_us, self._ends_us - days * DAY_US),
            after=self._run,
            facts={
                "host": self._host,
                "ends_us": self._ends_us,
                "days": max(0, round(left_us / DAY_US)),
                "expired": left_us <= 0,
            },
        )
