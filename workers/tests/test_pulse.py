"""Heartbeats: what they say and what comes of the answer."""

import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from workers.ledger import Ledger
from workers.pulse import About, Pulse
from workers.service import Service
from workers.skew import WORTH_S, ServiceTime
from workers.spool import Spool
from workers.tests.builders import build_request, build_result
from workers.tests.stub_service import TOKEN, StubService
from workers.version import build

MakePulse = Callable[[], Pulse]


@pytest.fixture
def make_pulse(service: StubService, tmp_path: Path) -> MakePulse:
    held = tmp_path / "held"
    held.mkdir()
    about = About(agent="eu-1", browser_version="156", browser_sandbox=True)
    return lambda: Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, about)


def test_it_names_what_is_held_and_what_waits_to_be_sent(
    make_pulse: MakePulse, service: StubService, tmp_path: Path
) -> None:
    held = build_request(region="us")
    Ledger(tmp_path / "held" / "1").begin(held, now_s=time.monotonic())
    pulse = make_pulse()
    waiting = build_result()
    Spool(tmp_path / "spool").add(waiting)
    pulse.beat()
    [beat] = service.heartbeats
    assert set(beat.holding) == {held.run_id, waiting.run_id}
    assert beat.spooled == 1
    assert (beat.agent, beat.agent_version, beat.browser_version, beat.browser_sandbox) == (
        "eu-1",
        build(),
        "156",
        True,
    )


def test_it_says_that_the_disk_keeps_no_results(
    make_pulse: MakePulse, service: StubService, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulse = make_pulse()
    pulse.beat()
    monkeypatch.setattr(Spool, "fault", lambda _: "No space left on device")
    pulse.beat()
    assert [beat.spool_fault for beat in service.heartbeats] == [None, "No space left on device"]


def test_it_brings_back_which_runs_are_lost(make_pulse: MakePulse, service: StubService) -> None:
    service.lost = (UUID(int=5),)
    reply = make_pulse().beat()
    assert reply is not None
    assert reply.lost == (UUID(int=5),)


def test_a_service_that_does_not_hear_is_no_fault_of_the_agent(make_pulse: MakePulse, service: StubService) -> None:
    service.status = 503
    assert make_pulse().beat() is None


@pytest.mark.parametrize(("ahead_s", "sign"), [(60, "-"), (-60, "+")])
def test_a_clock_that_is_off_is_told_once(
    make_pulse: MakePulse, service: StubService, caplog: pytest.LogCaptureFixture, ahead_s: int, sign: str
) -> None:
    pulse = make_pulse()
    service.skew = timedelta(seconds=ahead_s)
    begun_s = time.monotonic()
    pulse.beat()
    # The answer may have been given at any moment of it, and is told in tenths.
    off_s = (time.monotonic() - begun_s) / 2 + 0.1
    for _ in range(2):
        pulse.beat()
    [record] = [record for record in caplog.records if record.levelno == logging.WARNING]
    told = re.search(r"this clock is ([-+])([\d.]+) s off", record.getMessage())
    assert told is not None
    assert told[1] == sign
    assert float(told[2]) == pytest.approx(60, abs=off_s)
    service.skew = timedelta()
    pulse.beat()
    service.skew = timedelta(seconds=ahead_s)
    pulse.beat()
    assert caplog.text.count("off the service's") == 2


def test_a_small_skew_is_not_worth_a_word(
    make_pulse: MakePulse, service: StubService, caplog: pytest.LogCaptureFixture
) -> None:
    service.skew = timedelta(seconds=3)
    make_pulse().beat()
    assert caplog.records == []


def test_a_clock_is_not_doubted_for_a_heartbeat_that_lay_unread(
    service: StubService, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that starts answers what has waited for it, late: when it read that is no word about our clock."""
    held, skew = tmp_path / "held", tmp_path / "skew"
    held.mkdir()
    monkeypatch.setattr("workers.pulse.WORTH_S", 0.2)
    monkeypatch.setattr("workers.skew.WORTH_S", 0.2)
    pulse = Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, About(agent="eu-1"), skew=skew)
    service.slow_s = 1.0
    pulse.beat()
    assert (caplog.records, skew.exists()) == ([], False)


def test_a_clock_is_not_doubted_for_the_time_that_its_machine_slept(
    service: StubService, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat was sent an hour after it was written: the monotonic clock knows nothing of that hour."""
    held, skew = tmp_path / "held", tmp_path / "skew"
    held.mkdir()
    clock_s = iter((1_000.0, 4_600.1))
    monkeypatch.setattr("workers.pulse.boottime_s", lambda: next(clock_s), raising=False)
    pulse = Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, About(agent="eu-1"), skew=skew)
    service.skew = timedelta(hours=1)
    pulse.beat()
    assert (caplog.records, skew.exists()) == ([], False)


@pytest.mark.parametrize("spoilt", ["nan", "inf", "-inf", "1e300", "-1e11", "", "noon", "\0"])
def test_a_file_that_was_spoilt_says_nothing_of_a_clock(service: StubService, tmp_path: Path, spoilt: str) -> None:
    held, skew = tmp_path / "held", tmp_path / "skew"
    held.mkdir()
    skew.write_text(spoilt)
    pulse = Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, About(agent="eu-1"), skew=skew)
    pulse.beat()
    [beat] = service.heartbeats
    assert beat.clock_ahead_us == 0
    now = datetime(2026, 11, 21, tzinfo=UTC)
    assert ServiceTime(skew, lambda: now)() == now


def test_a_clock_that_was_found_to_be_off_stays_so_until_a_heartbeat_says_otherwise(
    service: StubService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, skew = tmp_path / "held", tmp_path / "skew"
    held.mkdir()
    monkeypatch.setattr("workers.pulse.WORTH_S", 0.5)
    monkeypatch.setattr("workers.skew.WORTH_S", 0.5)
    pulse = Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, About(agent="eu-1"), skew=skew)
    service.skew = timedelta(seconds=1)
    pulse.beat()
    known = skew.read_text()
    service.skew, service.slow_s = timedelta(), 2.0
    pulse.beat()
    assert skew.read_text() == known
    service.slow_s = 0.0
    pulse.beat()
    assert not skew.exists()


@pytest.mark.parametrize("anew", [False, True])
def test_a_clock_that_was_set_right_counts_again_however_long_each_heartbeat_takes(
    service: StubService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, anew: bool
) -> None:
    """Where the line is slow for good, what was known would stand for good, and no run would be in time. A courier
    that began anew remembers no more than what is written."""
    held, skew = tmp_path / "held", tmp_path / "skew"
    held.mkdir()
    monkeypatch.setattr("workers.pulse.WORTH_S", 0.2)
    monkeypatch.setattr("workers.skew.WORTH_S", 0.2)

    def make() -> Pulse:
        return Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, About(agent="eu-1"), skew=skew)

    pulse = make()
    service.skew = timedelta(hours=1)
    pulse.beat()
    assert skew.exists()
    service.skew, service.slow_s = timedelta(), 1.0
    (make() if anew else pulse).beat()
    assert not skew.exists()


def test_runs_expire_by_the_services_clock_however_wrong_this_one_is(
    service: StubService, tmp_path: Path, make_pulse: MakePulse
) -> None:
    held, skew = tmp_path / "held", tmp_path / "skew"
    held.mkdir(exist_ok=True)
    pulse = Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, About(agent="eu-1"), skew=skew)
    hour = timedelta(hours=1)
    for ahead in (hour, -hour):
        pulse.beat(lambda: datetime.now(UTC) + ahead)  # noqa: B023  # called at once
        told = ServiceTime(skew, lambda: datetime.now(UTC) + ahead)()  # noqa: B023  # as above
        assert abs(told - datetime.now(UTC)) < timedelta(seconds=WORTH_S)
    pulse.beat()
    assert not skew.exists()
    assert datetime.now(UTC) <= ServiceTime(skew)() <= datetime.now(UTC)


def told_s(service: StubService) -> list[float | None]:
    """What the heartbeats said of the agent's clock, in seconds ahead."""
    return [None if beat.clock_ahead_us is None else beat.clock_ahead_us / 1e6 for beat in service.heartbeats]


def test_each_heartbeat_tells_what_those_before_it_found_of_the_clock(
    make_pulse: MakePulse, service: StubService
) -> None:
    pulse = make_pulse()
    for skew_s in (60, -60, 0):
        service.skew = timedelta(seconds=skew_s)
        pulse.beat()
    pulse.beat()
    assert told_s(service) == [0, pytest.approx(-60, abs=0.5), pytest.approx(60, abs=0.5), pytest.approx(0, abs=0.1)]


def test_a_clock_is_told_to_be_off_by_no_more_than_is_sure(make_pulse: MakePulse, service: StubService) -> None:
    """An answer that took long leaves open when the heartbeat was read."""
    pulse = make_pulse()
    service.slow_s = 1.0
    pulse.beat()
    service.skew = timedelta(seconds=60)
    pulse.beat()
    pulse.beat()
    assert told_s(service) == [0, 0, pytest.approx(-60, abs=0.5)]


def test_a_courier_that_began_anew_tells_what_was_known_of_the_clock(service: StubService, tmp_path: Path) -> None:
    held, skew = tmp_path / "held", tmp_path / "skew"
    held.mkdir()
    service.skew = timedelta(hours=1)
    for _ in range(2):
        Pulse(Service(service.url, TOKEN), Spool(tmp_path / "spool"), held, About(agent="eu-1"), skew=skew).beat()
    assert told_s(service) == [0, pytest.approx(-3600, abs=0.5)]
