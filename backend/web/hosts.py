"""The hosts of a site as they are shown: one verdict, a row a host. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.alerts.parameters import KINDS, days_left
from backend.alerts.states import State
from backend.instants import to_us
from backend.runs.queries import HostCosts
from backend.sites.models import Host, HostRole
from backend.web.overview import Word
from backend.web.phrases import listed
from backend.web.waterfall.text import printable

# As the alert's rule has it, unless somebody set another limit there.
_LIMIT = days_left(KINDS["certificate"].defaults)
_ORDER = [HostRole.ORIGIN, HostRole.CDN, HostRole.OWN, HostRole.THIRD_PARTY]
_NAMES = {
    HostRole.ORIGIN: ("origin", "origins"),
    HostRole.CDN: ("CDN", "CDNs"),
    HostRole.OWN: ("host of your own", "hosts of your own"),
    HostRole.THIRD_PARTY: ("third party", "third parties"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """A host, what it is, and what it cost; `costs` is None when no load in the period spoke to it."""

    host: Host
    costs: HostCosts | None
    certificate_days: int | None
    certificate_ends: bool

    @property
    def role(self) -> HostRole:
        return self.host.role

    @property
    def reused_percent(self) -> int | None:
        share = None if self.costs is None else self.costs.reused_share
        return None if share is None else round(100 * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The whole page."""

    verdict: Word
    reason: str
    rows: tuple[HostRow, ...]


def hosts_of(hosts: Sequence[Host], costs: Sequence[HostCosts], now: datetime) -> Hosts:
    """By role, then by what they were asked for."""
    by_name = {one.host: one for one in costs}
    rows = [_row(host, by_name.get(host.name), now) for host in hosts]
    rows.sort(key=lambda row: (_ORDER.index(row.role), -(row.costs.requests if row.costs else 0), row.host.name))
    # What others let expire is in the table; it is not for the owner to renew.
    ending = [row for row in rows if row.certificate_ends and row.role is not HostRole.THIRD_PARTY]
    return Hosts(
        verdict=Word(level="warn" if ending else "info", text=_title(rows)),
        reason=" ".join([*(_ending(row) for row in ending[:3]), _share(rows)]).strip(),
        rows=tuple(rows),
    )


def _row(host: Host, costs: HostCosts | None, now: datetime) -> HostRow:
    begins, ends = (None, None) if costs is None else (costs.certificate_not_before, costs.certificate_not_after)
    if ends is None:
        return HostRow(host=host, costs=costs, certificate_days=None, certificate_ends=False)
    lifetime_us = None if begins is None else to_us(ends) - to_us(begins)
    is_late = to_us(ends) - to_us(now) <= _LIMIT.limit_us(State.DEGRADED, lifetime_us)
    return HostRow(host=host, costs=costs, certificate_days=(ends - now).days, certificate_ends=is_late)


def _title(rows: Sequence[HostRow]) -> str:
    if not rows:
        return "No host is known yet"
    seen = [row for row in rows if row.host.last_seen_at is not None]
    if not seen:
        return "No page has asked for any of these yet"
    counts = {role: sum(row.role is role for row in seen) for role in _ORDER}
    parts = [f"{count} {_NAMES[role][count > 1]}" for role, count in counts.items() if count]
    return f"{len(seen)} host{' makes' if len(seen) == 1 else 's make'} this page: {listed(parts)}"


def _ending(row: HostRow) -> str:
    days = row.certificate_days or 0
    name = printable(row.host.name, 120)
    if days < 0:
        return f"The certificate of {name} has expired."
    return f"The certificate of {name} ends in {days} day{'' if days == 1 else 's'}."


def _share(rows: Sequence[HostRow]) -> str:
    """Who sends most of what all loads together received: some hosts are part of few of them."""
    sent = [(row.costs.bytes or 0, row) for row in rows if row.costs is not None]
    total = sum(size for size, _ in sent)
    if not total:
        return ""
    most, row = max(sent, key=lambda item: item[0])
    return f"{printable(row.host.name, 120)} sends {round(100 * most / total)} % of the bytes received, TLS included."
