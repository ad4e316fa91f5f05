"""What was measured again is told at the end of a run, also of one that is spread over several processes."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from workers.tests.second_tries import loud, wait_for_quiet
from workers.tests.waiting import undisturbed, wait_for

_ROOT = Path(__file__).parents[2]
_TESTS = """
from itertools import count
from workers.tests.second_tries import measured_again
from workers.tests.waiting import undisturbed

TRIES = count(1)

@undisturbed
def test_spoiled_twice():
    number = next(TRIES)
    assert number > 2, f"took {number}\\nms"

def test_a_table():
    measured_again("1 row")

def test_at_once():
    pass
"""


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else of the run is loud here, nor hears that we are."""
    monkeypatch.setattr("workers.tests.second_tries._lock_file", lambda: tmp_path / "loud")


def test_each_test_that_was_measured_again_is_told_with_its_last_reason(tmp_path: Path) -> None:
    (tmp_path / "test_made_up.py").write_text(_TESTS)
    options = [
        "-n",
        "1",
        "-p",
        "no:schemathesis",
        "-p",
        "workers.tests.second_tries",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=tmp_path,
        # With a folder of its own for what is temporary: it waits for nobody who is loud in this run.
        env=os.environ | {"PYTHONPATH": str(_ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    told = done.stdout.partition(" measured again ")[2].splitlines()[1:3]
    assert told[0] == "test_made_up.py::test_a_table: 2 tries; 1 row"
    assert told[1].startswith("test_made_up.py::test_spoiled_twice: 3 tries; AssertionError: took 2 ms")
    assert "test_at_once" not in done.stdout
    assert done.returncode == 0


@pytest.mark.usefixtures("alone")
def test_another_try_waits_until_the_last_of_the_loud_is_done() -> None:
    done: list[str] = []

    def again() -> None:
        wait_for_quiet()
        done.append("another try")

    other = Thread(target=again)
    with loud():
        with loud():
            other.start()
        other.join(0.3)
        done.append("quiet")
    other.join(60)
    assert done == ["quiet", "another try"]


@pytest.mark.usefixtures("alone")
def test_a_second_try_comes_at_once_and_a_third_when_all_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    @undisturbed
    def third_time_lucky() -> None:
        tries.append("try")
        assert tries.count("try") == 3

    other = Thread(target=third_time_lucky)
    # What is tried here is no test of this run.
    with monkeypatch.context() as apart:
        apart.setattr("workers.tests.second_tries._noted", [])
        with loud():
            other.start()
            wait_for(lambda: len(tries) == 2, "the second try")
            other.join(0.3)
            tries.append("quiet")
        other.join(60)
    assert tries == ["try", "try", "quiet", "try"]
