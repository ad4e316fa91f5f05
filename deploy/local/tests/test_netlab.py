"""Which tests run in the lab and which do not, and what is said where the lab cannot run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from deploy.local import netlab, suite
from deploy.local.places import Places
from deploy.local.process import Job
from deploy.local.tests.rig import CODE

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
    assert all(suite._run_chosen(["pytest"], ["-k", "x"], tmp_path, {}).values()) is well


def test_in_the_whole_suite_what_computes_goes_on_beside_the_lab(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[Mapping[str, Job]] = []

    def stream(jobs: Mapping[str, Job]) -> dict[str, int | None]:
        said.append(jobs)
        return {name: {"tests": 5, "beside": 0, "checks": 1, "lab": 0}[name] for name in jobs}

    monkeypatch.setattr(suite, "_stream", stream)
    monkeypatch.setattr(netlab, "way", lambda: ((), lambda: None))
    results = suite._run_whole(["pytest"], Places(code=tmp_path), tmp_path, {})
    assert results == {"tests": False, "beside": True, "checks": False, "lab": True}
    assert [sorted(jobs) for jobs in said] == [["tests"], ["beside", "checks", "lab"]]


def test_no_test_of_the_whole_suite_is_left_out_or_run_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs: dict[str, Job] = {}

    def stream(more: Mapping[str, Job]) -> dict[str, int | None]:
        jobs.update(more)
        return dict.fromkeys(more, 0)

    monkeypatch.setattr(suite, "_stream", stream)
    monkeypatch.setattr(netlab, "way", lambda: ((), lambda: None))
    suite._run_whole(["pytest"], Places(code=tmp_path), tmp_path, {})
    ignored = {word.removeprefix("--ignore=") for word in jobs["tests"].command if word.startswith("--ignore=")}
    chosen = [word for name in ("beside", "lab") for word in jobs[name].command if (CODE / word).is_dir()]
    assert sorted(ignored) == sorted(chosen) == sorted((LAB, *netlab.BESIDE))
