"""Whoever stood still knows it, and blames nobody."""

import os
import signal
import time
from dataclasses import replace

import pytest

from workers.measurement.failure import Blame, FailureKind, failure
from workers.measurement.messages import Failed, Kind, Measured, OnProgress, RunRequest
from workers.pauses import LEAST_S, TICK_S, Pauses
from workers.run import Clock, Instruments, execute
from workers.tests.builders import SLOT, build_page, build_probe, build_request
from workers.tests.fakes import FakeLoader, FakePageLoad, FakeProber


class Time:
    """Stands where it is put."""

    def __init__(self, now_s: float = 1_000.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


def test_a_pause_is_known_to_whom_it_came_in_between() -> None:
    time_ = Time()
    pauses = Pauses(time_)
    before = pauses.since()
    time_.now_s += 60
    after = pauses.since()
    assert before() == pytest.approx(59.5)
    assert after() == 0
    time_.now_s += TICK_S + 0.2
    assert after() == 0


@pytest.mark.parametrize(
    ("stood_s", "computed_s", "told_s"),
    [(0.2, 0.0, 0.0), (0.3, 0.0, 0.3), (1.0, 0.5, 1.0), (1.0, 1.5, 0.0), (30.0, 30.5, 30.0)],
)
def test_who_only_computed_for_a_moment_did_not_stand_still(stood_s: float, computed_s: float, told_s: float) -> None:
    """What computes may keep its own watch waiting for the interpreter."""
    time_, computed = Time(), Time(0)
    pauses = Pauses(time_, computed)
    stood = pauses.since()
    time_.now_s += TICK_S + stood_s + 0.001
    computed.now_s += computed_s
    assert stood() == pytest.approx(told_s, abs=0.01)


@pytest.mark.parametrize(
    ("stood_s", "kind", "blame"),
    [(0.0, FailureKind.RESPONSE_TIMEOUT, Blame.TARGET), (30.0, FailureKind.RESPONSE_TIMEOUT, Blame.MONITOR)],
)
def test_a_run_that_failed_while_its_agent_stood_still_blames_no_site(
    stood_s: float, kind: FailureKind, blame: Blame
) -> None:
    outcome = run(build_request(), Failed(failure=failure(kind), measurement=build_probe()), stood_s)
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.blame) == (kind, blame)
    assert outcome.measurement == build_probe()
    assert ("The agent itself stood still for 30 s" in outcome.failure.detail) == (stood_s > 0)


def test_a_page_that_was_loaded_while_its_agent_stood_still_is_not_measured() -> None:
    request = build_request(kind=Kind.PAGE)
    assert run(request, Measured(measurement=build_page()), 0) == Measured(measurement=build_page())
    outcome = run(request, Measured(measurement=build_page()), 12)
    assert isinstance(outcome, Failed)
    assert (outcome.failure.kind, outcome.failure.blame) == (FailureKind.INTERNAL_ERROR, Blame.MONITOR)
    assert outcome.measurement is None


def test_a_probe_that_ended_well_goes_by_the_kernels_stamps_and_counts_for_no_comparison() -> None:
    assert run(build_request(), Measured(measurement=build_probe()), 0) == Measured(measurement=build_probe())
    for stood_s in (1, 30):
        outcome = run(build_request(), Measured(measurement=build_probe()), stood_s)
        assert outcome == Measured(measurement=replace(build_probe(), contention_us=stood_s * 1_000_000))


def test_a_page_beside_which_its_agent_stood_still_for_a_moment_was_kept_waiting() -> None:
    seen = build_page()
    outcome = run(build_request(kind=Kind.PAGE), Measured(measurement=seen), 1)
    waited_us = (seen.vitals.contention_us or 0) + 1_000_000
    assert outcome == Measured(measurement=replace(seen, vitals=replace(seen.vitals, contention_us=waited_us)))


def test_what_fails_beside_a_moments_pause_fails_as_it_is() -> None:
    failed = Failed(failure=failure(FailureKind.CONNECT_REFUSED), measurement=build_probe())
    assert run(build_request(), failed, 1) == failed


def test_a_process_that_was_stopped_knows_it() -> None:
    watches, (told, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            stood = Pauses().since()
            os.write(watches[1], b"x")
            os.read(told, 1)
            code = 0 if stood() >= LEAST_S else 1
        finally:
            os._exit(code)
    os.read(watches[0], 1)
    os.kill(child, signal.SIGSTOP)
    # Nothing but time makes it a pause.
    time.sleep(LEAST_S + TICK_S + 1.0)
    os.kill(child, signal.SIGCONT)
    os.write(tell, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for end in (*watches, told, tell):
        os.close(end)


def run(request: RunRequest, outcome: Measured | Failed, stood_s: float) -> object:
    class Standing(FakeProber, FakeLoader):
        def probe(self, request: RunRequest, on_progress: OnProgress | None = None) -> Measured | Failed:
            return outcome

        def load(self, request: RunRequest, on_progress: OnProgress | None = None) -> FakePageLoad:
            return FakePageLoad(outcome=outcome)

    instruments = Instruments(agent="eu-1", prober=Standing(), loader=Standing())
    clock = replace(Clock(), now=lambda: SLOT, standing=lambda: lambda: stood_s)
    return execute(request, instruments, clock).result.outcome
