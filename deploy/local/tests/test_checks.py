import os
from pathlib import Path

import pytest

from deploy.local import checks
from deploy.local.checks import CHECKS, REQUIREMENTS, Check
from deploy.local.places import Places
from deploy.local.process import fault_of
from deploy.local.tests.rig import CODE

ENV = {"PATH": os.environ["PATH"]}


def test_a_command_that_ends_well_has_no_fault(tmp_path: Path) -> None:
    assert fault_of(["echo", "fine"], env=ENV, cwd=tmp_path, timeout_s=120) == ""


def test_a_command_that_fails_shows_both_of_its_outputs(tmp_path: Path) -> None:
    fault = fault_of(["sh", "-c", "echo found; echo said >&2; exit 1"], env=ENV, cwd=tmp_path, timeout_s=120)
    assert fault.splitlines() == ["exit code 1", "found", "said"]


def test_a_command_that_hangs_is_a_fault(tmp_path: Path) -> None:
    assert fault_of(["sleep", "600"], env=ENV, cwd=tmp_path, timeout_s=0.1) == "did not end within 0 s"


def test_every_check_has_a_name_of_its_own_and_a_folder_that_exists() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert [check.folder for check in CHECKS if not (CODE / check.folder).is_dir()] == []


def test_every_requirement_file_is_compared() -> None:
    files = {
        str(path.relative_to(CODE)) for path in [*CODE.glob("requirements*.txt"), CODE / "workers/requirements.txt"]
    }
    assert files == set(REQUIREMENTS)


@pytest.mark.parametrize(("ends", "mark"), [(0, "✓"), (1, "✗")])
def test_of_each_check_is_said_how_it_went_and_of_all_in_the_last_line(
    ends: int, mark: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(checks, "CHECKS", (Check(name="made up", command=("sh", "-c", f"exit {ends}")),))
    monkeypatch.setattr(checks, "compare_requirements", lambda places, workshop: "")
    assert checks.run_checks(Places(code=CODE), tmp_path) is not bool(ends)
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(f"checks: {2 - ends} passed, {ends} failed")
    assert [line.split()[0] for line in said if "made up" in line] == [mark]
