"""Rows as a file has them, and the waterfall that they make together."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from workers.measurement.compute.texts import plain
from workers.measurement.connection import Connection
from workers.measurement.page_options import Protocol
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals
from workers.measurement.waterfall import Request, RowFlag, Waterfall

# As many as a page of our own keeps.
MAX_ROWS = 2000
_EMPTY = Waterfall(requests=(), connections=())
# A connection by its name, and how many of that name there were.
_Key = tuple[str, int]
_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A row before it has its number. `connection` is the file's own name for the one that it used, or None.

    `final` says that the file calls it the final document of its page, `frame` which frame it was asked for in.
    """

    request: Request
    connection: str | None = None
    tls_version: str | None = None
    cipher: str | None = None
    final: bool = False
    frame: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One page load of a file. `run` and `repeat` say, where the file does, which load of a series it was, and `step`
    which of a script.

    A file without requests has figures alone; its `url` may be empty then.

    `succeeded` is False when the tool itself called the load failed; `only_protocol` is all that it speaks.
    """

    label: str
    url: str
    started_at: datetime
    vitals: Vitals
    waterfall: Waterfall = _EMPTY
    document: int | None = None
    title: str | None = None
    browser: str | None = None
    run: int | None = None
    repeat: bool = False
    step: int = 1
    succeeded: bool = True
    only_protocol: Protocol | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A connection: which rows used it, and which of them has what it cost."""

    number: int
    places: list[int]
    payer: int | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows with their connections, and the number of the final document."""

    waterfall: Waterfall = _EMPTY
    document: int | None = None


def rows_of(drafts: Sequence[Draft]) -> Rows:
    """The rows in order of start, at most `MAX_ROWS`, each connection counted from its first use."""
    ordered = sorted(drafts, key=lambda draft: draft.request.timing.start_us)
    kept = ordered[:MAX_ROWS]
    keys = list(_keys(kept))
    users: dict[_Key, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            users.setdefault(key, []).append(place)
    opened = [
        _Opened(number=number, places=places, payer=_payer(kept, places))
        for number, places in enumerate(users.values(), start=1)
    ]
    by_key = dict(zip(users, opened, strict=True))
    used = [None if key is None else by_key[key] for key in keys]
    requests = [_numbered(draft, place, used[place]) for place, draft in enumerate(kept)]
    connections = tuple(_connection(one, kept) for one in opened)
    waterfall = Waterfall(requests=tuple(requests), connections=connections, truncated=len(ordered) > len(kept))
    return Rows(waterfall, _document(kept, requests))


def _keys(drafts: Sequence[Draft]) -> Iterator[_Key | None]:
    """Without the file's word, who paid for a connection had one of its own, and of all others nothing is known.

    The file's name for one may be a port, which the next one has too: who pays for what was paid for opens another.
    """
    paid: Counter[str] = Counter()
    for place, draft in enumerate(drafts):
        pays = _pays(draft.request.timing)
        name = draft.connection or (f"row {place}" if pays else None)
        if name is not None:
            paid[name] += pays
        yield None if name is None else (name, max(1, paid[name]))


def _pays(timing: Timing) -> bool:
    return timing.connect is not None or timing.tls is not None


def _payer(drafts: Sequence[Draft], places: Sequence[int]) -> int | None:
    return next((place for place in places if _pays(drafts[place].request.timing)), None)


def _numbered(draft: Draft, place: int, used: _Opened | None) -> Request:
    if used is None:
        return replace(draft.request, number=place + 1, connection=None, reused=None)
    return replace(draft.request, number=place + 1, connection=used.number, reused=_reused(place, used))


def _reused(place: int, used: _Opened) -> bool | None:
    """The first user of a connection that nobody paid for may have opened it all the same: not known."""
    if place == used.payer:
        return False
    return None if used.payer is None and place == used.places[0] else True


def _connection(opened: _Opened, drafts: Sequence[Draft]) -> Connection:
    users = [drafts[place] for place in opened.places]
    first = users[0].request if opened.payer is None else drafts[opened.payer].request
    timing = None if opened.payer is None else first.timing
    host, port = _host_of(first.url)
    sizes = [user.request.transferred_bytes for user in users]
    known = [size for size in sizes if size is not None]
    begun = None if timing is None else timing.connect or timing.tls
    return Connection(
        number=opened.number,
        host=host,
        port=port,
        address=next((user.request.address for user in users if user.request.address), None),
        protocol=next((user.request.protocol for user in users if user.request.protocol), None),
        dns=None if timing is None else timing.dns,
        connect=None if timing is None else timing.connect,
        tls=None if timing is None else timing.tls,
        tls_version=next((user.tls_version for user in users if user.tls_version), None),
        cipher=next((user.cipher for user in users if user.cipher), None),
        received_bytes=sum(known) if len(known) == len(sizes) else None,
        requests=len(users),
        preconnected=begun is not None and begun.start_us < first.timing.start_us,
    )


def _host_of(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        return plain(parts.hostname or "", 253), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return "", 0


def _document(drafts: Sequence[Draft], requests: Sequence[Request]) -> int | None:
    """What the file calls it; else the first document, after the redirects that lead on from it."""
    named = next((place + 1 for place, draft in enumerate(drafts) if draft.final), None)
    if named is not None:
        return named
    found = next((row for row in requests if row.resource_type == "document" and RowFlag.FRAME not in row.flags), None)
    for row in requests[found.number if found else 0 :]:
        if found is not None and found.redirected_to is not None and row.url == found.redirected_to:
            found = row
    return None if found is None else found.number
