"""A service whose clock was an hour ahead judges on when it has been set back."""

from datetime import UTC, datetime, timedelta

import pytest

from backend.alerts.models import Trend, Watch
from backend.alerts.setbacks import bring_back, set_right
from backend.alerts.tests.slow_site import Site, slower, usual
from backend.alerts.tests.world import make_world, told
from backend.instants import to_us

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def test_an_outage_after_the_clock_was_set_back_is_told() -> None:
    world = make_world(rules=["availability"])
    world.minutes("... ...")
    world.now += HOUR
    world.minutes("... ...")
    world.now -= HOUR
    world.minutes("... xxx xxx xxx")
    assert told() == ["opened"]


def test_an_outage_that_began_before_the_clock_was_set_back_ends_after() -> None:
    world = make_world(rules=["availability"])
    world.now += HOUR
    world.minutes("... ... xxx xxx xxx")
    world.now -= HOUR
    world.minutes("... ... ...")
    assert told() == ["opened", "recovered"]


def test_data_that_stop_after_the_clock_was_set_back_are_missed() -> None:
    world = make_world(rules=["no_data"])
    world.now += HOUR
    world.minutes("... ...")
    world.now -= HOUR
    world.minutes("... --- --- --- --- --- ---")
    assert told() == ["opened"]


@pytest.mark.parametrize(
    ("looked_s", "value_s", "expected_s"), [(120, 120, 0), (120, 90, 0), (120, 121, 121), (120, -5, -5), (30, 30, 30)]
)
def test_instants_of_a_time_that_was_taken_back_are_now_and_judges_may_be_a_minute_apart(
    looked_s: int, value_s: int, expected_s: int
) -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    now_us = to_us(now)
    kept = {"looked_us": now_us + looked_s * 1_000_000, "marks": {"fra": [now_us + value_s * 1_000_000, "fra", 3]}}
    assert set_right(kept, now)["marks"] == {"fra": [now_us + expected_s * 1_000_000, "fra", 3]}


def test_only_looks_that_are_due_too_late_to_be_true_are_brought_back() -> None:
    world = make_world(rules=["availability"])
    soon = world.now + timedelta(minutes=14)
    Watch.objects.update(due_at=soon)
    Trend.objects.update(due_at=world.now + timedelta(minutes=16))
    assert bring_back(world.now) == 1
    assert Watch.objects.get().due_at == soon
    assert Trend.objects.get().due_at == world.now


def test_a_site_that_becomes_slower_after_the_clock_was_set_back_is_told() -> None:
    site = Site()
    site.pass_time(30, usual)
    site.world.now += 3 * HOUR
    site.look()
    site.world.now -= 3 * HOUR
    site.look()
    site.pass_time(60, slower)
    assert told() == ["opened"]
