"""What differs between two runs, request by request. Pure.

Equal addresses are matched first, in their order. What is left over is matched by its address without versions, since a
release renames what it changes. What it was for is held to be the same too, unless only the address is: tools do not
agree on it. Nothing that is not told of one of the two counts as a difference.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from workers.measurement.messages import Measurement, PageMeasurement, ProbeMeasurement
from workers.measurement.waterfall import Request

# A difference in time is one from here on: less than either is what two loads of the same page differ by.
MIN_TIME_US = 20_000
TIME_SHARE = 0.2
MIN_SIZE_BYTES = 1_000
SIZE_SHARE = 0.05
# The status, or protocol, of what ended without one: some tools do not tell it.
UNTOLD = "\N{EN DASH}"

_VERSION_NAMES = frozenset({"v", "ver", "version", "rev", "build", "hash", "t", "ts", "cb", "_", "cachebust"})
# `app.3f2a9c1b.js`, `app-3f2a9c1b.min.js`: what a build puts before the ending.
_HASH = re.compile(r"(?<=[.\-_])(?=[0-9a-zA-Z]*\d)[0-9a-zA-Z]{6,64}(?=\.)")
_NUMBER = re.compile(r"(?<=/)v?\d[\d.]*(?=/)")


class Item(Protocol):
    """A request of a page, or a hop of a probe; `status` is a code, or a word for what came instead of one."""

    @property
    def number(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def total_us(self) -> int | None: ...
    @property
    def size_bytes(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An item of a measurement. `code` is the status where there was an answer."""

    number: int
    kind: str
    url: str
    status: str
    code: int | None
    failure: str | None = None
    total_us: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How two runs differ, in numbers of items; `only_first` and `only_second` have no partner."""

    only_first: int
    only_second: int
    slower: int
    faster: int
    status: int


_Key = Callable[[Item], tuple[str, str]]
_KEYS: tuple[_Key, ...] = (
    lambda item: (item.kind, item.url),
    lambda item: ("", item.url),
    lambda item: (item.kind, without_versions(item.url)),
)


def items_of(measurement: Measurement | None) -> tuple[Seen, ...] | None:
    """The requests of a page, or the hops of a probe, in the order they began; None for all else."""
    if isinstance(measurement, PageMeasurement):
        return _requests(measurement)
    return _hops(measurement) if isinstance(measurement, ProbeMeasurement) else None


def partners_of(first: Sequence[Item], second: Sequence[Item]) -> dict[int, int]:
    """The number of the second run's item by that of the first's."""
    found: dict[int, int] = {}
    for key in _KEYS:
        taken = set(found.values())
        left = [item for item in first if item.number not in found]
        right = [item for item in second if item.number not in taken]
        found |= _pairs(left, right, key)
    return found


def changes_of(first: Sequence[Item], second: Sequence[Item], partners: Mapping[int, int]) -> Changes:
    """In numbers, of items that were matched."""
    others = {item.number: item for item in second}
    pairs = [(item, others[partners[item.number]]) for item in first if item.number in partners]
    times = [(one.total_us, other.total_us) for one, other in pairs if time_differs(one, other)]
    late = [(before, after) for before, after in times if before is not None and after is not None]
    return Changes(
        only_first=len(first) - len(pairs),
        only_second=len(second) - len(pairs),
        slower=sum(after > before for before, after in late),
        faster=sum(after < before for before, after in late),
        status=sum(status_differs(one, other) for one, other in pairs),
    )


def differs(one: Item, other: Item) -> bool:
    """Beyond what two loads of the same page differ by."""
    return status_differs(one, other) or time_differs(one, other) or size_differs(one, other)


def status_differs(one: Item, other: Item) -> bool:
    return one.status != other.status and UNTOLD not in (one.status, other.status)


def time_differs(one: Item, other: Item) -> bool:
    """Also where only one of them ever ended."""
    if one.total_us is None or other.total_us is None:
        return one.total_us is not other.total_us
    return _apart(one.total_us, other.total_us, MIN_TIME_US, TIME_SHARE)


def size_differs(one: Item, other: Item) -> bool:
    if one.size_bytes is None or other.size_bytes is None:
        return False
    return _apart(one.size_bytes, other.size_bytes, MIN_SIZE_BYTES, SIZE_SHARE)


def status_text(request: Request) -> str:
    """The status, or the word for what came instead of one."""
    if request.failure:
        return "failed"
    if request.status is None:
        return "no answer" if request.timing.end_us is None else UNTOLD
    return str(request.status)


def without_versions(url: str) -> str:
    """An address as it stays from one release to the next."""
    try:
        parts = urlsplit(url)
        query = [(name, value) for name, value in parse_qsl(parts.query, max_num_fields=100) if _stays(name)]
    except ValueError:
        return url
    path = _NUMBER.sub("*", _HASH.sub("*", parts.path))
    return f"{parts.scheme}://{parts.netloc}{path}?{urlencode(query)}"


def _stays(name: str) -> bool:
    return name.lower() not in _VERSION_NAMES


def _requests(page: PageMeasurement) -> tuple[Seen, ...]:
    ordered = sorted(page.waterfall.requests, key=lambda request: (request.timing.start_us, request.number))
    return tuple(
        Seen(
            number=request.number,
            kind=request.resource_type.value,
            url=request.url,
            status=status_text(request),
            code=request.status,
            failure=request.failure,
            total_us=request.timing.total_us,
            size_bytes=request.transferred_bytes,
        )
        for request in ordered
    )


def _hops(probe: ProbeMeasurement) -> tuple[Seen, ...]:
    return tuple(
        Seen(
            number=number,
            kind="",
            url=hop.url,
            status="no answer" if hop.status is None else str(hop.status),
            code=hop.status,
            total_us=hop.timing.total_us,
            size_bytes=_sum(hop.head_bytes, hop.body_bytes),
        )
        for number, hop in enumerate(probe.hops, start=1)
    )


def _sum(head: int | None, body: int | None) -> int | None:
    return None if head is None and body is None else (head or 0) + (body or 0)


def _pairs(first: Sequence[Item], second: Sequence[Item], key: _Key) -> dict[int, int]:
    waiting: dict[tuple[str, str], deque[int]] = defaultdict(deque)
    for item in second:
        waiting[key(item)].append(item.number)
    found: dict[int, int] = {}
    for item in first:
        numbers = waiting.get(key(item))
        if numbers:
            found[item.number] = numbers.popleft()
    return found


def _apart(one: int, other: int, least: int, share: float) -> bool:
    return abs(one - other) >= max(least, share * min(one, other))
