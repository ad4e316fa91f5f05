"""What a composition does before each start."""

import errno
import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import django
import pytest

SET_UP = Path(__file__).resolve().parents[1] / "compose" / "set-up"


@pytest.fixture
def set_up() -> ModuleType:
    spec = spec_from_loader("set_up", SourceFileLoader("set_up", str(SET_UP)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_first_password_is_told_although_the_first_start_is_ended_behind_it(
    set_up: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {"admin": {"email": "admin@localhost", "password": "once"}, "regions": []}

    def manage(command: str, *_: str) -> str:
        if command == "seed_demo":
            sys.exit(1)
        return json.dumps(made) if command == "bootstrap" else "done"

    monkeypatch.setattr(set_up, "manage", manage)
    monkeypatch.setenv("FIRSTBYTE_ADMIN_EMAIL", "admin@localhost")
    monkeypatch.setenv("FIRSTBYTE_BASE_URL", "http://127.0.0.1:8800")
    with pytest.raises(SystemExit):
        set_up.main()
    assert "Sign in at http://127.0.0.1:8800 as admin@localhost with once\n" in capsys.readouterr().out


def test_a_start_begins_no_process_for_each_of_its_commands(
    set_up: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is served until all of them have ended, and most of what a process takes is to load the service."""

    def begin(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess.Popen, "__init__", begin)
    assert set_up.manage("version").strip() == django.get_version()
    assert capsys.readouterr().out == ""


def test_a_command_that_fails_ends_the_start(set_up: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        set_up.manage("check", "--unknown")
    assert "--unknown" in capsys.readouterr().err


def test_a_secret_that_a_start_has_left_gives_way_to_a_new_one(set_up: ModuleType, tmp_path: Path) -> None:
    """Root without root's rights may not write what nobody may write."""
    secret = tmp_path / "agent_token"
    for text in ("of a start that was ended behind it", "new"):
        set_up.write(secret, text)
    assert secret.read_text() == "new"
    assert secret.stat().st_mode & 0o777 == 0o444


def test_a_secret_for_which_there_is_no_room_is_not_there_half(
    set_up: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would pass for one that its agent has, and no later start would make another."""

    def begin(path: Path, *_: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", begin)
        with pytest.raises(OSError, match="No space left"):
            set_up.write(tmp_path / "broker_url", "redis://…")
    assert not (tmp_path / "broker_url").exists()
    set_up.write(tmp_path / "broker_url", "redis://…")
    assert [path.name for path in tmp_path.iterdir()] == ["broker_url"]
