"""Which tests run in the lab and which do not, and what is said where the lab cannot run."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from deploy.local import netlab, suite
from deploy.local.places import Places
from deploy.local.process import Job

LAB = netlab.FOLDER


@pytest.fixture
def code(tmp_path: Path) -> Path:
    for name in (f"{LAB}/test_lab.py", "workers/tests/test_run.py", "backend/tests/test_web.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_without_arguments_both_runs_have_their_tests(code: Path) -> None:
    assert netlab.share((), code) == ([f"--ignore={LAB}"], [LAB])


def test_words_that_choose_by_name_go_to_both(code: Path) -> None:
    assert netlab.share(("-k", "loss"), code) == (["-k", "loss", f"--ignore={LAB}"], ["-k", "loss", LAB])


def test_a_path_in_the_lab_needs_no_other_run(code: Path) -> None:
    word = f"{LAB}/test_lab.py::test_one"
    assert netlab.share(("-x", word), code) == (None, ["-x", word])


def test_a_path_outside_needs_no_lab(code: Path) -> None:
    others = ["-x", "backend/tests", f"--ignore={LAB}"]
    assert netlab.share(("-x", "backend/tests"), code) == (others, None)


def test_a_folder_above_the_lab_has_tests_in_both(code: Path) -> None:
    assert netlab.share(("workers",), code) == (["workers", f"--ignore={LAB}"], [LAB])
    assert netlab.share(("workers/",), code) == (["workers/", f"--ignore={LAB}"], [LAB])


def test_paths_of_both_are_shared_out(code: Path) -> None:
    chosen = (f"{LAB}/test_lab.py", "backend/tests")
    assert netlab.share(chosen, code) == (["backend/tests", f"--ignore={LAB}"], [f"{LAB}/test_lab.py"])


def test_where_no_network_may_be_made_the_lab_says_so_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(netlab, "way", lambda: None)
    monkeypatch.setattr(suite, "_stream", lambda jobs: dict.fromkeys(jobs, 3))
    beside = {"checks": Job(command=["true"], env={}, cwd=tmp_path)}
    assert suite._stream_lab(["true"], tmp_path, {}, beside) == {"lab": 1, "checks": 3}
    assert "CANNOT RUN" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("codes", "well"), [((0, 5), True), ((5, 0), True), ((5, 5), False), ((0, 1), False), ((1, 0), False)]
)
def test_one_of_both_runs_may_have_no_tests_but_not_both(
    codes: tuple[int, int], well: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stream(jobs: Mapping[str, Job]) -> dict[str, int | None]:
        return {name: codes[name == "lab"] for name in jobs}

    monkeypatch.setattr(suite, "_stream", stream)
    monkeypatch.setattr(netlab, "way", lambda: ((), lambda: None))
    assert all(suite._run_tests(["pytest"], ["-k", "x"], tmp_path, {}).values()) is well


def test_the_whole_suite_has_tests_in_both_and_checks_beside_those_in_the_lab(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[list[str]] = []

    def stream(jobs: Mapping[str, Job]) -> dict[str, int | None]:
        said.append(sorted(jobs))
        return {name: {"tests": 5, "checks": 1, "lab": 0}[name] for name in jobs}

    monkeypatch.setattr(suite, "_stream", stream)
    monkeypatch.setattr(netlab, "way", lambda: ((), lambda: None))
    checks = {"checks": suite._checks(Places(code=tmp_path), tmp_path)}
    results = suite._run_tests(["pytest"], (), tmp_path, {}, beside_lab=checks)
    assert results == {"tests": False, "checks": False, "lab": True}
    assert said == [["tests"], ["checks", "lab"]]


def test_checks_beside_the_lab_work_only_while_nobody_else_does(tmp_path: Path) -> None:
    prepare = suite._checks(Places(code=tmp_path), tmp_path).prepare
    asked = "import os; print(os.sched_getscheduler(0) == os.SCHED_IDLE)"
    done = subprocess.run([sys.executable, "-c", asked], preexec_fn=prepare, capture_output=True, text=True)
    assert done.stdout == "True\n"
