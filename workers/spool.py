"""Results on disk until the service has acknowledged them. Nothing else is done with a result before it lies here.

Several processes of an agent write, one reads and deletes. A file appears whole or not at all: it is written under
another name, synced, renamed, and its directory synced. The bound holds except for what is written between two calls
of `trim`.
"""

import contextlib
import errno
import logging
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

from workers.measurement import wire
from workers.measurement.messages import RunResult
from workers.measurement.routes import PictureKind

log = logging.getLogger(__name__)

# A region of 200 probes a minute fills this in four hours without the service; pages (200 kB with pictures) in the
# same order.
MAX_RESULTS = 50_000
MAX_BYTES = 512 * 1024 * 1024
# What the service takes in one request.
BATCH_RESULTS = 200
BATCH_BYTES = 2_000_000
# What a page and its pictures may take: where less is left, results are about to be lost.
ROOM_BYTES = BATCH_BYTES
# File systems that reserve nothing say so; that is no fault.
_UNSAID = (errno.EOPNOTSUPP, errno.EINVAL)
_NONE: Mapping[PictureKind, bytes] = MappingProxyType({})
# Kept for a person to look at; older ones go.
MAX_ASIDE = 100
# A disk or a process that lacks something for the moment is itself again by then; what nobody could read for that long
# is broken. Not for longer: as long as a result lies here nobody else is given its run.
READ_PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One result on disk: its line as it travels, and the pictures that it has."""

    run_id: UUID
    path: Path
    line: bytes
    pictures: Mapping[PictureKind, bytes]


class Spool:
    """`directory` is made when absent, for this user only.

    `dropped` counts results lost to the bound since the start. `clock_s` tells how long a file could not be read.
    """

    def __init__(
        self,
        directory: Path,
        *,
        max_results: int = MAX_RESULTS,
        max_bytes: int = MAX_BYTES,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._results, self._aside = directory / "results", directory / "aside"
        self._pictures = {kind: directory / kind for kind in PictureKind}
        for path in (self._results, self._aside, *self._pictures.values()):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._max_results, self._max_bytes = max_results, max_bytes
        self._clock_s = clock_s
        self._unread_since_s: dict[str, float] = {}
        self.dropped = 0

    def add(
        self,
        result: RunResult,
        pictures: Mapping[PictureKind, bytes] = _NONE,
        *,
        urgent: bool = False,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Returns when all survive a power cut.

        Raises WireError for what cannot be encoded, OSError for a full disk.
        """
        line = wire.encode(result)
        try:
            for kind, picture in pictures.items():
                _write(self._picture(kind, result.run_id), picture)
            _write(self._results / f"{'0' if urgent else '1'}-{now_ns():020d}-{result.run_id}.json", line)
        except OSError:
            # Without a result nobody counts them: they would fill the disk that is full.
            self._remove_pictures(result.run_id)
            raise

    def run_ids(self) -> set[UUID]:
        """The runs whose results lie here."""
        return {run_id for name in self._names() if (run_id := _run_id(name)) is not None}

    def count(self) -> int:
        return len(self._names())

    def fault(self) -> str | None:
        """Why results find no place here, in the system's words; None where they do."""
        try:
            with tempfile.TemporaryFile(dir=self._results) as file:
                os.posix_fallocate(file.fileno(), 0, ROOM_BYTES)
        except OSError as error:
            return None if error.errno in _UNSAID else error.strerror
        return None

    def batch(self, *, max_results: int = BATCH_RESULTS, max_bytes: int = BATCH_BYTES) -> list[Entry]:
        """Urgent results, then the oldest, up to both bounds; at least one when there is any. Broken ones go aside, and
        so does what could not be read for READ_PATIENCE_S; until then it stays and keeps none behind it waiting. A
        result whose picture could not be read for that long goes without it.
        """
        entries: list[Entry] = []
        size = 0
        names = self._names()
        self._unread_since_s = {name: self._unread_since_s[name] for name in self._unread_since_s.keys() & names}
        for name in names:
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
        self._remove_pictures(entry.run_id)

    def set_aside(self, path: Path, why: str) -> None:
        """Takes a result out of the way that nobody can read or take, its pictures with it; the newest are kept for a
        person to look at.
        """
        log.error("set aside %s: %s", path.name, why)
        path.replace(self._aside / path.name)
        if (run_id := _run_id(path.name)) is not None:
            self._remove_pictures(run_id)
        for old in sorted(self._aside.iterdir(), key=lambda kept: _age(kept.name))[:-MAX_ASIDE]:
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
        found = {path for folder in self._pictures.values() for path in folder.iterdir()}
        orphans = found - {self._picture(kind, run) for run in self.run_ids() for kind in PictureKind}
        for path in (*orphans, *self._results.glob("*.part")):
            path.unlink(missing_ok=True)

    def _names(self) -> list[str]:
        return sorted(name for name in os.listdir(self._results) if name.endswith(".json"))

    def _picture(self, kind: PictureKind, run_id: UUID) -> Path:
        return self._pictures[kind] / f"{run_id}.image"

    def _remove_pictures(self, run_id: UUID) -> None:
        for kind in PictureKind:
            self._picture(kind, run_id).unlink(missing_ok=True)

    def _read(self, path: Path) -> Entry | None:
        try:
            line = path.read_bytes()
            result = wire.decode(line, RunResult)
        except FileNotFoundError:
            return None
        except OSError as error:
            if self._is_broken(path.name, error):
                self.set_aside(path, str(error))
            return None
        except wire.WireError as error:
            self.set_aside(path, str(error))
            return None
        pictures = self._read_pictures(path.name, result.run_id)
        return None if pictures is None else Entry(run_id=result.run_id, path=path, line=line, pictures=pictures)

    def _read_pictures(self, name: str, run_id: UUID) -> dict[PictureKind, bytes] | None:
        """Those of a result, without what is broken; None as long as that may only not be readable now."""
        pictures, fault = {}, None
        for kind in PictureKind:
            try:
                pictures[kind] = self._picture(kind, run_id).read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                fault = error
        if fault is None:
            self._unread_since_s.pop(name, None)
        elif not self._is_broken(name, fault):
            return None
        else:
            log.warning("%s goes without a picture that cannot be read: %s", name, fault)
        return pictures

    def _is_broken(self, name: str, error: OSError) -> bool:
        """Whether a result, or a picture of it, could not be read for READ_PATIENCE_S."""
        now_s = self._clock_s()
        if name not in self._unread_since_s:
            log.warning("%s cannot be read and waits: %s", name, error)
        return now_s - self._unread_since_s.setdefault(name, now_s) >= READ_PATIENCE_S

    def _bytes(self, name: str) -> int:
        run_id = _run_id(name)
        pictures = [] if run_id is None else [self._picture(kind, run_id) for kind in PictureKind]
        return sum(map(_size, (self._results / name, *pictures)))

    def _drop(self, name: str) -> None:
        (self._results / name).unlink(missing_ok=True)
        if (run_id := _run_id(name)) is not None:
            self._remove_pictures(run_id)


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
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        # A full disk must not fill with what comes of trying.
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
