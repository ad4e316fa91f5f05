"""Which runs are held, seen from every process."""

from pathlib import Path
from uuid import UUID

from workers import ledger
from workers.ledger import GRACE_S, Ledger, Recent
from workers.tests.builders import build_request

NOW_S = 5_000.0


def test_a_run_is_begun_once(tmp_path: Path) -> None:
    records = Ledger(tmp_path / "1")
    request = build_request()
    assert records.begin(request, now_s=NOW_S)
    assert not records.begin(request, now_s=NOW_S)
    records.end(request.run_id)
    assert not records.begin(request, now_s=NOW_S)


def test_a_run_whose_result_waits_in_the_spool_is_not_begun_again(tmp_path: Path) -> None:
    request = build_request()
    assert not Ledger(tmp_path / "1", done={request.run_id}).begin(request, now_s=NOW_S)


def test_another_attempt_is_another_run(tmp_path: Path) -> None:
    records = Ledger(tmp_path / "1")
    assert records.begin(build_request(), now_s=NOW_S)
    assert records.begin(build_request(attempt=2), now_s=NOW_S)


def test_runs_of_all_processes_are_named_until_they_end(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / "1"), Ledger(tmp_path / "2")
    first, second = build_request(), build_request(region="us")
    one.begin(first, now_s=NOW_S)
    other.begin(second, now_s=NOW_S)
    assert set(ledger.holding(tmp_path, now_s=NOW_S)) == {first.run_id, second.run_id}
    one.end(first.run_id)
    assert ledger.holding(tmp_path, now_s=NOW_S) == (second.run_id,)


def test_the_runs_of_a_dead_process_are_forgotten(tmp_path: Path) -> None:
    Ledger(tmp_path / "1").begin(build_request(), now_s=NOW_S)
    ledger.forget(tmp_path / "1")
    assert ledger.holding(tmp_path, now_s=NOW_S) == ()
    ledger.forget(tmp_path / "1")


def test_a_run_that_should_long_be_over_is_not_named_and_marks_its_process(tmp_path: Path) -> None:
    Ledger(tmp_path / "1").begin(build_request(timeout_us=30_000_000), now_s=NOW_S)
    over_s = NOW_S + 30 + GRACE_S
    assert not ledger.is_stuck(tmp_path / "1", now_s=over_s - 1)
    assert len(ledger.holding(tmp_path, now_s=over_s - 1)) == 1
    assert ledger.is_stuck(tmp_path / "1", now_s=over_s)
    assert ledger.holding(tmp_path, now_s=over_s) == ()


def test_a_process_that_is_gone_is_not_stuck(tmp_path: Path) -> None:
    assert not ledger.is_stuck(tmp_path / "none", now_s=NOW_S)


def test_memory_of_runs_is_bounded_and_the_oldest_go() -> None:
    recent = Recent(2)
    runs = [UUID(int=number) for number in range(3)]
    assert [recent.add(run) for run in runs] == [True, True, True]
    assert [run in recent for run in runs] == [False, True, True]
    assert recent.add(runs[0])
    assert not recent.add(runs[2])
