"""A disk that is full for a while costs no result, and leaves nothing behind."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workers import tasks
from workers.bell import Bell
from workers.ledger import Ledger, holding
from workers.measurement.routes import PictureKind
from workers.run import Instruments
from workers.spool import Spool
from workers.tasks import Station
from workers.tests.builders import build_request, build_result
from workers.tests.fakes import FakeProber


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[OSError]:
    """The disk refuses as often as there are faults in it; who waits for it waits no time."""
    faults: list[OSError] = []
    sync = os.fsync

    def refuse_or_sync(descriptor: int) -> None:
        if faults:
            raise faults.pop()
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_or_sync)
    monkeypatch.setattr(tasks, "AGAIN_S", 0.0)
    return faults


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def station(directory: Path) -> Station:
    return Station(
        instruments=Instruments(agent="eu-1", prober=FakeProber()),
        spool=Spool(directory / "spool"),
        ledger=Ledger(directory / "held" / "1"),
        bell=Bell(),
    )


def test_a_result_waits_for_room_on_the_disk_and_its_run_is_held_meanwhile(
    tmp_path: Path, full: list[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, request = station(tmp_path), build_request()
    held: list[bool] = []
    monkeypatch.setattr(tasks, "_wait", lambda: held.append(request.run_id in holding(tmp_path / "held", now_s=0.0)))
    full += [no_space() for _ in range(3)]
    assert place.ledger.begin(request, now_s=0.0)
    tasks._carry_out(request, place)
    assert place.spool.run_ids() == {request.run_id}
    assert held == [True] * 3
    assert holding(tmp_path / "held", now_s=0.0) == ()


def test_a_disk_that_stays_full_costs_the_result_and_says_so(
    tmp_path: Path, full: list[OSError], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place, request = station(tmp_path), build_request()
    monkeypatch.setattr(tasks, "PATIENCE_S", 0.0)
    full += [no_space() for _ in range(9)]
    place.ledger.begin(request, now_s=0.0)
    tasks._carry_out(request, place)
    assert place.spool.run_ids() == set()
    assert "is lost: [Errno 28] No space left on device" in caplog.text


def test_a_result_that_waits_for_the_disk_fills_no_log_meanwhile(
    tmp_path: Path, full: list[OSError], caplog: pytest.LogCaptureFixture
) -> None:
    full += [no_space() for _ in range(30)]
    tasks._carry_out(build_request(), station(tmp_path))
    assert caplog.text.count("waits for the disk") == 1


def test_a_disk_without_room_for_a_page_says_so_before_results_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path)
    assert spool.fault() is None
    monkeypatch.setattr(os, "posix_fallocate", _raising(errno.ENOSPC))
    assert spool.fault() == "No space left on device"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_system_that_reserves_nothing_has_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", _raising(errno.EOPNOTSUPP))
    assert Spool(tmp_path).fault() is None


def _raising(number: int) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


def test_what_was_not_written_whole_is_taken_away(tmp_path: Path, full: list[OSError]) -> None:
    spool = Spool(tmp_path)
    full.append(no_space())
    with pytest.raises(OSError, match="No space"):
        spool.add(build_result())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_pictures_of_a_result_that_finds_no_room_are_taken_away_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would count them, or send them: they would lie there until the agent begins anew."""

    def refuse_results(descriptor: int) -> None:
        if "/results/" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise no_space()

    monkeypatch.setattr(os, "fsync", refuse_results)
    with pytest.raises(OSError, match="No space"):
        Spool(tmp_path).add(build_result(), dict.fromkeys(PictureKind, b"picture"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_run_that_cannot_be_noted_is_carried_out_all_the_same(tmp_path: Path) -> None:
    ledger, request = Ledger(tmp_path / "held" / "1"), build_request()
    (tmp_path / "held" / "1").rmdir()
    assert ledger.begin(request, now_s=0.0)
    assert not ledger.begin(request, now_s=0.0)
