"""What makes way for others: when it works, and how it is told of."""

import os
import subprocess
import sys

import pytest

from deploy.local.aside import aside
from deploy.local.process import Job
from deploy.local.tests.rig import CODE


def run(script: str) -> subprocess.CompletedProcess[str]:
    job: Job = aside((sys.executable, "-c", script), env=os.environ, cwd=CODE)
    return subprocess.run(
        job.command, env=job.env, cwd=job.cwd, preexec_fn=job.prepare, capture_output=True, text=True, timeout=600
    )


def test_it_works_only_while_nobody_else_does() -> None:
    assert run("import os; print(os.sched_getscheduler(0) == os.SCHED_IDLE)").stdout == "\nTrue\n"


def test_of_what_went_well_the_last_line_is_said() -> None:
    done = run("print('....'); print('4 passed')")
    assert (done.returncode, done.stdout) == (0, "\n4 passed\n")


@pytest.mark.parametrize("code", [1, 5])
def test_of_what_failed_all_is_said_and_how_it_ended(code: int) -> None:
    done = run(f"import sys; print('..F.'); print('why', file=sys.stderr); sys.exit({code})")
    assert (done.returncode, sorted(done.stdout.split())) == (code, ["..F.", "why"])
