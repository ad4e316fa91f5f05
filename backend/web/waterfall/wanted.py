"""Which rows a reader wants to see. `frontend/src/waterfall/filter.ts` is the twin, for typing without a reload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from backend.web.waterfall.rows import Row

# Above this the page holds one window of the rows, and the script draws only those in sight (ECOSYSTEM 1.6).
MAX_ROWS = 300
MAX_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Empty words want everything. `first` is the number of the first row of the window, counted from 1."""

    text: str = ""
    host: str = ""
    kind: str = ""
    view: str = ""
    first: int = 1

    @property
    def query(self) -> str:
        """The part of the URL that says all this, without the default values."""
        return self.filters if self.first == 1 else f"{self.filters}&from={self.first}".lstrip("&")

    @property
    def filters(self) -> str:
        """The query without the place of the window."""
        named = {"q": self.text, "host": self.host, "kind": self.kind, "view": self.view}
        return urlencode({name: value for name, value in named.items() if value})

    def wants(self, row: Row) -> bool:
        """Whether a row is to be shown; the text is looked for in address, status, type and note, without case."""
        if (self.host and row.host != self.host) or (self.kind and row.kind != self.kind):
            return False
        return self.text.lower() in f"{row.url} {row.host} {row.status} {row.kind} {row.note}".lower()


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
        return max(1, self.first - MAX_ROWS) if self.first > 1 else None

    @property
    def next(self) -> int | None:
        return self.last + 1 if not self.complete and self.last < self.matching else None


def wanted_of(parameters: Mapping[str, str]) -> Wanted:
    """From a URL's parameters, whatever they hold."""
    first = parameters.get("from", "")
    return Wanted(
        text=parameters.get("q", "")[:MAX_TEXT].strip(),
        host=parameters.get("host", "")[:MAX_TEXT],
        kind=parameters.get("kind", "")[:MAX_TEXT],
        view="connections" if parameters.get("view") == "connections" else "",
        first=max(1, int(first)) if first.isascii() and first.isdigit() and len(first) < 7 else 1,
    )


def window_of(rows: Sequence[Row], wanted: Wanted) -> Window:
    """Few rows are all in the page, the unwanted hidden; of many only a window of those that are wanted."""
    matching = [row for row in rows if wanted.wants(row)]
    if len(rows) <= MAX_ROWS:
        hidden = frozenset(row.number for row in rows) - {row.number for row in matching}
        return Window(rows=tuple(rows), hidden=hidden, matching=len(matching), total=len(rows), first=1)
    first = min(wanted.first, max(1, len(matching)))
    shown = tuple(matching[first - 1 : first - 1 + MAX_ROWS])
    return Window(rows=shown, hidden=frozenset(), matching=len(matching), total=len(rows), first=first)
