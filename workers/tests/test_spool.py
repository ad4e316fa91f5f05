"""Results on disk: whole, in order, bounded, and never in the way of each other."""

import errno
import logging
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.measurement import wire
from workers.measurement.messages import RunResult
from workers.measurement.routes import PictureKind
from workers.spool import MAX_RESULTS, READ_PATIENCE_S, Spool
from workers.tests.builders import build_result


def numbered(number: int) -> RunResult:
    return build_result(run_id=UUID(int=number))


def clock() -> Callable[[], int]:
    ticks = count(1)
    return lambda: next(ticks)


def filled(directory: Path, results: int, *, max_results: int = MAX_RESULTS) -> Spool:
    spool, now_ns = Spool(directory, max_results=max_results), clock()
    for number in range(results):
        spool.add(numbered(number), now_ns=now_ns)
    return spool


def numbers(spool: Spool, **bounds: int) -> list[int]:
    return [entry.run_id.int for entry in spool.batch(**bounds)]


def test_what_went_in_comes_out_oldest_first(tmp_path: Path) -> None:
    spool = filled(tmp_path, 5)
    entries = spool.batch()
    assert [wire.decode(entry.line, RunResult) for entry in entries] == [numbered(number) for number in range(5)]
    assert spool.count() == 5


def test_it_is_still_there_after_a_restart(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    again = Spool(tmp_path)
    again.sweep()
    assert numbers(again) == [0, 1, 2]
    assert again.run_ids() == {UUID(int=number) for number in range(3)}


def test_a_batch_has_a_bound_in_results_and_one_in_bytes(tmp_path: Path) -> None:
    spool = filled(tmp_path, 5)
    line = len(wire.encode(numbered(0))) + 1
    assert numbers(spool, max_results=2) == [0, 1]
    assert numbers(spool, max_bytes=line * 3) == [0, 1, 2]
    assert numbers(spool, max_bytes=1) == [0]


def test_a_person_who_waits_does_not_stand_behind_what_piled_up(tmp_path: Path) -> None:
    spool, now_ns = Spool(tmp_path, max_results=2), clock()
    for number in range(3):
        spool.add(numbered(number), now_ns=now_ns)
    spool.add(numbered(9), urgent=True, now_ns=now_ns)
    assert numbers(spool) == [9, 0, 1, 2]
    spool.trim()
    assert numbers(spool) == [9, 2]


def test_what_is_acknowledged_goes_with_its_pictures(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    pictures = {kind: f"picture of {kind}".encode() for kind in PictureKind}
    spool.add(numbered(1), pictures)
    [entry] = spool.batch()
    assert entry.pictures == pictures
    spool.remove(entry)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    spool.remove(entry)


@pytest.mark.parametrize("content", [b"", b"\x00" * 500, b'{"kind":"run_result","version":1,"body":{', b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_set_aside_and_holds_up_nobody(tmp_path: Path, content: bytes) -> None:
    spool = filled(tmp_path, 2)
    name = f"1-{0:020d}-{UUID(int=9)}.json"
    (tmp_path / "results" / name).write_bytes(content)
    assert numbers(spool) == [0, 1]
    assert (tmp_path / "aside" / name).read_bytes() == content
    assert spool.count() == 2


class Disk:
    """Refuses to read files whose names end as one in `faults`, with the error that stands there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.faults: dict[str, int] = {}
        read = Path.read_bytes

        def read_or_refuse(path: Path) -> bytes:
            for end, number in self.faults.items():
                if path.name.endswith(end):
                    raise OSError(number, os.strerror(number))
            return read(path)

        monkeypatch.setattr(Path, "read_bytes", read_or_refuse)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_what_cannot_be_read_now_waits_and_goes_with_its_pictures_when_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    spool, disk = filled(tmp_path, 2), Disk(monkeypatch)
    spool.add(numbered(9), {PictureKind.FILM: b"picture"}, urgent=True)
    disk.faults[f"{UUID(int=9)}.json"] = number
    assert [numbers(spool) for _ in range(3)] == [[0, 1]] * 3
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    disk.faults.clear()
    assert numbers(spool) == [9, 0, 1]
    assert spool.batch()[0].pictures == {PictureKind.FILM: b"picture"}


def test_what_nobody_could_read_for_minutes_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    spool, disk = Spool(tmp_path, clock_s=lambda: now_s[0]), Disk(monkeypatch)
    spool.add(numbered(1))
    disk.faults[f"{UUID(int=1)}.json"] = errno.EIO
    assert spool.batch() == []
    now_s[0] += READ_PATIENCE_S - 1
    assert spool.batch() == []
    disk.faults.clear()
    assert numbers(spool) == [1]
    disk.faults[f"{UUID(int=1)}.json"] = errno.EIO
    now_s[0] += READ_PATIENCE_S
    assert spool.batch() == []
    assert spool.count() == 1
    now_s[0] += READ_PATIENCE_S
    assert spool.batch() == []
    assert spool.count() == 0
    assert len(list((tmp_path / "aside").iterdir())) == 1


def test_a_result_whose_picture_nobody_could_read_for_minutes_goes_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now_s = [0.0]
    spool, disk = Spool(tmp_path, clock_s=lambda: now_s[0]), Disk(monkeypatch)
    spool.add(numbered(1), {PictureKind.SCREENSHOT: b"picture"})
    disk.faults[f"{UUID(int=1)}.image"] = errno.EIO
    assert spool.batch() == []
    now_s[0] += READ_PATIENCE_S
    for _ in range(2):
        assert [dict(entry.pictures) for entry in spool.batch()] == [{}]
    assert "goes without a picture that cannot be read" in caplog.text
    spool.remove(spool.batch()[0])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_only_some_unreadable_files_are_kept(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in range(110):
        (tmp_path / "results" / f"1-{number:020d}-x.json").write_bytes(b"")
    assert spool.batch() == []
    kept = sorted(path.name for path in (tmp_path / "aside").iterdir())
    assert len(kept) == 100
    assert kept[-1].startswith(f"1-{109:020d}")


def test_the_newest_unreadable_files_are_kept_urgent_or_not(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for number in range(110):
        (tmp_path / "results" / f"1-{number:020d}-x.json").write_bytes(b"")
    assert spool.batch() == []
    urgent = f"0-{110:020d}-x.json"
    (tmp_path / "results" / urgent).write_bytes(b"")
    assert spool.batch() == []
    assert (tmp_path / "aside" / urgent).exists()
    assert len(list((tmp_path / "aside").iterdir())) == 100


def test_what_is_set_aside_leaves_no_pictures_behind(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add(numbered(1), dict.fromkeys(PictureKind, b"picture"))
    [entry] = spool.batch()
    spool.set_aside(entry.path, "the service does not take it")
    assert list(tmp_path.rglob("*.image")) == []
    assert len(list((tmp_path / "aside").iterdir())) == 1


def test_beyond_its_bound_in_results_the_oldest_go_loudly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = filled(tmp_path, 7, max_results=4)
    assert spool.trim() == 3
    assert numbers(spool) == [3, 4, 5, 6]
    assert spool.dropped == 3
    [record] = caplog.records
    assert record.levelno == logging.CRITICAL
    assert spool.trim() == 0


def test_beyond_its_bound_in_bytes_pictures_count_too_and_go_too(tmp_path: Path) -> None:
    spool = Spool(tmp_path, max_bytes=250_000)
    now_ns = clock()
    for number in range(4):
        spool.add(numbered(number), dict.fromkeys(PictureKind, b"x" * 50_000), now_ns=now_ns)
    assert spool.trim() == 2
    assert numbers(spool) == [2, 3]
    assert [len(list((tmp_path / kind).iterdir())) for kind in PictureKind] == [2, 2]


@given(results=st.integers(0, 12), bound=st.integers(0, 12))
def test_the_bound_always_holds_after_a_trim(
    tmp_path_factory: pytest.TempPathFactory, results: int, bound: int
) -> None:
    spool = filled(tmp_path_factory.mktemp("spool"), results, max_results=bound)
    assert spool.trim() == max(0, results - bound)
    assert spool.count() == min(results, bound)


def test_a_writer_killed_half_way_leaves_nothing_that_counts(tmp_path: Path) -> None:
    spool = filled(tmp_path, 1)
    (tmp_path / "results" / f"1-{2:020d}-{UUID(int=2)}.part").write_bytes(b"half")
    (tmp_path / "screenshots" / f"{UUID(int=2)}.image").write_bytes(b"of a result that never came")
    assert numbers(spool) == [0]
    spool.sweep()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_others_cannot_look_into_it(tmp_path: Path) -> None:
    Spool(tmp_path / "new")
    assert os.stat(tmp_path / "new" / "results").st_mode & 0o077 == 0


def test_what_cannot_be_encoded_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    with pytest.raises(wire.WireError):
        spool.add(build_result(agent="\ud800"), {PictureKind.FILM: b"picture"})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
