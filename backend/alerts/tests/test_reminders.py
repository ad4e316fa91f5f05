"""Reminders tell what is the matter now, and not what was when it began."""

from datetime import timedelta

import pytest

from backend.alerts.models import Incident, Rule
from backend.alerts.tests.world import World, make_world, only_incident, put_run, titles, told

pytestmark = pytest.mark.django_db


def reminding(kind: str, **params: object) -> World:
    world = make_world("fra", rules=[kind])
    rule = Rule.objects.get()
    rule.params |= params
    rule.remind_every_s = 300
    rule.save()
    return world


def answer_in(world: World, ms: int, minutes: int) -> None:
    for _ in range(minutes):
        put_run(world.monitor, world.regions[0], world.now + timedelta(seconds=1), ".", ttfb_us=1000 * ms)
        world.minute("-")


def test_a_reminder_of_failed_runs_counts_those_of_now() -> None:
    world = reminding("failures")
    world.minutes(". . x . x x x x x x x")
    assert told() == ["opened", "reminder"]
    assert titles() == [
        "Shop: 3 of the last 5 runs failed in Fra",
        "Reminder: Shop: 5 of the last 5 runs failed in Fra",
    ]
    assert only_incident().title == "Shop: 5 of the last 5 runs failed in Fra"


def test_a_reminder_of_a_budget_tells_the_median_of_now() -> None:
    world = reminding("budget", metric="ttfb_ms", limit=250, of_last=3)
    answer_in(world, 200, 3)
    answer_in(world, 300, 3)
    answer_in(world, 900, 5)
    assert [title.partition("First byte ")[2].split(" in ")[0] for title in titles()] == ["300 ms", "900 ms"]


def test_a_median_that_hardly_moves_is_not_written_down_each_time() -> None:
    world = reminding("budget", metric="ttfb_ms", limit=250, of_last=1)
    answer_in(world, 200, 2)
    for ms in (300, 310, 290, 320):
        answer_in(world, ms, 1)
    assert "First byte 300 ms" in only_incident().title
    answer_in(world, 331, 1)
    assert "First byte 331 ms" in only_incident().title


def test_figures_that_change_are_no_news_of_their_own() -> None:
    world = reminding("failures")
    Rule.objects.update(remind_every_s=None)
    world.minutes(". . x . x x x x x x x")
    assert told() == ["opened"]
    assert [event.kind for event in Incident.objects.get().events.all()] == ["opened"]
