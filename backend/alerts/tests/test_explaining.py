"""Why a site is slower, however long it has been so and whatever it was like meanwhile."""

from datetime import timedelta
from statistics import median
from uuid import UUID

import pytest

from backend.alerts import histories
from backend.alerts.models import Incident, Member, Notice
from backend.alerts.tests.slow_site import Site, Wait, slower_in_sin
from backend.alerts.tests.world import only_incident, told
from backend.runs.models import Run
from backend.sites.models import Deploy, Monitor

pytestmark = pytest.mark.django_db


def of(wait_ms: float) -> Wait:
    return lambda region, passed: wait_ms


def member() -> Member:
    return only_incident().members.get()


def is_put_down_to_waiting(before_ms: float, now_ms: float) -> bool:
    """Whether nothing else is said to have grown, and that to have taken so much before and to take so much now."""
    (phase,) = member().facts["phases"]
    said = [phase["before"], phase["after"]]
    return phase["phase"] == "wait_ms" and said == [pytest.approx(ms, rel=0.1) for ms in (before_ms, now_ms)]


def wait_ms_of(run: UUID | None) -> float:
    assert run is not None
    return (Run.objects.get(run_id=run).wait_us or 0) / 1000


def test_what_is_left_of_a_slowdown_is_explained_by_the_runs_that_are_as_slow_now() -> None:
    site = Site()
    site.pass_time(120, of(900))
    assert is_put_down_to_waiting(100, 900)
    site.pass_time(60, of(160))
    assert is_put_down_to_waiting(100, 160)
    assert wait_ms_of(member().after_run) == pytest.approx(160, rel=0.1)


def test_what_became_much_worse_is_told_with_the_phase_that_did() -> None:
    site = Site()
    site.pass_time(240, of(140))
    site.pass_time(60, of(330))
    assert told() == ["opened", "worse"]
    sentences = Notice.objects.order_by("pk").last().message["sentences"]  # type: ignore[union-attr]
    assert "That points to the server that answers." in sentences
    assert is_put_down_to_waiting(100, 330)


def test_a_change_that_runs_show_not_to_have_begun_with_a_deploy_is_told_to_follow_it() -> None:
    """A rollout takes its time, so the deploy is named all the same."""
    site = Site()
    Deploy.objects.create(
        organisation=site.world.fleet.organisation, site=site.world.fleet.site, version="v42", at=site.world.now
    )
    site.pass_time(13, of(100))
    site.pass_time(60, of(330))
    (said,) = [sentence for sentence in member().facts["sentences"] if "v42" in sentence]
    assert said.startswith("It follows the deploy of v42 at ")


def test_what_became_worse_and_was_over_between_two_looks_is_told_to_be_over_alone() -> None:
    site = Site()
    site.pass_time(15, of(140))
    site.pass_time(15, of(330), look=False)
    site.pass_time(20, of(100), look=False)
    site.look()
    assert told() == ["opened", "recovered"]


def test_what_it_was_like_before_is_known_however_many_runs_came_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "_MOST_PHASE_RUNS", 100)
    site = Site()
    site.pass_time(600, of(140))
    assert Run.objects.filter(scheduled_for__gt=site.began).count() > 3 * 100
    site.pass_time(60, of(330))
    assert told() == ["opened", "worse"]
    assert is_put_down_to_waiting(100, 330)


def test_what_became_slower_in_a_pause_is_explained_by_the_last_day_before() -> None:
    site = Site()
    site.pass_time(60, of(100))
    Monitor.objects.update(paused=True)
    site.look()
    site.world.now += timedelta(days=2)
    site.look()
    Monitor.objects.update(paused=False)
    site.look()
    site.pass_time(60, of(180))
    assert told() == ["opened"]
    assert wait_ms_of(member().before_run) == pytest.approx(100, rel=0.1)
    assert is_put_down_to_waiting(100, 180)


def test_the_runs_before_and_after_are_of_one_region_also_where_further_ones_follow() -> None:
    site = Site()
    site.pass_time(60, slower_in_sin)
    site.pass_time(60, of(200))
    assert member().regions == ["fra", "iad", "sin"]
    shown = [member().before_run, member().after_run]
    assert [Run.objects.get(run_id=run).region_id for run in shown if run] == [site.world.regions[0].pk] * 2


def test_the_first_run_that_was_as_slow_counts_to_what_it_takes_now() -> None:
    site = Site()
    # One run more or less, as the day stands when the test begins.
    while not Incident.objects.exists():
        site.pass_time(5, lambda region, passed: 300 if region == "sin" else 100)
    slow = Run.objects.filter(scheduled_for__gt=site.began, region_id=site.world.regions[2].pk)
    (phase,) = member().facts["phases"]
    assert phase["after"] == pytest.approx(median((run.wait_us or 0) / 1000 for run in slow), abs=0.01)


def test_a_body_that_takes_longer_too_is_no_part_of_a_first_byte() -> None:
    site = Site()
    site.pass_time(60, of(180), look=False)
    Run.objects.filter(scheduled_for__gt=site.began).update(download_us=500_000)
    site.look()
    assert is_put_down_to_waiting(100, 180)


def test_a_handshake_that_alone_takes_longer_is_the_servers() -> None:
    site = Site()
    site.tls_us = 130_000
    site.pass_time(60, of(100))
    assert any("the server's part of the TLS handshake" in said for said in member().facts["sentences"])
