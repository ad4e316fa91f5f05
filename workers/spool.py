"""Results on disk until the service has acknowledged them. Nothing else is done with a result before it lies here.

Several processes of an agent write, one reads and deletes. A file appears whole or not at all: it is written under
another name, synced, renamed, and its directory synced. The bound holds except for what is written between two calls
of `trim`.
"""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from workers.measurement import wire
from workers.measurement.messages import RunResult

log = logging.getLogger(__name__)

# A region of 200 probes a minute fills this in four hours without the service; pages (100 kB with picture) in the
# same order.
MAX_RESULTS = 50_000
MAX_BYTES = 512 * 1024 * 1024
# What the service takes in one request.
BATCH_RESULTS = 200
BATCH_BYTES = 2_000_000
# Kept for a person to look at; older ones go.
MAX_ASIDE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One result on disk: its line as it travels, and its picture if it has one."""

    run_id: UUID
    path: Path
    line: bytes
    screenshot: bytes | None


class Spool:
    """`directory` is made when absent, for this user only.

    `dropped` counts results lost to the bound since the start.
    """

    def __init__(self, directory: Path, *, max_results: int = MAX_RESULTS, max_bytes: int = MAX_BYTES) -> None:
        self._results, self._pictures, self._aside = (directory / name for name in ("results", "screenshots", "aside"))
        for path in (self._results, self._pictures, self._aside):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._max_results, self._max_bytes = max_results, max_bytes
        self.dropped = 0

    def add(
        self,
        result: RunResult,
        screenshot: bytes | None = None,
        *,
        urgent: bool = False,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Returns when both survive a power cut.

        Raises WireError for what cannot be encoded, OSError for a full disk.
        """
        line = wire.encode(result)
        if screenshot is not None:
            _write(self._pictures / f"{result.run_id}.image", screenshot)
        _write(self._results / f"{'0' if urgent else '1'}-{now_ns():020d}-{result.run_id}.json", line)

    def run_ids(self) -> set[UUID]:
        """The runs whose results lie here."""
        return {run_id for name in self._names() if (run_id := _run_id(name)) is not None}

    def count(self) -> int:
        return len(self._names())

    def batch(self, *, max_results: int = BATCH_RESULTS, max_bytes: int = BATCH_BYTES) -> list[Entry]:
        """Urgent results, then the oldest, up to both bounds;
        at least one when there is any. Unreadable ones go aside.
        """
        entries: list[Entry] = []
        size = 0
        for name in self._names():
            entry = self._read(self._results / name)
            if entry is None:
                continue
            size += len(entry.line) + 1
            if entries and size > max_bytes:
                break
            entries.append(entry)
            if len(entries) == max_results:
                break
        return entries

    def remove(self, entry: Entry) -> None:
        entry.path.unlink(missing_ok=True)
        self._picture(entry.run_id).unlink(missing_ok=True)

    def set_aside(self, path: Path, why: str) -> None:
        """Takes a file out of the way that cannot be read; the newest are kept for a person to look at."""
        log.error("set aside %s: %s", path.name, why)
        path.replace(self._aside / path.name)
        for old in sorted(self._aside.iterdir())[:-MAX_ASIDE]:
            old.unlink(missing_ok=True)

    def trim(self) -> int:
        """Drops the oldest results beyond the bound, loudly, and gives their number.

        A lost result is better than a full disk.
        """
        sizes = {name: self._bytes(name) for name in sorted(self._names(), key=_age)}
        total, dropped = sum(sizes.values()), 0
        for name, size in sizes.items():
            if len(sizes) - dropped <= self._max_results and total <= self._max_bytes:
                break
            self._drop(name)
            total, dropped = total - size, dropped + 1
        if dropped:
            self.dropped += dropped
            log.critical("the spool is full: dropped the %d oldest results, %d since the start", dropped, self.dropped)
        return dropped

    def sweep(self) -> None:
        """Removes what a killed writer left half done: no result, so nobody waits for it. Only while nobody writes."""
        orphans = set(self._pictures.iterdir()) - {self._picture(run) for run in self.run_ids()}
        for path in (*orphans, *self._results.glob("*.part")):
            path.unlink(missing_ok=True)

    def _names(self) -> list[str]:
        return sorted(name for name in os.listdir(self._results) if name.endswith(".json"))

    def _picture(self, run_id: UUID) -> Path:
        return self._pictures / f"{run_id}.image"

    def _read(self, path: Path) -> Entry | None:
        try:
            line = path.read_bytes()
            result = wire.decode(line, RunResult)
            picture = self._picture(result.run_id)
            screenshot = picture.read_bytes() if picture.exists() else None
        except FileNotFoundError:
            return None
        except (OSError, wire.WireError) as error:
            self.set_aside(path, str(error))
            return None
        return Entry(run_id=result.run_id, path=path, line=line, screenshot=screenshot)

    def _bytes(self, name: str) -> int:
        run_id = _run_id(name)
        return _size(self._results / name) + (0 if run_id is None else _size(self._picture(run_id)))

    def _drop(self, name: str) -> None:
        (self._results / name).unlink(missing_ok=True)
        if (run_id := _run_id(name)) is not None:
            self._picture(run_id).unlink(missing_ok=True)


def _run_id(name: str) -> UUID | None:
    try:
        return UUID(name.removesuffix(".json").split("-", 2)[2])
    except (ValueError, IndexError):
        return None


def _age(name: str) -> str:
    """What names sort by when urgency does not count."""
    return name[2:]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write(path: Path, data: bytes) -> None:
    partial = path.with_suffix(".part")
    with open(partial, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
