"""A parent and its children, as real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.tests.waiting import wait_for

# What the children do is theirs; each writes its process id first, so that the test can tell one life from the next.
SCRIPT = """
import gc, os, signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from workers import supervisor
from workers.supervisor import Child, supervise

place, patience = Path(sys.argv[1]), float(sys.argv[2])
supervisor.DRAIN_S, supervisor.LAST_DRAIN_S = patience, 60

def patient():
    # Patience begins to end once the stubborn one has heard that it is asked: on a busy machine that may take long.
    return begun if "stubborn" in sys.argv and not (place / "stubborn-asked").exists() else time.monotonic()

begun = time.monotonic()
supervisor.time = SimpleNamespace(monotonic=patient)

def note(name):
    with open(place / name, "a") as file:
        file.write(f"{os.getpid()}\\n")

def others_live():
    files = [place / name for name in sys.argv[3:] if name != "last"]
    return any(Path("/proc", pid).exists() for file in files if file.exists() for pid in file.read_text().split())

def steady():
    note("steady")
    signal.pause()
    return 0

def last():
    # Blocked, since who is told of this life may end it at once: a pause would sleep through what came just before it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    note("last")
    signal.sigwait([signal.SIGTERM])
    note("others-live" if others_live() else "others-gone")
    note("last-ended")
    return 0

def thrifty():
    if gc.get_freeze_count() > 1_000 and gc.get_threshold()[0] > 700:
        note("thrifty")
    signal.pause()

def stubborn():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    note("stubborn")
    while True:
        signal.sigwait([signal.SIGTERM])
        note("stubborn-asked")

def failing():
    note("failing")
    raise ValueError("on purpose")

def buried(pid):
    note("buried")

children = {
    "steady": Child(name="steady", work=steady, buried=buried, is_stuck=lambda pid: (place / "stuck").exists()),
    "last": Child(name="last", work=last, last=True),
    "thrifty": Child(name="thrifty", work=thrifty),
    "stubborn": Child(name="stubborn", work=stubborn),
    "failing": Child(name="failing", work=failing),
}
sys.exit(supervise([children[name] for name in sys.argv[3:]]))
"""


class Family:
    """A supervisor with named children, started in a process."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *children: str, patience_s: float = 20) -> None:
        command = [sys.executable, "-c", SCRIPT, str(self.place), str(patience_s), *children]
        with open(self.place / "log", "ab") as log:
            self.process = subprocess.Popen(command, stderr=log)

    def lives(self, name: str) -> list[int]:
        path = self.place / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def first(self, name: str) -> int:
        """The process of a child's first life."""
        return wait_for(lambda: self.lives(name), f"{name} to live")[0]

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(120)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    family = Family(tmp_path)
    yield family
    if family.process is not None and family.process.poll() is None:
        family.process.kill()
        family.process.wait()


def test_a_child_that_dies_is_started_again_and_its_death_noticed(family: Family) -> None:
    family.start("steady")
    [first] = wait_for(lambda: family.lives("steady"), "a child")
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: len(family.lives("steady")) == 2, "a second life")
    assert len(family.lives("buried")) == 1


def test_the_collector_looks_seldom_and_never_at_what_the_parent_imported(family: Family) -> None:
    family.start("thrifty")
    family.first("thrifty")


def test_a_child_that_fails_at_once_is_started_less_and_less(family: Family) -> None:
    family.start("failing", "steady")
    family.first("steady")
    wait_for(lambda: len(family.lives("failing")) >= 3, "three tries")
    assert "ValueError: on purpose" in (family.place / "log").read_text()
    assert len(family.lives("steady")) == 1


def test_a_stuck_child_is_replaced(family: Family) -> None:
    family.start("steady")
    [first] = wait_for(lambda: family.lives("steady"), "a child")
    (family.place / "stuck").touch()
    wait_for(lambda: not alive(first), "its end")
    (family.place / "stuck").unlink()
    wait_for(lambda: len(family.lives("steady")) >= 2, "a second life")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_last_child_outlives_the_others(family: Family, number: signal.Signals) -> None:
    family.start("last", "steady", "stubborn", patience_s=1)
    pids = [family.first(name) for name in ("last", "steady", "stubborn")]
    family.send(number)
    wait_for(lambda: family.lives("stubborn-asked"), "the others to be asked")
    assert family.wait() == 0
    assert family.lives("last-ended") == family.lives("others-gone") == [pids[0]]
    assert not any(alive(pid) for pid in pids)


def test_the_last_child_may_end_before_the_others(family: Family) -> None:
    family.start("last", "stubborn", patience_s=600)
    last, stubborn = (family.first(name) for name in ("last", "stubborn"))
    family.send(signal.SIGTERM)
    wait_for(lambda: family.lives("stubborn-asked"), "the other to be asked")
    os.kill(last, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{last}").exists(), "the last to be buried")
    os.kill(stubborn, signal.SIGKILL)
    assert family.wait() == 0


def test_a_second_signal_does_not_wait_for_anybody(family: Family) -> None:
    family.start("stubborn", patience_s=600)
    [child] = wait_for(lambda: family.lives("stubborn"), "a child")
    family.send(signal.SIGTERM)
    wait_for(lambda: family.lives("stubborn-asked"), "it to be asked")
    family.send(signal.SIGTERM)
    assert family.wait() == 0
    assert not alive(child)


def test_children_are_told_when_their_parent_is_killed(family: Family) -> None:
    family.start("last", "steady")
    pids = [family.first(name) for name in ("last", "steady")]
    family.send(signal.SIGKILL)
    wait_for(lambda: not any(alive(pid) for pid in pids), "the children to end")
    assert family.lives("last-ended") == [pids[0]]
