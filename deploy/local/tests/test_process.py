import os
from pathlib import Path

import pytest

from deploy.local.process import StepError, exit_words, run_step, tail

ENV = {"PATH": os.environ["PATH"]}


def test_a_step_gives_its_output(tmp_path: Path) -> None:
    assert run_step(["sh", "-c", "echo here; echo aside >&2"], env=ENV, cwd=tmp_path, what="Saying") == "here\n"


def test_a_step_that_fails_is_named_with_the_end_of_what_it_said(tmp_path: Path) -> None:
    script = "seq 100 >&2; exit 7"
    with pytest.raises(StepError) as caught:
        run_step(["sh", "-c", script], env=ENV, cwd=tmp_path, what="Counting")
    lines = str(caught.value).splitlines()
    assert lines[0] == "Counting failed (exit code 7):"
    assert lines[1:] == [f"    {number}" for number in range(86, 101)]


def test_a_step_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="Sleeping did not end within 0 s"):
        run_step(["sleep", "600"], env=ENV, cwd=tmp_path, what="Sleeping", timeout_s=0.1)


def test_exit_codes_are_said_in_words() -> None:
    assert exit_words(3) == "exit code 3"
    assert exit_words(-9) == "killed by SIGKILL"


def test_the_tail_of_a_log_that_is_missing_is_empty_and_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    assert tail(tmp_path / "none.log") == ""
    (tmp_path / "odd.log").write_bytes(b"\xff\xfe here\n")
    assert "here" in tail(tmp_path / "odd.log")
