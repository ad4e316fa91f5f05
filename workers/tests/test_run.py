"""From a request to its result: who is blamed, and that nothing escapes."""

import logging
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from workers.measurement.messages import (
    Failed,
    Kind,
    Measured,
    Missed,
    OnProgress,
    ProgressStage,
    RunRequest,
)
from workers.measurement.pair import PairTarget
from workers.measurement.profile import Profile
from workers.run import Clock, Execution, Instruments, execute, internal_error
from workers.tests.builders import SLOT, build_page, build_pair, build_probe, build_request, build_result
from workers.tests.fakes import PICTURES, FakeLoader, FakeProber
from workers.version import VERSION

INSTRUMENTS = Instruments(agent="eu-1", prober=FakeProber(), loader=FakeLoader())


def clock(now: datetime = SLOT) -> Clock:
    """Stands still for people; every look at the monotonic clock finds 250 ms gone."""
    ticks = count(1_000_000, 250_000)
    return Clock(now=lambda: now, monotonic_us=lambda: next(ticks))


def run(
    request: RunRequest, instruments: Instruments = INSTRUMENTS, on_progress: OnProgress | None = None
) -> Execution:
    return execute(request, instruments, clock(), on_progress)


def failed(execution: Execution) -> Failed:
    assert isinstance(execution.result.outcome, Failed)
    return execution.result.outcome


def test_a_result_echoes_its_request_and_says_who_measured_and_how_long() -> None:
    request = build_request(attempt=2, config_version=7)
    result = run(request).result
    assert result.outcome == Measured(measurement=build_probe())
    for name in ("run_id", "monitor_id", "kind", "region", "scheduled_for", "attempt", "config_version"):
        assert getattr(result, name) == getattr(request, name)
    assert (result.agent, result.agent_version) == ("eu-1", VERSION)
    assert (result.started_at, result.duration_us) == (SLOT, 250_000)


def test_a_page_comes_with_its_pictures() -> None:
    execution = run(build_request(kind=Kind.PAGE))
    assert execution.result.outcome == Measured(measurement=build_page())
    assert execution.pictures == PICTURES


@pytest.mark.parametrize("late", [timedelta(0), timedelta(seconds=1)])
def test_a_request_that_has_expired_is_missed_and_never_measured(late: timedelta) -> None:
    told: list[ProgressStage] = []
    result = run(build_request(expires_at=SLOT - late), on_progress=lambda stage, _: told.append(stage)).result
    assert isinstance(result.outcome, Missed)
    assert result.outcome.reason == "late"
    assert told == []


def test_a_profile_that_this_region_cannot_shape_is_our_lack() -> None:
    outcome = failed(run(build_request(profile=Profile(name="4g", rtt_us=150_000))))
    assert (outcome.failure.kind, outcome.failure.blame) == ("profile_unavailable", "monitor")
    assert "4g" in outcome.failure.detail


def test_a_profile_is_measured_by_the_instrument_that_shapes() -> None:
    instruments = Instruments(agent="eu-1", shaped=FakeProber())
    outcome = run(build_request(profile=Profile(name="4g", rtt_us=150_000)), instruments).result.outcome
    assert isinstance(outcome, Measured)
    assert failed(run(build_request(), instruments)).failure.kind == "internal_error"


def test_a_page_is_not_measured_without_the_profile_that_was_asked_for() -> None:
    instruments = Instruments(agent="eu-1", shaped=FakeProber(), loader=FakeLoader())
    outcome = failed(run(build_request(kind=Kind.PAGE, profile=Profile(name="4g", rtt_us=1)), instruments))
    assert outcome.failure.kind == "profile_unavailable"


def test_a_page_is_loaded_by_the_browser_of_its_profile() -> None:
    instruments = Instruments(agent="eu-1", shaped_loader=FakeLoader())
    request = build_request(kind=Kind.PAGE, profile=Profile(name="4g", rtt_us=150_000))
    assert isinstance(run(request, instruments).result.outcome, Measured)


@pytest.mark.parametrize("url", ["ftp://example.org/", "https://user:pw@example.org/", "https://example.org:22/", ""])
def test_an_address_that_cannot_be_measured_is_named_with_the_reason(url: str) -> None:
    assert failed(run(build_request(url=url))).failure.kind == "invalid_url"


def test_an_operator_may_allow_more_ports() -> None:
    allowing = Instruments(agent="eu-1", prober=FakeProber(), extra_ports=frozenset({8444}))
    request = build_request(url="https://example.org:8444/")
    assert isinstance(run(request, allowing).result.outcome, Measured)
    assert isinstance(run(request).result.outcome, Failed)


@pytest.mark.parametrize("kind", [Kind.PROBE, Kind.PAGE])
def test_a_port_that_is_not_allowed_here_is_no_fault_of_the_site(kind: Kind) -> None:
    """The service allowed it, or there would be no request: so another operator's agents may measure it."""
    found = failed(run(build_request(kind=kind, url="https://example.org:8444/"))).failure
    assert (found.kind, found.blame) == ("invalid_url", "monitor")
    assert "8444" in found.detail


def test_an_exception_of_ours_is_a_failure_with_a_reference_that_the_log_explains(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outcome = failed(run(build_request(url="https://example.org/raise")))
    assert (outcome.failure.kind, outcome.failure.blame) == ("internal_error", "monitor")
    assert "on purpose" not in outcome.failure.detail
    reference = outcome.failure.detail.rpartition(" ")[2]
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert reference in record.getMessage()
    assert record.exc_info is not None


def test_a_message_in_the_wrong_queue_is_our_fault_not_the_targets() -> None:
    outcome = failed(run(build_request(kind=Kind.PAGE), Instruments(agent="eu-1", prober=FakeProber())))
    assert outcome.failure.kind == "internal_error"


def test_progress_begins_with_starting_and_a_deaf_listener_ends_nothing() -> None:
    told: list[ProgressStage] = []

    def listen(stage: ProgressStage, _known: object) -> None:
        told.append(stage)
        raise OSError("nobody hears")

    assert isinstance(run(build_request(), on_progress=listen).result.outcome, Measured)
    assert told == [ProgressStage.STARTING, ProgressStage.CONNECTING]


def test_a_result_that_cannot_be_sent_becomes_our_fault_and_keeps_its_name() -> None:
    result = build_result()
    mended = internal_error(result, ValueError("no Unicode"))
    assert isinstance(mended.outcome, Failed)
    assert (mended.run_id, mended.started_at) == (result.run_id, result.started_at)


def test_the_real_clock_is_aware_and_runs_forward() -> None:
    real = Clock()
    assert real.now().tzinfo is UTC
    assert real.monotonic_us() <= real.monotonic_us()


def test_a_pair_is_measured_by_the_same_instrument_as_a_probe() -> None:
    request = build_request(kind=Kind.PAIR, other=PairTarget(url="https://origin.example.org/"))
    assert run(request).result.outcome == Measured(measurement=build_pair())
