"""What a page is made of: its requests and bytes by type and by host, and what opening each host's connections took."""

from collections.abc import Iterable
from dataclasses import dataclass

from workers.diagnosis.page.hosts import hosts_of, opening_together_us
from workers.measurement.messages import PageMeasurement
from workers.measurement.waterfall import Request, ResourceType
from workers.measurement.web_address import host_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """`transferred_bytes` came over the wire, heads included; `body_bytes` is decoded. None where no row tells."""

    requests: int
    transferred_bytes: int | None
    body_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeShare:
    resource_type: ResourceType
    amount: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class HostShare:
    """`opening_us` is how long any connection of the host was being opened, name lookups included: those opened at once
    count once. `cdn` delivered it, where that could be told.
    """

    host: str
    amount: Amount
    connections: int
    opening_us: int
    cdn: str | None


def amount_of(rows: Iterable[Request]) -> Amount:
    kept = tuple(rows)
    return Amount(
        requests=len(kept),
        transferred_bytes=_sum(row.transferred_bytes for row in kept),
        body_bytes=_sum(row.body_bytes for row in kept),
    )


def types_of(page: PageMeasurement) -> tuple[TypeShare, ...]:
    """The heaviest first; together they are all rows of the page."""
    rows: dict[ResourceType, list[Request]] = {}
    for row in page.waterfall.requests:
        rows.setdefault(row.resource_type, []).append(row)
    shares = [TypeShare(resource_type=kind, amount=amount_of(of_it)) for kind, of_it in rows.items()]
    return tuple(sorted(shares, key=lambda share: _weight(share.amount)))


def host_shares(page: PageMeasurement) -> tuple[HostShare, ...]:
    """The heaviest first; what the page carried in itself has no host.

    A connection that another host's requests shared is the host's for which it was opened.
    """
    rows: dict[str, list[Request]] = {}
    for row in page.waterfall.requests:
        if host := host_of(row.url):
            rows.setdefault(host, []).append(row)
    opened = {host.name: host.connections for host in hosts_of(page)}
    cdns = {one.host: one.cdn for one in page.deliveries}
    shares = [
        HostShare(
            host=host,
            amount=amount_of(of_it),
            connections=len(opened.get(host, ())),
            opening_us=opening_together_us(opened.get(host, ())),
            cdn=cdns.get(host),
        )
        for host, of_it in rows.items()
    ]
    return tuple(sorted(shares, key=lambda share: _weight(share.amount)))


def _weight(amount: Amount) -> tuple[int, int]:
    return -(amount.transferred_bytes or 0), -amount.requests


def _sum(sizes: Iterable[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None
