"""The supervisor with real processes: shells that write down what happens to them."""

import errno
import os
import resource
import shutil
import signal
from pathlib import Path

import pytest

from deploy.local.process import children, descendants
from deploy.local.state import AlreadyRunningError, Phase, held, holder
from deploy.local.supervisor import rotate
from deploy.local.tests.rig import PATIENCE_S, alive, running, wait_until

# Writes its name when it starts and when it is told to stop, and waits without a child of its own.
TELLS = """
trap 'echo stop {0} >>events; exit' TERM
echo start {0} >>events
touch {0}.ready
while :; do sleep 0.02; done
"""
SLEEPS = "exec sleep 600"


def test_each_service_starts_when_the_one_before_is_ready_and_they_stop_in_reverse(tmp_path: Path) -> None:
    names = ("first", "second", "third")
    services = [{"name": name, "script": TELLS.format(name), "ready": f"{name}.ready"} for name in names]
    with running(tmp_path, *services) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        assert supervisor.stop() == 0
    started = [f"start {name}" for name in names]
    stopped = [f"stop {name}" for name in reversed(names)]
    assert (tmp_path / "events").read_text().splitlines() == started + stopped


def test_a_service_that_dies_is_started_again_and_counted(tmp_path: Path) -> None:
    with running(tmp_path, {"name": "mortal", "script": SLEEPS}) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        before = supervisor.pid("mortal")
        os.kill(before, signal.SIGKILL)
        wait_until(
            lambda: (said := supervisor.status()) and said.services[0].restarts == 1 and said.healthy, "a restart"
        )
        assert supervisor.pid("mortal") != before


def test_a_service_that_keeps_dying_is_tried_less_and_less_often(tmp_path: Path) -> None:
    script = "date +%s%N >>starts; exit 3"
    with running(tmp_path, {"name": "steady", "script": SLEEPS}, {"name": "weak", "script": script}) as supervisor:
        starts = tmp_path / "starts"
        wait_until(lambda: starts.exists() and len(starts.read_text().splitlines()) >= 3, "three starts")
        first, second, third = (int(line) for line in starts.read_text().splitlines()[:3])
        # Each wait begins with a death, so that a busy machine makes it longer and never shorter.
        assert second - first > 0.95e9
        assert third - second > 1.95e9
        assert supervisor.status() is not None


def test_a_service_that_cannot_be_started_now_is_tried_again_and_the_others_go_on(tmp_path: Path) -> None:
    services = ({"name": "steady", "script": SLEEPS}, {"name": "mortal", "script": SLEEPS})
    with running(tmp_path, *services) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        steady, log = supervisor.pid("steady"), tmp_path / "mortal.log"
        log.unlink()
        log.mkdir()
        os.kill(supervisor.pid("mortal"), signal.SIGKILL)
        wait_until(lambda: (said := supervisor.status()) and said.services[1].restarts >= 2, "a start that fails")
        log.rmdir()
        wait_until(lambda: (said := supervisor.status()) and said.healthy, "one that does not")
        assert supervisor.pid("steady") == steady


def test_a_machine_that_refuses_the_first_start_of_a_service_ends_the_start(tmp_path: Path) -> None:
    (tmp_path / "unlucky.log").mkdir()
    steady = {"name": "steady", "script": TELLS.format("steady"), "ready": "steady.ready"}
    with running(tmp_path, steady, {"name": "unlucky", "script": SLEEPS}) as supervisor:
        assert supervisor.process.wait(PATIENCE_S) == 1
        assert "Is a directory" in str(supervisor.wait_for(Phase.FAILED).detail)
    assert (tmp_path / "events").read_text().splitlines() == ["start steady", "stop steady"]


def test_a_service_that_ends_before_it_is_ready_ends_the_start_with_its_last_words(tmp_path: Path) -> None:
    broken = {"name": "broken", "script": "echo no such table >&2; exit 4", "ready": "never"}
    with running(tmp_path, {"name": "steady", "script": SLEEPS}, broken) as supervisor:
        assert supervisor.process.wait(PATIENCE_S) == 1
        said = supervisor.wait_for(Phase.FAILED)
    assert said.detail is not None
    assert said.detail.startswith("broken ended before it was ready")
    assert "no such table" in said.detail


def test_a_service_that_never_gets_ready_ends_the_start(tmp_path: Path) -> None:
    slow = {"name": "slow", "script": SLEEPS, "ready": "never", "ready_within_s": 0.2}
    with running(tmp_path, slow) as supervisor:
        assert supervisor.process.wait(PATIENCE_S) == 1
        assert "slow was not ready after 0 s" in str(supervisor.wait_for(Phase.FAILED).detail)


def test_a_preparation_that_fails_stops_what_runs_already(tmp_path: Path) -> None:
    services = (
        {"name": "steady", "script": TELLS.format("steady"), "ready": "steady.ready"},
        {"name": "unready", "script": SLEEPS, "fault": "manage.py migrate failed"},
    )
    with running(tmp_path, *services) as supervisor:
        assert supervisor.process.wait(PATIENCE_S) == 1
        assert supervisor.wait_for(Phase.FAILED).detail == "manage.py migrate failed"
    assert (tmp_path / "events").read_text().splitlines() == ["start steady", "stop steady"]


def test_a_service_that_does_not_heed_is_killed_with_all_it_started(tmp_path: Path) -> None:
    script = "trap '' TERM; setsid sleep 600 & sleep 601 & echo $$ >started; while :; do sleep 0.02; done"
    deaf = {"name": "deaf", "script": script, "ready": "started", "stop_within_s": 0.2}
    with running(tmp_path, deaf) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        wait_until(lambda: len(descendants(supervisor.process.pid)) >= 3, "its children")
        family = descendants(supervisor.process.pid)
        assert supervisor.stop() == 0
        assert not any(alive(pid) for pid in family)


def test_orphans_of_a_service_that_ended_are_gone_after_the_stop(tmp_path: Path) -> None:
    # Its service, started again and again, writes the file again and again: it is there whole or not at all.
    orphan = "setsid sh -c 'echo $$ >written; mv written orphan; exec sleep 600'"
    script = f"{orphan} & while ! test -e orphan; do sleep 0.01; done; kill -9 $$"
    with running(tmp_path, {"name": "parent", "script": script, "ready": "orphan"}) as supervisor:
        wait_until((tmp_path / "orphan").exists, "the orphan")
        pid = int((tmp_path / "orphan").read_text())
        supervisor.stop()
        assert not alive(pid)


def test_services_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with running(tmp_path, {"name": "child", "script": SLEEPS}) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        child = supervisor.pid("child")
        supervisor.process.kill()
        wait_until(lambda: not alive(child), "the child to end")


def test_services_inherit_no_blocked_signals_and_write_to_their_own_log(tmp_path: Path) -> None:
    script = "grep SigBlk /proc/self/status; touch told; exec sleep 600"
    with running(tmp_path, {"name": "free", "script": script, "ready": "told"}) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        assert supervisor.log("free").split() == ["SigBlk:", "0000000000000000"]


def test_a_second_supervisor_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    with running(tmp_path, {"name": "only", "script": SLEEPS}) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        assert holder(tmp_path / "lock") == supervisor.process.pid
        with pytest.raises(AlreadyRunningError, match="taken"), held(tmp_path / "lock", "taken"):
            pass
        supervisor.stop()
    assert holder(tmp_path / "lock") is None


def test_a_log_that_has_grown_is_cut_and_its_past_kept_once(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    with log.open("ab") as writer:
        writer.write(b"old line\n" * 20)
        writer.flush()
        rotate(log, limit=100)
        writer.write(b"new line\n")
    assert log.read_bytes() == b"new line\n"
    assert (tmp_path / "web.log.1").read_bytes() == b"old line\n" * 20


def test_a_log_is_cut_although_the_disk_has_no_room_for_its_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = tmp_path / "web.log"
    log.write_bytes(b"old line\n" * 20)
    monkeypatch.setattr(shutil, "copyfile", refuse)
    rotate(log, limit=100)
    assert log.read_bytes() == b""


def test_services_go_on_while_the_disk_is_full_and_what_happened_is_told_afterwards(tmp_path: Path) -> None:
    with running(tmp_path, {"name": "mortal", "script": SLEEPS}) as supervisor:
        supervisor.wait_for(Phase.RUNNING)
        before, ours = supervisor.pid("mortal"), supervisor.process.pid
        # No byte of any file can be written any more, which is refused as on a full disk.
        resource.prlimit(ours, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: not {before}.issuperset(children(ours)), "a restart")
        resource.prlimit(ours, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.kill(children(ours)[0], signal.SIGKILL)
        wait_until(
            lambda: (said := supervisor.status()) and said.services[0].restarts == 2 and said.healthy, "a second one"
        )
