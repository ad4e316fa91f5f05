"""Which rows a reader wants to see, how, and of which time: all of it in the URL.

`frontend/src/waterfall/filter.ts` is the twin, for typing without a reload.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args
from urllib.parse import urlencode

from backend.web.waterfall.axis import MarkKey
from backend.web.waterfall.rows import Row
from backend.web.waterfall.shapes import TRAITS, number_text
from workers.measurement.idn import readable

# Above this the page holds a window of the rows for those without the script, which draws only those in sight.
MAX_ROWS = 300
WINDOW_ROWS = 100
MAX_TEXT = 200
_MAX_ZOOM_MS = 3_600_000
_STRETCH = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)-(-?[0-9]+(?:\.[0-9]+)?)")
# For where the heads of the columns cannot be seen; by start is what stands there without any.
ORDERS = {
    "number": "by number",
    "-number": "the last asked for first",
    "name": "by name",
    "-name": "by name, from Z",
    "host": "by host",
    "-host": "by host, from Z",
    "status": "by status",
    "-status": "by status, errors first",
    "-size": "the largest first",
    "size": "the smallest first",
    "-time": "the longest first",
    "time": "the shortest first",
}
SORTS = ("start", "number", "name", "host", "status", "size", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Empty words want everything. `first` is the number of the first row of the window, counted from 1.

    `view` is rows by connection, `visit` the second view of the run; `only` is a trait of rows. `sort` names a column,
    with `-` before it from the largest down; empty is by start. `zoom` is from and to in microseconds; `hide` names
    lines that are not drawn. `kept` is what else the address holds and must go on holding.
    """

    text: str = ""
    host: str = ""
    kind: str = ""
    only: str = ""
    view: str = ""
    visit: str = ""
    sort: str = ""
    zoom: tuple[int, int] | None = None
    hide: tuple[str, ...] = ()
    first: int = 1
    kept: tuple[tuple[str, str], ...] = ()

    @property
    def query(self) -> str:
        """The part of the URL that says all this, without the default values."""
        return self.filters if self.first == 1 else f"{self.filters}&from={self.first}".lstrip("&")

    @property
    def filters(self) -> str:
        """The query without the place of the window."""
        return urlencode(self._named())

    def query_with(self, **changes: str) -> str:
        """The query with some of its values changed; an empty one leaves it out."""
        return urlencode({name: value for name, value in (self._named() | changes).items() if value})

    def wants(self, row: Row) -> bool:
        """Whether a row is wanted; the text is looked for, without case, in name, address, status, type and notes."""
        if (self.host and row.host != self.host) or (self.kind and row.kind != self.kind):
            return False
        if self.only and self.only not in row.traits:
            return False
        notes = " ".join(row.notes)
        return self.text.lower() in f"{row.name} {row.url} {row.host} {row.status} {row.kind} {notes}".lower()

    def _named(self) -> dict[str, str]:
        named = dict(self.kept) | {
            "q": self.text,
            "host": self.host,
            "kind": self.kind,
            "only": self.only,
            "view": self.view,
            "visit": self.visit,
            "sort": self.sort,
            "zoom": "" if self.zoom is None else "-".join(number_text(us / 1000) for us in self.zoom),
            "hide": ",".join(self.hide),
        }
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What the page holds: rows, those of them that are hidden, and how many rows of all match."""

    rows: tuple[Row, ...]
    hidden: frozenset[int]
    matching: int
    total: int
    first: int

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1

    @property
    def complete(self) -> bool:
        """Whether every row of the chart is in the page."""
        return len(self.rows) == self.total

    @property
    def previous(self) -> int | None:
        return max(1, self.first - WINDOW_ROWS) if self.first > 1 else None

    @property
    def next(self) -> int | None:
        return self.last + 1 if not self.complete and self.last < self.matching else None


def wanted_of(parameters: Mapping[str, str], kept: tuple[tuple[str, str], ...] = ()) -> Wanted:
    """From a URL's parameters, whatever they hold."""
    first = parameters.get("from", "")
    sort = parameters.get("sort", "")
    view = "connections" if parameters.get("view") == "connections" else ""
    return Wanted(
        text=parameters.get("q", "")[:MAX_TEXT].strip(),
        host="" if view else readable(parameters.get("host", "")[:MAX_TEXT]),
        kind=parameters.get("kind", "")[:MAX_TEXT],
        only=parameters.get("only", "") if parameters.get("only", "") in TRAITS else "",
        view=view,
        visit="repeat" if parameters.get("visit") == "repeat" else "",
        sort=sort if sort.removeprefix("-") in SORTS and sort != "start" else "",
        zoom=_zoom(parameters.get("zoom", "")),
        hide=tuple(key for key in get_args(MarkKey) if key in parameters.get("hide", "")[:MAX_TEXT].split(",")),
        first=max(1, int(first)) if first.isascii() and first.isdigit() and len(first) < 7 else 1,
        kept=kept,
    )


def window_of(rows: Sequence[Row], wanted: Wanted) -> Window:
    """Few rows are all in the page, the unwanted hidden; of many only a window of those that are wanted."""
    rows = sorted_rows(rows, wanted.sort)
    matching = [row for row in rows if wanted.wants(row)]
    if len(rows) <= MAX_ROWS:
        hidden = frozenset(row.number for row in rows) - {row.number for row in matching}
        return Window(rows=tuple(rows), hidden=hidden, matching=len(matching), total=len(rows), first=1)
    first = min(wanted.first, max(1, len(matching)))
    shown = tuple(matching[first - 1 : first - 1 + WINDOW_ROWS])
    return Window(rows=shown, hidden=frozenset(), matching=len(matching), total=len(rows), first=first)


def sorted_rows(rows: Sequence[Row], sort: str) -> list[Row]:
    """By one column; rows without a value come last in both directions, and equal ones keep their order."""
    if not sort:
        return list(rows)
    valued = [(_sort_value(row, sort.removeprefix("-")), row) for row in rows]
    known = [(value, row) for value, row in valued if value is not None]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    return [row for _, row in known] + [row for value, row in valued if value is None]


def _sort_value(row: Row, column: str) -> tuple[int, str] | None:
    texts = {"name": row.name, "host": row.host, "status": row.status}
    if column in texts:
        return (0, texts[column].lower())
    numbers = {"start": row.start_us, "number": row.number, "size": row.size_bytes, "time": row.lasted_us}
    value = numbers[column]
    return None if value is None else (value, "")


def _zoom(text: str) -> tuple[int, int] | None:
    """`200-512.5` in milliseconds, as microseconds; None for what is no stretch of time."""
    found = _STRETCH.fullmatch(text[:MAX_TEXT])
    if not found:
        return None
    start_ms, end_ms = (float(part) for part in found.groups())
    if not -_MAX_ZOOM_MS < start_ms < end_ms < _MAX_ZOOM_MS:
        return None
    return round(start_ms * 1000), round(end_ms * 1000)
