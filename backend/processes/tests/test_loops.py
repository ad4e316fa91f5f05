import signal
from collections.abc import Callable

import pytest
from django.db import OperationalError

from backend.processes import loops
from backend.processes.loops import LOOPS, Step, run
from backend.runs.tests.processes import heeds_sigterm, managed
from backend.testing import START_S, wait_until
from workers.stopping import Stop


def counting(calls: list[str], name: str, step: Callable[[], float]) -> Callable[[], Step]:
    def make() -> Step:
        def counted() -> float:
            calls.append(name)
            return step()

        return counted

    return make


def test_every_loop_that_is_listed_can_be_made() -> None:
    assert all(callable(make()) for make in LOOPS.values())


def test_a_step_that_fails_ends_neither_its_loop_nor_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "AFTER_FAULT_S", 0.01)
    stop, calls = Stop(), list[str]()

    def fail() -> float:
        raise ValueError("a fault")

    def go_on() -> float:
        if calls.count("bad") >= 3 and calls.count("good") >= 3:
            stop.set()
        return 0.01

    run({"bad": counting(calls, "bad", fail), "good": counting(calls, "good", go_on)}, stop)
    assert calls.count("bad") >= 3


def test_a_step_waits_for_its_database() -> None:
    stop, calls = Stop(), list[str]()

    def step() -> float:
        if len(calls) < 3:
            raise OperationalError("the server closed the connection")
        stop.set()
        return 60.0

    run({"one": counting(calls, "one", step)}, stop)
    assert len(calls) == 3


@pytest.mark.django_db(transaction=True)
def test_the_process_ends_in_order_when_it_is_told_to() -> None:
    with managed("judge") as process:
        wait_until(lambda: heeds_sigterm(process.pid), "the judge to be up")
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_S) == 0
