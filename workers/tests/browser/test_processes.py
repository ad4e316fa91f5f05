"""Whose time the processors spent, on real processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from workers.browser.process_tree import ProcessTree
from workers.browser.processes import ProcessClock
from workers.measurement.captures_sight import ProcessorTime
from workers.tests.waiting import wait_for

_WORKS = "import sys, time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nsys.stdin.read()"


@contextmanager
def running(script: str, *, cpu: int | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as process:
        if cpu is not None:
            os.sched_setaffinity(process.pid, {cpu})
        try:
            yield process
        finally:
            process.kill()


def read(clock: ProcessClock) -> ProcessorTime:
    told = clock.read()
    assert told is not None
    return told


def test_processor_time_is_that_of_a_process_and_its_children() -> None:
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {_WORKS!r}])"
    with running(parent) as process:
        clock = ProcessClock(ProcessTree(process.pid))
        # Ticks are cut off in each of two counters of each process: up to 20 ms of the child's 300 stay unseen.
        wait_for(lambda: read(clock).ours_s >= 0.25, "the child to have worked")
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        assert clock.read() is None


def test_what_others_use_is_the_machines_and_not_ours() -> None:
    with running("input()") as ours, running(_WORKS) as others:
        clock = ProcessClock(ProcessTree(ours.pid))
        before, theirs = read(clock), ProcessClock(ProcessTree(others.pid))
        wait_for(lambda: read(theirs).ours_s >= 0.25, "the other to have worked")
        after = read(clock)
    assert after.ours_s - before.ours_s < 0.2
    assert after.machine_s - before.machine_s >= 0.2


def test_a_thread_that_could_run_and_had_no_processor_has_waited() -> None:
    cpu = min(os.sched_getaffinity(0))
    with running("while True: pass", cpu=cpu) as ours, running("while True: pass", cpu=cpu):
        clock = ProcessClock(ProcessTree(ours.pid))
        began_s = read(clock).waited_s[ours.pid]
        wait_for(lambda: read(clock).waited_s[ours.pid] - began_s >= 0.1, "it to have waited for the other")


def test_a_thread_that_has_nothing_to_do_does_not_wait() -> None:
    with running("input()") as ours, running(_WORKS) as others:
        clock, theirs = ProcessClock(ProcessTree(ours.pid)), ProcessClock(ProcessTree(others.pid))
        wait_for(lambda: read(theirs).ours_s >= 0.25, "the other to have worked")
        began_s = read(clock).waited_s[ours.pid]
        wait_for(lambda: read(theirs).ours_s >= 0.29, "the other to go on")
        assert read(clock).waited_s[ours.pid] - began_s < 0.05
