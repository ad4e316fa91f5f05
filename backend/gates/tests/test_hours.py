"""What comes every day at the hour of a release, or came before it, is none of its doing."""

from datetime import timedelta
from math import pi, sin

import pytest
from django.db.models import F, Q
from django.utils import timezone

from backend.gates.questions import Baseline
from backend.gates.tests.world import World, make_incident
from backend.runs.models import Run
from backend.sites.deploys import DeployMarker
from backend.sites.models import Deploy

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
A_DAYS_RUNS = 290
AS_BEFORE = "It was as high in the hour before the release. If that was its rollout, tell of the deploy as that begins."


def slow_yesterday_at_this_time(world: World) -> None:
    world.history(count=A_DAYS_RUNS)
    then = timezone.now() - DAY
    at_this_time = Run.objects.filter(scheduled_for__gte=then - 5 * MINUTE, scheduled_for__lt=then + 25 * MINUTE)
    at_this_time.update(ttfb_us=F("ttfb_us") * 14 / 10, wait_us=F("wait_us") + F("ttfb_us") * 4 / 10)


def test_a_release_during_a_nightly_job_does_not_fail_for_it(world: World) -> None:
    slow_yesterday_at_this_time(world)
    gate = world.play(world.ask(), lambda run: 1.6)
    assert gate.verdict == "inconclusive"
    assert gate.summary.endswith(" limit +10 %. It was as high at this time the day before.")


def test_the_hour_is_that_of_the_release_and_not_of_the_newest_run_before_it(world: World) -> None:
    slow_yesterday_at_this_time(world)
    Run.objects.filter(scheduled_for__gte=timezone.now() - 3 * HOUR).delete()
    assert world.play(world.ask(), lambda run: 1.6).verdict == "inconclusive"


@pytest.mark.parametrize("came", ["nothing", "an incident", "a release", "a release just behind"])
def test_a_job_that_ended_with_this_time_of_the_day_before_is_known_by_what_came_before_history(
    world: World, came: str
) -> None:
    """But for what came in an incident, which is no habit, and of what another release was like."""
    world.history(count=A_DAYS_RUNS + 20)
    then = timezone.now() - DAY
    job = Run.objects.filter(scheduled_for__gte=then - 20 * MINUTE, scheduled_for__lt=then + 3 * MINUTE)
    job.update(ttfb_us=F("ttfb_us") * 14 / 10, wait_us=F("wait_us") + F("ttfb_us") * 4 / 10)
    if came == "an incident":
        make_incident(world, since=then - 21 * MINUTE, until=then - MINUTE)
    elif came != "nothing":
        at = then + (2 * MINUTE if came.endswith("behind") else -MINUTE)
        Deploy.objects.create(organisation=world.site.organisation, site=world.site, at=at)
    gate = world.play(world.ask(), lambda run: 1.6)
    assert gate.verdict == ("inconclusive" if came == "nothing" else "fail")
    assert gate.summary.endswith(" It was as high at this time the day before.") is (came == "nothing")
    assert gate.warnings == []
    (rule,) = world.view(gate).rules
    assert rule.found is not None
    assert rule.found.before_runs == 3 * 287


def test_the_same_slowness_without_such_a_day_before_fails(world: World) -> None:
    world.history(count=A_DAYS_RUNS)
    assert world.play(world.ask(), lambda run: 1.6).verdict == "fail"


def test_what_is_far_slower_than_the_job_fails(world: World) -> None:
    slow_yesterday_at_this_time(world)
    assert world.play(world.ask(), lambda run: 2.4).verdict == "fail"


def slow_since(world: World, long: timedelta) -> None:
    world.history(count=A_DAYS_RUNS)
    Run.objects.filter(scheduled_for__gte=timezone.now() - long).update(
        ttfb_us=F("ttfb_us") * 16 / 10, wait_us=F("wait_us") + F("ttfb_us") * 6 / 10
    )


@pytest.mark.parametrize("hours", [1, 3, 12, 16])
def test_a_release_does_not_fail_for_what_was_as_slow_before_it(world: World, hours: int) -> None:
    slow_since(world, hours * HOUR)
    gate = world.play(world.ask(), lambda run: 1.87)
    assert gate.verdict == "inconclusive"
    assert gate.summary.endswith(f" limit +10 %. {AS_BEFORE}")


def test_nor_for_an_incident_that_goes_on(world: World) -> None:
    slow_since(world, 2 * HOUR)
    make_incident(world, since=timezone.now() - 2 * HOUR)
    gate = world.play(world.ask(), lambda run: 1.87)
    assert gate.verdict == "inconclusive"
    assert gate.summary.endswith(f" {AS_BEFORE}")


def test_what_is_far_slower_than_it_was_before_fails(world: World) -> None:
    slow_since(world, 2 * HOUR)
    make_incident(world, since=timezone.now() - 2 * HOUR)
    assert world.play(world.ask(), lambda run: 3.5).verdict == "fail"


def test_a_release_that_is_asked_about_again_is_no_excuse_for_itself(world: World) -> None:
    slow_since(world, 45 * MINUTE)
    Deploy.objects.create(organisation=world.site.organisation, site=world.site, at=timezone.now() - 45 * MINUTE)
    assert world.play(world.ask(), lambda run: 1.87).verdict == "fail"


def test_a_busy_hour_before_a_release_is_no_excuse_half_a_day_later(world: World) -> None:
    world.history(count=440)
    now = timezone.now()
    runs = list(Run.objects.all())
    for run in runs:
        busy_us = round(80_000 * sin(pi * ((now - run.scheduled_for) / DAY)) ** 2)
        run.ttfb_us, run.wait_us = (run.ttfb_us or 0) + busy_us, (run.wait_us or 0) + busy_us
    Run.objects.bulk_update(runs, ["ttfb_us", "wait_us"], batch_size=500)
    late = DeployMarker(at=now - DAY / 2)
    assert world.play(world.ask(deploy=late), lambda run: 1.5).verdict == "fail"
    assert world.play(world.ask(deploy=late)).verdict == "pass"


def test_what_grew_is_told_by_the_runs_of_this_hour(world: World) -> None:
    world.history(count=A_DAYS_RUNS)
    now = timezone.now()
    busy = Q(scheduled_for__gte=now - 2 * HOUR) | Q(scheduled_for__lt=now - DAY + 2 * HOUR)
    Run.objects.filter(busy).update(ttfb_us=F("ttfb_us") + 50_000, wait_us=F("wait_us") + 50_000)
    gate = world.play(world.ask(), lambda run: 2.4)
    assert gate.verdict == "fail"
    (grown,) = (gate.rules.get().found or {})["grown"]
    assert grown["phase"] == "wait"
    assert grown["ms"] == pytest.approx(137.9 * 2.4 - 187.9, abs=12)


def test_who_asks_for_more_history_than_is_looked_at_is_not_told_that_there_is_less(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.history(count=40)
    monkeypatch.setattr("backend.gates.baseline.MAX_SAMPLES", 30)
    gate = world.ask(baseline=Baseline(min_samples=100))
    assert world.play(gate).verdict == "pass"
