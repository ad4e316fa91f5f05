"""`manage.py service`: the processes of the service as forks of one."""

import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from backend.processes.management.commands.service import LOOPS
from backend.runs.tests.processes import heeds_sigterm, managed
from backend.testing import START_S, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def are_up(parent: int) -> bool:
    """Whether each has its process, which has its own answer to SIGTERM by now."""
    children = children_of(parent)
    return len(children) == 1 + len(LOOPS) and all(map(heeds_sigterm, children))


def is_replaced(victim: int, parent: int) -> bool:
    return victim not in children_of(parent) and are_up(parent)


def own_share(pid: int) -> float:
    """How much of what a process has in memory no other has, in parts of 1."""
    lines = [line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]]
    kb = {name: int(value) for name, value, *_ in lines}
    return (kb["Private_Clean:"] + kb["Private_Dirty:"]) / kb["Rss:"]


@contextmanager
def service() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process that all others are children of, once all are up, and where pages are."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with managed("service", "--", "--bind", address, "--worker-class=gthread", "--no-control-socket") as process:
        wait_until(lambda: are_up(process.pid), "all processes of the service to be up")
        wait_until(lambda: is_alive(address), "its web server to answer")
        yield process, address


def is_alive(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/livez") as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_all_of_them_end_in_order_when_they_are_told_to() -> None:
    with service() as (process, _):
        children = children_of(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_S) == 0
        assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_one_that_dies_is_there_again_and_the_others_never_noticed() -> None:
    with service() as (process, address):
        for victim in children_of(process.pid):
            others = set(children_of(process.pid)) - {victim}
            os.kill(victim, signal.SIGKILL)
            wait_until(partial(is_replaced, victim, process.pid), "another in its place")
            assert others < set(children_of(process.pid))
        wait_until(lambda: is_alive(address), "the web server to answer again")


def test_what_they_import_is_in_memory_once() -> None:
    """The judge brings arithmetic of its own, whose threads must not be there before a fork."""
    with service() as (process, _):
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1
        web, *loops = children_of(process.pid)
        (worker,) = children_of(web)
        # Alone each has nearly all for itself.
        shares = sorted(map(own_share, loops))
        assert max(own_share(web), *shares[:2], own_share(worker)) < 0.4
        assert shares[2] < 0.65
