"""The wish to end reaches whoever waits for it, whenever it comes."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from workers.stopping import Stop

# Nearly always within a wait, where a lock would be held.
RESTLESS = """
import signal
from workers.stopping import Stop
stop = Stop()
stop.heed(signal.SIGTERM, signal.SIGINT)
print("ready", flush=True)
while not stop.wait(0):
    pass
assert stop.is_set()
"""


def test_it_is_set_once_and_for_everybody() -> None:
    stop = Stop()
    assert not stop.is_set()
    assert not stop.wait(0)
    assert not stop.wait(-1)
    waiting = threading.Barrier(4)

    def wait() -> bool:
        waiting.wait(60)
        return stop.wait(60)

    with ThreadPoolExecutor(3) as others:
        told = [others.submit(wait) for _ in range(3)]
        waiting.wait(60)
        stop.set()
        assert all(each.result(60) for each in told)
    assert stop.is_set()
    assert stop.wait(0)


def test_who_is_told_hides_it_from_nobody_for_a_moment() -> None:
    stop = Stop()
    stop.set()

    def ask() -> bool:
        return all(stop.is_set() and stop.wait(0) for _ in range(20_000))

    with ThreadPoolExecutor(3) as others:
        assert all(told.result(60) for told in [others.submit(ask) for _ in range(3)])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_wait_ends_it(number: signal.Signals) -> None:
    command = [sys.executable, "-c", RESTLESS]
    for _ in range(10):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(number)
            try:
                assert process.wait(60) == 0
            finally:
                process.kill()
