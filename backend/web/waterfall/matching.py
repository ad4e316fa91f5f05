"""The same request in two waterfalls, and what differs between the two.

Equal addresses are matched first, in their order. What is left over is matched by its address without versions, since a
release renames what it changes.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode, urlsplit

from backend.web.waterfall.rows import Chart, Row
from backend.web.waterfall.shapes import ONLY_HERE

# A difference in time is one from here on: less than either is what two loads of the same page differ by.
MIN_TIME_US = 20_000
TIME_SHARE = 0.2
MIN_SIZE_BYTES = 1_000
SIZE_SHARE = 0.05

_VERSION_NAMES = frozenset({"v", "ver", "version", "rev", "build", "hash", "t", "ts", "cb", "_", "cachebust"})
# `app.3f2a9c1b.js`, `app-3f2a9c1b.min.js`: what a build puts before the ending.
_HASH = re.compile(r"(?<=[.\-_])(?=[0-9a-zA-Z]*\d)[0-9a-zA-Z]{6,64}(?=\.)")
_NUMBER = re.compile(r"(?<=/)v?\d[\d.]*(?=/)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How two waterfalls differ, in numbers of rows; `only_first` and `only_second` have no partner."""

    only_first: int
    only_second: int
    slower: int
    faster: int
    status: int


def matched(first: Chart, second: Chart) -> tuple[Chart, Chart]:
    """Both charts with each row knowing its partner, and marked where it differs from it."""
    partners = _partners(first.rows, second.rows)
    back = {there: here for here, there in partners.items()}
    by_number = {row.number: row for row in first.rows}, {row.number: row for row in second.rows}
    return _marked(first, partners, by_number[1]), _marked(second, back, by_number[0])


def changes_of(first: Chart, second: Chart) -> Changes:
    """Of two charts that were matched."""
    others = {row.number: row for row in second.rows}
    pairs = [(row, others[row.match]) for row in first.rows if row.match is not None]
    return Changes(
        only_first=sum(row.match is None for row in first.rows),
        only_second=sum(row.match is None for row in second.rows),
        slower=sum(_time_differs(one, other) and (other.total_us or 0) > (one.total_us or 0) for one, other in pairs),
        faster=sum(_time_differs(one, other) and (other.total_us or 0) < (one.total_us or 0) for one, other in pairs),
        status=sum(one.status != other.status for one, other in pairs),
    )


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


def _partners(first: Sequence[Row], second: Sequence[Row]) -> dict[int, int]:
    """The number of the second waterfall's row by that of the first's."""
    found = _pairs(first, second, lambda row: row.url)
    taken = set(found.values())
    left = [row for row in first if row.number not in found]
    right = [row for row in second if row.number not in taken]
    return found | _pairs(left, right, lambda row: without_versions(row.url))


def _pairs(first: Sequence[Row], second: Sequence[Row], key: Callable[[Row], str]) -> dict[int, int]:
    waiting: dict[tuple[str, str], deque[int]] = defaultdict(deque)
    for row in second:
        waiting[row.kind, key(row)].append(row.number)
    found: dict[int, int] = {}
    for row in first:
        numbers = waiting.get((row.kind, key(row)))
        if numbers:
            found[row.number] = numbers.popleft()
    return found


def _marked(chart: Chart, partners: dict[int, int], others: dict[int, Row]) -> Chart:
    return replace(chart, rows=tuple(_row(row, others.get(partners.get(row.number, -1))) for row in chart.rows))


def _row(row: Row, other: Row | None) -> Row:
    if other is None:
        return replace(row, notes=(ONLY_HERE, *row.notes), traits=(*row.traits, "differs"))
    notes = (*row.notes, "other version") if row.url != other.url else row.notes
    traits = (*row.traits, "differs") if _differs(row, other) else row.traits
    return replace(row, match=other.number, notes=notes, traits=traits)


def _differs(one: Row, other: Row) -> bool:
    return one.status != other.status or _time_differs(one, other) or _size_differs(one, other)


def _time_differs(one: Row, other: Row) -> bool:
    return _apart(one.total_us, other.total_us, MIN_TIME_US, TIME_SHARE)


def _size_differs(one: Row, other: Row) -> bool:
    return _apart(one.size_bytes, other.size_bytes, MIN_SIZE_BYTES, SIZE_SHARE)


def _apart(one: int | None, other: int | None, least: int, share: float) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one - other) >= max(least, share * min(one, other))
