"""What a file of another tool brought."""

from dataclasses import dataclass, field
from datetime import datetime

from workers.measurement.messages import PageMeasurement

MAX_REMARKS = 20
MAX_NAME_CHARS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Who wrote the file. `format` is the file's own: "HAR 1.2" or "WebPageTest JSON"."""

    format: str
    tool: str | None = None
    tool_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPage:
    """One page load, or several of the same page with the representative one in front. `label` is the file's name
    for it."""

    measurement: PageMeasurement
    url: str
    started_at: datetime
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """All pages of a file, at least one. `skipped` counts what could not be read; `remarks` says of the first ones
    where they are and what was wrong."""

    source: Source
    pages: tuple[ImportedPage, ...]
    skipped: int = 0
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class Ledger:
    """What was left out while a file is read."""

    skipped: int = 0
    remarks: list[str] = field(default_factory=list)

    def skip(self, remark: str, count: int = 1) -> None:
        self.skipped += count
        self.note(remark)

    def note(self, remark: str) -> None:
        """Something to know of what was read."""
        if len(self.remarks) < MAX_REMARKS and remark not in self.remarks:
            self.remarks.append(remark)
