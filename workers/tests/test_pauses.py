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

    now_s = 1_000.0

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
    time_.now_s += 1
    assert after() == 0


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
    assert run(build_request(), Measured(measurement=build_probe()), 1.9) == Measured(measurement=build_probe())
    outcome = run(build_request(), Measured(measurement=build_probe()), 30)
    assert outcome == Measured(measurement=replace(build_probe(), contention_us=30_000_000))


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
