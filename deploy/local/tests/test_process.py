import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.local.process import StepError, exit_words, run_step, tail
from deploy.local.tests.rig import CODE, PATIENCE_S, alive

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


RUN = """
import sys
from pathlib import Path
from deploy.local.process import Job, run_to_the_end
env, seconds = {"PATH": sys.argv[1]}, float(sys.argv[2])
jobs = [Job(command=["sh", "-c", script], env=env, cwd=Path()) for script in sys.argv[3:]]
print(*run_to_the_end(*jobs, timeout_s=seconds))
"""


def to_the_end(*scripts: str, timeout_s: float = PATIENCE_S) -> "subprocess.CompletedProcess[str]":
    """In a process of its own, since it adopts and ends every orphan."""
    command = [sys.executable, "-c", RUN, os.environ["PATH"], str(timeout_s), *scripts]
    return subprocess.run(command, cwd=CODE, capture_output=True, text=True, timeout=2 * PATIENCE_S)


def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    done = to_the_end(f"setsid sleep 600 >&- 2>&- & echo $! >{pid}; echo said; exit 3")
    assert done.stdout == "said\n3\n"
    assert not alive(int(pid.read_text()))


def test_orphans_that_end_are_buried_while_the_command_runs(tmp_path: Path) -> None:
    # Without that, /proc would show the orphan for as long as its new parent does not ask for it.
    script = "sh -c 'sleep 0.1 & echo $! >pid'; while test -e /proc/$(cat pid); do sleep 0.02; done; echo gone"
    done = to_the_end(f"cd {tmp_path}; {script}")
    assert done.stdout == "gone\n0\n"


def test_a_command_that_does_not_end_in_time_is_ended() -> None:
    done = to_the_end("exec sleep 600", timeout_s=0.2)
    assert done.stdout == "None\n"


def test_each_of_several_commands_has_its_own_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = to_the_end(f"cat {pipe}; exit 3", f"echo said >{pipe}; exit 4")
    assert done.stdout == "said\n3 4\n"
