"""What a composition does before each start, with a stand-in for the service's commands."""

import errno
import json
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

SET_UP = Path(__file__).resolve().parents[1] / "compose" / "set-up"
# Says what `bootstrap` says at a first start, and is ended at whatever comes behind it.
MANAGE = """\
#!/bin/sh
case "$2" in
  bootstrap) echo '{made}' ;;
  seed_demo) kill -KILL $$ ;;
  *) echo done ;;
esac
"""


def test_the_first_password_is_told_although_the_first_start_is_ended_behind_it(tmp_path: Path) -> None:
    made = {"admin": {"email": "admin@localhost", "password": "once"}, "regions": []}
    command = tmp_path / "python"
    command.write_text(MANAGE.format(made=json.dumps(made)))
    command.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "FIRSTBYTE_ADMIN_EMAIL": "admin@localhost",
        "FIRSTBYTE_BASE_URL": "http://127.0.0.1:8800",
    }
    ended = subprocess.run(
        [sys.executable, SET_UP], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode != 0
    assert "Sign in at http://127.0.0.1:8800 as admin@localhost with once\n" in ended.stdout


@pytest.fixture
def set_up() -> ModuleType:
    spec = spec_from_loader("set_up", SourceFileLoader("set_up", str(SET_UP)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
