"""What measures is ahead of other work, and so is what it starts; elsewhere it measures all the same."""

import os
import subprocess
import sys
from functools import partial

from workers.tests.netlab.ahead import MATRIX, ahead, with_others

_TELL = "import os; print(os.sched_getscheduler(0))"


def policies() -> tuple[int, int]:
    """Of this thread and of a program that it starts."""
    said = subprocess.run([sys.executable, "-c", _TELL], capture_output=True, check=True).stdout
    return os.sched_getscheduler(0), int(said)


def allowed_policy() -> int:
    allowed = subprocess.run(["chrt", "--rr", "1", "true"], capture_output=True).returncode == 0
    return os.SCHED_RR if allowed else os.SCHED_OTHER


def test_a_test_and_what_it_starts_are_ahead_where_that_is_allowed() -> None:
    policy = allowed_policy()
    with ahead():
        assert policies() == (policy, policy)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_what_computes_long_meanwhile_takes_its_turn() -> None:
    policy = allowed_policy()
    with ahead(MATRIX):
        with with_others() as priority:
            assert policies() == (os.SCHED_OTHER, os.SCHED_OTHER)
        assert os.sched_getscheduler(0) == policy
        assert os.sched_getparam(0).sched_priority == priority


def test_what_was_not_ahead_does_not_get_ahead() -> None:
    with with_others() as priority:
        assert priority == 0
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_who_makes_way_for_others_goes_on_to() -> None:
    script = "from workers.tests.netlab.test_ahead import *\nwith with_others() as ahead: print(ahead, *policies())"
    make_way = partial(os.sched_setscheduler, 0, os.SCHED_IDLE, os.sched_param(0))
    done = subprocess.run([sys.executable, "-c", script], preexec_fn=make_way, capture_output=True, check=True)
    assert done.stdout.split() == [b"0", *[str(os.SCHED_IDLE).encode()] * 2]
