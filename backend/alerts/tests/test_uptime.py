"""For which part of a time a site could be reached, by runs and what is kept of them."""

from datetime import datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import Organisation
from backend.alerts.models import Maintenance, Outage
from backend.alerts.queries.uptime import outages_of, seen_of
from backend.alerts.tests.world import MINUTE, World, make_world, put_run
from backend.analysis.uptime import Seen, Uptime, uptime_in
from backend.instants import to_us
from backend.runs.models import Run
from backend.runs.rollups import roll_up
from backend.runs.tests.factories import NOW
from backend.sites.models import Monitor, Site

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# The begin of an hour.
SINCE = NOW.replace(minute=0, second=0, microsecond=0) - 10 * HOUR
UNTIL = SINCE + 6 * HOUR


@pytest.fixture
def world() -> World:
    world = make_world("fra", "iad", now=SINCE)
    Site.objects.update(created_at=SINCE - 2 * DAY)
    return world


def measured(world: World, *hours: int, letter: str = ".", monitor: Monitor | None = None) -> None:
    """A run in each region ten minutes after each of these hours."""
    for hour in hours:
        for region in world.regions:
            put_run(monitor or world.monitor, region, SINCE + hour * HOUR + 10 * MINUTE, letter)


def outage(
    world: World, begin: float, end: float | None, *, state: str = "failing", monitor: Monitor | None = None
) -> None:
    """From so many hours to so many."""
    Outage.objects.create(
        monitor=monitor or world.monitor,
        state=state,
        began_at=SINCE + begin * HOUR,
        ended_at=None if end is None else SINCE + end * HOUR,
    )


def seen(world: World, since: datetime = SINCE, until: datetime = UNTIL) -> Seen:
    return seen_of(world.fleet.organisation, [world.fleet.site], since, until)[world.fleet.site.pk]


def uptime(world: World, since: datetime = SINCE, until: datetime = UNTIL) -> Uptime:
    return uptime_in(seen(world, since, until), (to_us(since), to_us(until)))


def hours(us: int) -> float:
    return us / 3.6e9


def test_the_share_is_of_the_hours_in_which_anything_was_measured(world: World) -> None:
    measured(world, 0, 1, 2, 4)
    outage(world, 1.5, 2)

    found = uptime(world)

    assert (hours(found.measured_us), hours(found.down_us), found.outages) == (4, 0.5, 1)
    assert found.share == 0.875


def test_it_is_the_same_once_the_runs_are_gone(world: World) -> None:
    measured(world, 0, 1, 2, 4)
    outage(world, 1.5, 2)
    before = uptime(world)
    roll_up(NOW)
    Run.objects.all().delete()

    assert uptime(world) == before


def test_of_a_site_that_nobody_measured_nothing_is_known(world: World) -> None:
    assert uptime(world).share is None


def test_runs_that_fail_by_a_fault_of_ours_tell_nothing(world: World) -> None:
    measured(world, 0)
    measured(world, 1, letter="o")
    measured(world, 2, letter="m")

    assert hours(uptime(world).measured_us) == 1


def test_runs_that_fail_within_an_outage_tell_that_it_went_on(world: World) -> None:
    measured(world, 0)
    measured(world, 1, 2, letter="x")
    outage(world, 0.5, None)

    found = uptime(world)

    assert (hours(found.measured_us), hours(found.down_us)) == (3, 2.5)


def test_what_compares_a_site_says_nothing_of_whether_it_was_up(world: World) -> None:
    measured(world, 0)
    Monitor.objects.update(kind="pair", pair={"url": "https://origin.example/", "address": None})

    assert uptime(world).share is None


def test_runs_that_fail_while_it_is_down_from_a_part_of_the_regions_tell_so_as_well(world: World) -> None:
    measured(world, 0)
    measured(world, 1, letter="x")
    outage(world, 1, 2, state="degraded")

    assert hours(uptime(world).measured_us) == 2


def test_a_run_holds_until_the_next_is_due(world: World) -> None:
    Monitor.objects.update(interval_s=3 * 3600)
    measured(world, 1)

    assert hours(uptime(world).measured_us) == 3


def test_what_runs_said_before_the_time_that_is_asked_for_holds_on_into_it(world: World) -> None:
    Monitor.objects.update(interval_s=3 * 3600)
    measured(world, -1)

    assert hours(uptime(world).measured_us) == 2


def test_nothing_is_known_of_the_time_before_the_site_was_registered(world: World) -> None:
    Site.objects.update(created_at=SINCE + 1.5 * HOUR)
    measured(world, 1, 2)

    assert hours(uptime(world).measured_us) == 1.5


def test_from_a_part_of_the_regions_it_was_up(world: World) -> None:
    measured(world, 0, 1)
    outage(world, 0.5, 1, state="degraded")

    found = uptime(world)

    assert (found.share, hours(found.partly_us), found.outages) == (1, 0.5, 0)


def test_maintenance_counts_for_nothing(world: World) -> None:
    measured(world, 0, 1, 2)
    outage(world, 0.5, 1.5)
    organisation = world.fleet.organisation
    Maintenance.objects.create(organisation=organisation, starts_at=SINCE, ends_at=SINCE + HOUR)
    other = Site.objects.create(organisation=organisation, name="other", url="https://other.example/")
    Maintenance.objects.create(organisation=organisation, site=other, starts_at=SINCE, ends_at=UNTIL)

    found = uptime(world)

    assert (hours(found.measured_us), hours(found.down_us)) == (2, 0.5)


def test_a_site_is_down_when_its_probe_or_its_page_is() -> None:
    world = make_world("fra", kinds=("probe", "page"), now=SINCE)
    Site.objects.update(created_at=SINCE)
    probe, page = world.monitors
    measured(world, 0, 1, monitor=probe)
    measured(world, 0, monitor=page)
    outage(world, 0.25, 0.75, monitor=probe)
    outage(world, 0.5, 1, monitor=page)

    found = uptime(world)

    assert (hours(found.measured_us), hours(found.down_us), found.outages) == (2, 0.75, 1)


def test_many_sites_take_as_many_statements_as_one(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    organisation = world.fleet.organisation
    others = [
        Site.objects.create(organisation=organisation, name=f"Site {n}", url=f"https://{n}.example/") for n in range(3)
    ]
    measured(world, 0)
    with django_assert_num_queries(5):
        found = seen_of(organisation, [world.fleet.site, *others], SINCE, UNTIL)

    assert {site: bool(one.measured) for site, one in found.items()} == {
        world.fleet.site.pk: True,
        **{other.pk: False for other in others},
    }


def test_of_another_organisation_s_site_nothing_is_told(world: World) -> None:
    measured(world, 0)
    other = Organisation.objects.create(name="Other")

    assert seen_of(other, [world.fleet.site], SINCE, UNTIL)[world.fleet.site.pk].measured == ()


def test_outages_are_listed_the_newest_first(world: World) -> None:
    outage(world, 3, None, state="degraded")
    outage(world, 1, 2)

    found = outages_of(world.fleet.site, limit=5)
    behind = outages_of(world.fleet.site, before=(found[0].began_at, found[0].pk), limit=5)

    assert [one.state for one in found] == ["degraded", "failing"]
    assert [one.state for one in behind] == ["failing"]
