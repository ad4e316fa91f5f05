"""Who delivered the answers of each host of a page, with what shows it. Pure.

Headers travel: a CDN before another one passes its headers on. So where a host was dialled, by address or by name,
counts for more than what its answers say of themselves.
"""

from collections.abc import Iterable, Mapping, Sequence

from workers.measurement.cdn_marks import PLACED, Mark, cdn_of_address, cdn_of_alias, is_public, marks_in
from workers.measurement.compute.texts import plain
from workers.measurement.page_view import HostDelivery
from workers.measurement.waterfall import Request, ServedFrom
from workers.measurement.web_address import host_of

MAX_DELIVERIES = 200
_MAX_EVIDENCE_CHARS = 200
_MAX_VALUE_CHARS = 60


def undecided(rows: Sequence[Request]) -> tuple[str, ...]:
    """Hosts of which neither answers nor addresses name a CDN, although all of these are public: their names may."""
    answered = [row for row in rows if row.served_from is ServedFrom.NETWORK and row.status is not None]
    inside = {host_of(row.url) for row in answered if row.address is None or not is_public(row.address)}
    return tuple(one.host for one in deliveries_of(rows) if one.cdn is None and one.host not in inside)


def deliveries_of(rows: Sequence[Request], aliases: Mapping[str, str] | None = None) -> tuple[HostDelivery, ...]:
    """Of every host that answered, in the order in which the page asked. `aliases` are the names to which its hosts'
    lead, where somebody looked.
    """
    hosts: dict[str, list[Request]] = {}
    for row in rows:
        if row.served_from is ServedFrom.NETWORK and row.status is not None and (host := host_of(row.url)):
            hosts.setdefault(host, []).append(row)
    return tuple(_delivery(host, of_it, (aliases or {}).get(host)) for host, of_it in hosts.items())[:MAX_DELIVERIES]


def _delivery(host: str, rows: Sequence[Request], alias: str | None) -> HostDelivery:
    marks = _marks(rows)
    said = {mark.cdn: f"header {mark.name}: {mark.value[:_MAX_VALUE_CHARS]}" for mark in reversed(marks)}
    dialled = _dialled(host, rows, alias)
    if dialled:
        cdn = next(iter(dialled))
        return _told(host, cdn, (dialled[cdn], said.get(cdn)))
    likely = _likely(said, rows)
    if len(likely) == 1:
        return _told(host, likely[0], (said[likely[0]],))
    if likely:
        return _told(host, None, (f"headers of {' and '.join(sorted(likely))}",))
    return HostDelivery(host=host, cdn=None)


def _marks(rows: Iterable[Request]) -> list[Mark]:
    return [mark for row in rows for mark in marks_in((one.name, one.value) for one in row.response_headers)]


def _dialled(host: str, rows: Sequence[Request], alias: str | None) -> dict[str, str]:
    """What the place shows that was dialled, the strongest first."""
    found: dict[str, str] = {}
    for address in dict.fromkeys(row.address for row in rows):
        cdn = None if address is None else cdn_of_address(address)
        if cdn is not None:
            found.setdefault(cdn, f"address {address}")
    for name, word in ((alias, "alias"), (host, "name")):
        cdn = None if name is None else cdn_of_alias(name)
        if cdn is not None:
            found.setdefault(cdn, f"{word} {name}")
    return found


def _likely(said: Mapping[str, str], rows: Sequence[Request]) -> list[str]:
    """Of several CDNs whose headers came, those that can have been the outermost: who says which networks are his own
    was not, when none of these was dialled.
    """
    if len(said) > 1 and all(is_public(row.address or "") for row in rows):
        return [cdn for cdn in said if cdn not in PLACED] or list(said)
    return list(said)


def _told(host: str, cdn: str | None, evidence: Iterable[str | None]) -> HostDelivery:
    text = "; ".join(part for part in evidence if part)
    return HostDelivery(host=host, cdn=cdn, evidence=plain(text, _MAX_EVIDENCE_CHARS))
