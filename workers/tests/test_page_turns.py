"""Pages load in turns, whichever agent of the machine they are of: with real processes and the kernel's own locks."""

import logging
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from signal import SIGKILL

import pytest

from workers.page_turns import HURRIED_WAIT_S, LONGEST_WAIT_S, PageTurns, pages_at_once, patience_s
from workers.tests.builders import build_request
from workers.tests.waiting import wait_for

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
# Longer than a busy machine takes for what comes at once, and shorter than anybody is told to wait.
SOON_S, LONG_S = 60.0, 600.0
# Takes a turn, says so, and keeps it for as long as somebody listens.
LOADER = """\
import sys
from pathlib import Path
from workers.page_turns import PageTurns

folder, at_once, hurried, patience_s = sys.argv[1:]
with PageTurns(Path(folder), int(at_once)).taken(hurried=hurried == "hurried", patience_s=float(patience_s)):
    print("loads", flush=True)
    sys.stdin.readline()
"""


class Loader:
    """A process that wants to load a page. It waits in line, or has its turn, once it is made."""

    def __init__(self, folder: Path, *, hurried: bool = False, at_once: int = 1, patience_s: float = LONG_S) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOADER, str(folder), str(at_once), "hurried" if hurried else "", str(patience_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def loads(self) -> bool:
        """Waits for its turn; False when that does not come."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], SOON_S)
        return bool(ready) and self.process.stdout.readline() == b"loads\n"

    def end(self) -> None:
        """Its page has loaded."""
        assert self.process.communicate(b"\n", SOON_S)[0] == b""
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.send_signal(SIGKILL)
        self.process.communicate()


Start = Callable[..., Loader]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a loader, and comes back when the kernel knows of it."""
    with ExitStack() as stack:

        def start(folder: Path = tmp_path / "turns", **how: object) -> Loader:
            before = locks(folder)
            loader = Loader(folder, **how)  # type: ignore[arg-type]  # the tests' own words
            stack.callback(loader.kill)
            wait_for(lambda: locks(folder) > before, "the loader to stand in line")
            return loader

        yield start


def locks(folder: Path) -> int:
    """How many load or wait, by the kernel's own list of locks."""
    file = folder / "turns"
    if not file.exists():
        return 0
    return sum(
        line.split()[5].endswith(f":{file.stat().st_ino}") for line in Path("/proc/locks").read_text().splitlines()
    )


def test_two_processes_load_one_after_the_other(start: Start, tmp_path: Path) -> None:
    first = start()
    assert first.loads()
    second = start()
    assert locks(tmp_path / "turns") == 2
    first.end()
    assert second.loads()
    second.end()
    assert locks(tmp_path / "turns") == 0


def test_the_turn_of_a_killed_process_is_over(start: Start) -> None:
    first = start()
    assert first.loads()
    second = start()
    first.kill()
    assert second.loads()


def test_nobody_waits_for_one_who_was_killed_while_it_waited(start: Start) -> None:
    first = start()
    assert first.loads()
    killed, last = start(), start()
    killed.kill()
    first.end()
    assert last.loads()


def test_who_came_first_is_first_and_a_person_sooner(start: Start) -> None:
    first = start()
    assert first.loads()
    waiting = [start(), start(), start(hurried=True), start(hurried=True)]
    for loader in (*waiting[2:], *waiting[:2]):
        first.end()
        assert loader.loads()
        first = loader


def test_as_many_load_at_once_as_the_machine_carries(start: Start) -> None:
    first, second = start(at_once=2), start(at_once=2)
    assert first.loads()
    assert second.loads()
    third = start(at_once=2)
    second.end()
    assert third.loads()
    assert first.process.poll() is None


def test_who_has_waited_long_enough_loads_beside_others_and_says_so(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = start()
    assert first.loads()
    turns = PageTurns(tmp_path / "turns", 1)
    with caplog.at_level(logging.INFO), turns.taken(hurried=True, patience_s=0.2):
        assert locks(tmp_path / "turns") == 1
    assert "waited 0.2 s for its turn in vain" in caplog.text
    first.end()
    with turns.taken(hurried=False, patience_s=0):
        assert locks(tmp_path / "turns") == 1


def test_nobody_waits_behind_one_who_has_given_up(start: Start, tmp_path: Path) -> None:
    first = start()
    assert first.loads()
    beside = Loader(tmp_path / "turns", patience_s=0)
    assert beside.loads()
    last = start()
    first.end()
    assert last.loads()
    beside.end()


def test_threads_of_one_process_take_turns_too(tmp_path: Path) -> None:
    turns = PageTurns(tmp_path / "turns", 1)
    told: list[str] = []

    def load(name: str) -> None:
        with turns.taken(hurried=False, patience_s=LONG_S):
            told.extend((name, name))

    with turns.taken(hurried=False, patience_s=0):
        threads = [threading.Thread(target=load, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        wait_for(lambda: locks(tmp_path / "turns") == 3, "both to wait")
        assert not told
    for thread in threads:
        thread.join(SOON_S)
    assert told in (list("aabb"), list("bbaa"))


def test_what_a_page_has_started_does_not_keep_its_turn(tmp_path: Path) -> None:
    with PageTurns(tmp_path / "turns", 1).taken(hurried=False, patience_s=0):
        left = subprocess.Popen(["sleep", "600"], close_fds=False)
    try:
        assert locks(tmp_path / "turns") == 0
    finally:
        left.kill()
        left.wait()


def linked(place: Path) -> Path:
    (place / "elsewhere").mkdir()
    (place / "turns").symlink_to(place / "elsewhere")
    return place / "turns"


def linked_inside(place: Path) -> Path:
    (place / "turns").symlink_to(place / "elsewhere")
    return place


def open_to_all(place: Path) -> Path:
    place.chmod(0o777)
    return place


def taken_by_a_file(place: Path) -> Path:
    (place / "turns").touch()
    return place / "turns"


def taken_by_a_folder(place: Path) -> Path:
    (place / "turns").mkdir()
    return place


def nobody_can_write(_: Path) -> Path:
    return Path("/proc/turns")


def of_somebody_else(place: Path) -> Path:
    if os.geteuid() != 0:
        return Path("/usr")
    os.chown(place, 65534, 65534)
    return place


SPOILT = [linked, linked_inside, open_to_all, taken_by_a_file, taken_by_a_folder, nobody_can_write, of_somebody_else]


@pytest.mark.parametrize("spoil", SPOILT)
def test_where_agents_cannot_meet_pages_load_as_they_come_and_the_log_says_it_once(
    spoil: Callable[[Path], Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o700)
    turns = PageTurns(spoil(tmp_path), 1)
    before = sorted(tmp_path.rglob("*"))
    turns.tell()
    with turns.taken(hurried=False, patience_s=0), turns.taken(hurried=False, patience_s=0):
        pass
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "pages do not load in turns with those of other agents on this machine"
    ]
    assert sorted(tmp_path.rglob("*")) == before


def test_an_agent_tells_how_many_pages_load_at_once_and_where_agents_meet(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        PageTurns(tmp_path / "turns", 3).tell()
    assert caplog.messages == [f"pages load 3 at once, with those of other agents that use {tmp_path / 'turns'}"]


def test_an_agent_may_always_use_the_browsers_that_it_was_given() -> None:
    assert pages_at_once(1) == max(1, len(os.sched_getaffinity(0)) // 2)
    assert pages_at_once(16) >= 16


@pytest.mark.parametrize(
    ("urgent", "age_s", "waits_s"),
    [(False, 0, LONGEST_WAIT_S), (True, 0, HURRIED_WAIT_S), (False, 440, 10), (True, 440, 10), (False, 460, 0)],
)
def test_nobody_waits_beyond_half_of_its_window(urgent: bool, age_s: float, waits_s: float) -> None:
    begun = NOW - timedelta(seconds=age_s)
    request = build_request(urgent=urgent, scheduled_for=begun, expires_at=begun + timedelta(minutes=15))
    assert patience_s(request, NOW) == waits_s
