"""How long the certificate that a site shows is still good."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from backend.alerts.judgement.samples import Memory, Sample, Standing, forget_others, newest_us
from backend.alerts.states import State
from backend.instants import to_us

DAY_US = 86_400_000_000
# What a region saw so long before another says nothing of today: it is not measured any more, or sees no certificate.
_OLD_US = 2 * DAY_US


# A certificate that lives six days always ends within fourteen. ACME clients renew with a third of the life left, or of
# lives of less than ten days with half of it: with less than so much of it left nobody has.
_WARN_PART, _CRITICAL_PART = 4, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysLeft:
    """Fewer days than `warn` is degraded, fewer than `critical` failing; fewer still where so many are much of the
    certificate's whole life."""

    warn: int
    critical: int

    def limit_us(self, state: State, lifetime_us: int | None) -> int:
        """How long before its end a certificate is in that state."""
        days, part = (self.critical, _CRITICAL_PART) if state is State.FAILING else (self.warn, _WARN_PART)
        return days * DAY_US if lifetime_us is None else min(days * DAY_US, lifetime_us // part)


class Shown(NamedTuple):
    """The run that saw a certificate, the host that showed it, and its life; runs of older versions tell no begin."""

    run_id: UUID
    host: str
    begins: datetime | None
    ends: datetime


def ends_first(seen: Sequence[Shown], *, kind: str, host: str | None) -> Shown | None:
    """Of the certificates that a monitor of a kind saw, the site's own that ends first.

    Third parties' are not the site's to renew.
    """
    own = [one for one in seen if one.host == host] or (list(seen) if kind == "probe" else [])
    return min(own, key=lambda one: one.ends, default=None)


class Reading(NamedTuple):
    """The certificate that ends first of those a region saw at an instant: its host, and the run by its hex."""

    at_us: int
    ends_us: int
    host: str
    run: str
    lifetime_us: int | None = None

    @classmethod
    def of(cls, shown: Shown, *, at_us: int) -> "Reading":
        ends_us = to_us(shown.ends)
        lifetime_us = None if shown.begins is None else ends_us - to_us(shown.begins)
        return cls(at_us, ends_us, shown.host, shown.run_id.hex, lifetime_us)


class CertificateEnds:
    """Looks at the certificate that ends first of those the last runs saw (`show`).

    Each region's counts: where servers take turns, one that was forgotten at the renewal is still met by somebody.
    """

    def __init__(self, memory: Memory, limit: DaysLeft) -> None:
        self._limit = limit
        self._seen = {code: Reading(*values) for code, values in memory.get("seen", {}).items()}
        for code, lifetime_us in memory.get("lifetimes_us", {}).items():
            self._seen[code] = self._seen[code]._replace(lifetime_us=lifetime_us)
        # What was late before anybody looked is so since then, as far as can be said.
        self._began_us: int | None = memory.get("began_us", 0 if self._seen else None)

    def memory(self) -> Memory:
        return {
            "seen": {code: list(reading[:-1]) for code, reading in self._seen.items()},
            # Apart from the others, whose number judges of an earlier version count on.
            "lifetimes_us": {code: one.lifetime_us for code, one in self._seen.items() if one.lifetime_us is not None},
            "began_us": self._began_us,
        }

    def observe(self, sample: Sample) -> None:
        """A single run says nothing here; certificates are read from connections now and then."""

    def show(self, region: str, reading: Reading) -> None:
        """What a region saw last."""
        self._began_us = reading.at_us if self._began_us is None else self._began_us
        self._seen[region] = reading

    def keep(self, regions: Collection[str]) -> None:
        forget_others(self._seen, regions)

    def standing(self, current: State, now_us: int) -> Standing:
        oldest_us = newest_us(reading.at_us for reading in self._seen.values()) - _OLD_US
        fresh = [reading for reading in self._seen.values() if reading.at_us >= oldest_us]
        if not fresh:
            return Standing(state=current, since_us=now_us, firm=False)
        state, first = self._worst(fresh, now_us)
        if first is None:
            return Standing(state=State.OK, since_us=now_us)
        left_us = first.ends_us - now_us
        return Standing(
            state=state,
            since_us=max(first.ends_us - self._limit.limit_us(state, first.lifetime_us), self._began_us or 0),
            after=first.run,
            facts={
                "host": first.host,
                "ends_us": first.ends_us,
                "days": max(0, round(left_us / DAY_US)),
                "expired": left_us <= 0,
            },
        )

    def _worst(self, fresh: Sequence[Reading], now_us: int) -> tuple[State, Reading | None]:
        """The worst state that any is in, and which of these ends first."""
        for state in (State.FAILING, State.DEGRADED):
            late = [one for one in fresh if one.ends_us - now_us <= self._limit.limit_us(state, one.lifetime_us)]
            if late:
                return state, min(late, key=lambda one: (one.ends_us, one.host))
        return State.OK, None
