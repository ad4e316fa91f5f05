"""Pages that a busy machine has loaded late say that the site is up, and nothing of its speed."""

from datetime import timedelta

import pytest

from backend.alerts.histories import StoredHistory
from backend.alerts.queries.earlier import Earlier, earlier_runs
from backend.alerts.tests.world import MINUTE, World, make_rule, make_world, put_run, titles, told

pytestmark = pytest.mark.django_db


def slow_world() -> World:
    world = make_world("fra", kinds=["page"], rules=["budget", "availability"])
    make_rule(world, "budget", params={"metric": "lcp_ms", "limit": 1_000, "of_last": 3, "regions": 1})
    return world


def load(world: World, *, contended: bool | None, lcp_us: int = 1_500_000) -> None:
    at = world.now + timedelta(seconds=1)
    put_run(world.monitor, world.regions[0], at, ".", lcp_us=lcp_us, contended=contended)
    world.now += MINUTE
    world.beat()
    world.judge()


def test_slow_pages_of_a_busy_machine_break_no_budget() -> None:
    world = slow_world()
    for _ in range(6):
        load(world, contended=True)
    assert told() == []


@pytest.mark.parametrize("contended", [False, None])
def test_slow_pages_of_any_other_machine_do(contended: bool | None) -> None:
    world = slow_world()
    for _ in range(6):
        load(world, contended=contended)
    assert titles() == ["Shop: Largest paint 1.50 s in Fra, over the limit of 1.00 s"]


def test_a_site_that_a_busy_machine_has_reached_is_up() -> None:
    world = slow_world()
    for pattern in (".", "x", "x"):
        world.minute(pattern)
    assert told() == ["opened"]
    for _ in range(2):
        load(world, contended=True)
    assert told() == ["opened", "recovered"]


def test_no_change_of_speed_is_looked_for_in_what_a_busy_machine_measured() -> None:
    world = slow_world()
    for number, contended in enumerate((False, True, None), start=1):
        load(world, contended=contended, lcp_us=number * 1_000_000)
    region = world.regions[0]
    history = StoredHistory(
        monitor_id=world.monitor.pk,
        kind=world.monitor.kind,
        metric="lcp_ms",
        regions={region.pk: region.code},
        site=world.fleet.site,
    )
    seen = history.samples((world.now - timedelta(hours=1)).timestamp(), world.now.timestamp())
    _, values = seen[region.code]
    assert list(values) == [1_000, 3_000]


def test_a_run_is_compared_with_none_of_a_busy_machine() -> None:
    world = slow_world()
    place = (world.monitor, world.regions[0])
    good = put_run(*place, world.now, ".")
    put_run(*place, world.now + MINUTE, ".", contended=True)
    later = put_run(*place, world.now + 2 * MINUTE, ".")
    assert earlier_runs(later, world.fleet.site.pk)[Earlier.PREVIOUS].run_id == good.run_id
