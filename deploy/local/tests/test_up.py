import os
import signal
from pathlib import Path

import pytest

from deploy.local import fleet, up
from deploy.local.places import Places, make_state
from deploy.local.plan import TITLES, plan
from deploy.local.process import StepError
from deploy.local.settings import settle
from deploy.local.state import Phase, Report, ServiceReport, Status, held, read_status


def service(name: str, *, pid: int | None = 7, restarts: int = 0) -> ServiceReport:
    return ServiceReport(name=name, pid=pid, restarts=restarts)


def said(phase: Phase, detail: str | None, *services: ServiceReport) -> Status:
    return Status(phase=phase, detail=detail, services=services)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = Places(code=tmp_path)
    make_state(made)
    return made


def test_a_service_that_is_still_starting_is_not_ticked_off() -> None:
    assert up.ready_names(said(Phase.STARTING, "web", service("redis"), service("web"))) == ["redis"]
    assert up.ready_names(said(Phase.RUNNING, None, service("redis"), service("web"))) == ["redis", "web"]


def test_nothing_is_ticked_off_when_a_start_is_taken_back() -> None:
    assert up.ready_names(said(Phase.STOPPING, None, service("redis"))) == []


def test_without_a_supervisor_nothing_runs(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    Report(places.status).write(Phase.RUNNING, None, [service("web")])
    assert up.status(places) == 3
    assert "Nothing runs" in capsys.readouterr().out


def test_status_names_what_waits_for_a_restart(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settle(places.settings)
    with held(places.lock, "taken"):
        waiting = [service("web", restarts=1), service("sweeper", pid=None, restarts=2)]
        Report(places.status).write(Phase.RUNNING, None, waiting)
        assert up.status(places) == 1
    shown = capsys.readouterr().out
    assert settings.base_url in shown
    assert "restarted 1 time\n" in shown
    assert "waits for a restart restarted 2 times\n" in shown


def test_a_second_up_says_what_runs_and_changes_nothing(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    settle(places.settings)
    with held(places.lock, "taken"):
        Report(places.status).write(Phase.RUNNING, None, [service("web")])
        assert up.up(places, port=None, with_demo=True, foreground=False) == 0
    assert capsys.readouterr().out.startswith("Already running.\nrunning at http://127.0.0.1:")
    assert not places.venv.exists()


@pytest.mark.parametrize(
    ("file", "says"), [("backend/sites/models.py", True), ("README.md", False), ("workers/__pycache__/run.pyc", False)]
)
def test_who_pulls_newer_code_is_told_that_the_older_one_runs_on(
    places: Places, capsys: pytest.CaptureFixture[str], file: str, *, says: bool
) -> None:
    written = places.code / file
    written.parent.mkdir(parents=True, exist_ok=True)
    written.touch()
    with held(places.lock, "taken"):
        Report(places.status).write(Phase.RUNNING, None, [service("web")])
        os.utime(written, (0, 0))
        assert up.status(places) == 0
        assert "newer" not in capsys.readouterr().out
        os.utime(written, (2**32, 2**32))
        assert up.up(places, port=None, with_demo=True, foreground=False) == 0
    assert ("newer than what runs: ./dev down, then ./dev up" in capsys.readouterr().out) is says


def test_two_starts_at_once_do_not_meddle(places: Places) -> None:
    with held(places.up_lock, ""), pytest.raises(StepError, match=r"Another \./dev up"):
        up.up(places, port=None, with_demo=True, foreground=False)
    assert not places.venv.exists()


def test_who_ends_a_start_ends_what_it_has_started(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[Path] = []
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(up, "ensure_venv", lambda *_: False)
    monkeypatch.setattr(up, "_start", lambda _: None)
    monkeypatch.setattr(up, "_follow", lambda *_: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(up, "stop", lambda lock, **_: stopped.append(lock))
    with pytest.raises(SystemExit, match="143"):
        up.up(places, port=None, with_demo=False, foreground=True)
    signal.signal(signal.SIGTERM, before)
    assert stopped == [places.lock]


def test_what_begins_is_neither_stopped_nor_removed_as_if_it_were_nothing(places: Places) -> None:
    with held(places.up_lock, "not expected"):
        for end in (up.down, lambda places: up.reset(places, ask=False)):
            with pytest.raises(StepError, match=rf"under way \(process {os.getpid()}\)"):
                end(places)
    assert places.logs.is_dir()


def test_down_waits_for_longer_than_all_services_together_may_take(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "credentials", lambda *_: {"agent_token": "", "broker_url": ""})
    services = list(plan(places, settle(places.settings)))
    assert {service.name for service in services} == TITLES.keys()
    assert sum(service.stop_within_s for service in services) < up.STOP_S


def test_down_and_reset_of_nothing_are_no_fault(places: Places) -> None:
    assert up.down(places) == 0
    assert up.reset(places, ask=False) == 0
    assert not places.state.exists()


def test_reset_removes_nothing_without_a_yes(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "no")
    assert up.reset(places, ask=True) == 1
    assert places.state.exists()


def test_reset_says_how_to_remove_what_another_user_has_put_there(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied", "__init__.cpython-311.pyc")

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(StepError, match=f"Another user .* As root: rm -r {places.state}"):
        up.reset(places, ask=False)


def test_a_status_that_was_written_is_read_back(tmp_path: Path) -> None:
    report = Report(tmp_path / "status.json")
    report.write(Phase.STARTING, "web", [service("redis")])
    assert read_status(report.path) == said(Phase.STARTING, "web", service("redis"))
