"""What root does before it steps down, as far as another user can do it too."""

import os
import pwd
from pathlib import Path

import pytest

from deploy.local import call, root


def test_a_copy_is_readable_for_everybody_but_its_state_is_not(tmp_path: Path) -> None:
    (tmp_path / "backend").mkdir(mode=0o700)
    (tmp_path / ".run").mkdir(mode=0o700)
    for path in ("backend/wsgi.py", ".run/env", "dev"):
        (tmp_path / path).touch(mode=0o600)
    (tmp_path / "dev").chmod(0o700)
    root._open_to_readers(tmp_path)
    modes = {str(path.relative_to(tmp_path)): oct(path.stat().st_mode & 0o777) for path in tmp_path.rglob("*")}
    assert modes == {
        "backend": "0o755",
        "backend/wsgi.py": "0o644",
        "dev": "0o755",
        ".run": "0o700",
        ".run/env": "0o600",
    }


def test_what_the_service_user_may_read_is_asked_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ourselves = pwd.getpwuid(os.geteuid())
    monkeypatch.setattr(root, "become", lambda user: None)
    (tmp_path / "readable").touch()
    assert root._can_read(ourselves, tmp_path / "readable")
    assert not root._can_read(ourselves, tmp_path / "missing")


@pytest.mark.parametrize(("arguments", "code"), [(["reset", "--help"], 0), (["demo", "quicker"], 2)])
def test_whoever_asks_what_a_command_does_or_is_wrong_lets_root_do_nothing(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(root, "step_down", lambda *_arguments: pytest.fail("root went to work"))
    with pytest.raises(SystemExit) as end:
        call.main(arguments)
    assert end.value.code == code
    assert f"usage: ./dev {arguments[0]}" in "".join(capsys.readouterr())
