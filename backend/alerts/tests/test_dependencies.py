"""Of a site that relies on one that is down nothing is told by itself, and nobody is left without a word."""

from datetime import datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from backend.alerts.dependencies import explains
from backend.alerts.holding import WAS_ACKNOWLEDGED
from backend.alerts.models import (
    Cause,
    Channel,
    ChannelKind,
    Delivery,
    DeliveryState,
    Incident,
    IncidentEvent,
    Maintenance,
    Member,
    Rule,
    Silence,
)
from backend.alerts.stories import going_on
from backend.alerts.tests.night import BY_DAY
from backend.alerts.tests.test_blind_agents import many_sites
from backend.alerts.tests.world import MINUTE, World, make_rule, put_run, titles, told
from backend.sites.models import Site

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """A gateway, and a shop and a blog that rely on it, measured in three regions."""
    world = many_sites("fra", "iad", "sin", count=3)
    for monitor, name in zip(world.monitors, ("Gateway", "Shop", "Blog"), strict=True):
        Site.objects.filter(pk=monitor.site_id).update(name=name)
    gateway = world.monitors[0].site
    gateway.relied_on_by.set([monitor.site for monitor in world.monitors[1:]])
    return world


def minutes(world: World, rounds: str) -> None:
    """A word a minute and site, in the order of the sites, sites apart by `/`: `.../xxx/xxx`."""
    for words in rounds.split():
        for position, region in enumerate(world.regions):
            for place, (monitor, word) in enumerate(zip(world.monitors, words.split("/"), strict=True)):
                at = world.now + timedelta(seconds=1 + 20 * position + 5 * place)
                put_run(monitor, region, at, word[position])
        world.now += MINUTE
        world.beat()
        world.judge()


def names_told() -> list[str]:
    """Whose notices there are, in order."""
    return [title.split()[0] for title in titles()]


def silences() -> set[str]:
    return set(IncidentEvent.objects.exclude(silenced="").values_list("silenced", flat=True))


def test_of_three_sites_that_are_down_the_one_that_the_others_rely_on_is_told(world: World) -> None:
    minutes(world, ".../.../... xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx")

    assert told() == ["opened"]
    assert titles()[0].startswith("Gateway is down")
    assert Incident.objects.count() == 3
    assert silences() == {Silence.DEPENDENCY}


def test_who_is_told_at_night_is_told_where_the_milder_outage_behind_it_is_held_until_morning(world: World) -> None:
    Rule.objects.filter(site=world.monitors[0].site, kind="availability").update(severity="warning")
    Channel.objects.update(hours=BY_DAY.to_json())
    minutes(world, ".../.../... xxx/.../... xxx/.../... xxx/.../...")
    morning = world.now + timedelta(hours=8)
    Delivery.objects.update(next_try_at=morning, held_until=morning)
    minutes(world, "xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx")

    assert sorted(names_told()) == ["Blog", "Gateway", "Shop"]


def test_its_message_names_who_relies_on_it(world: World) -> None:
    minutes(world, ".../.../... xxx/.../... xxx/.../...")
    message = Delivery.objects.get().notice.message

    assert "Blog and Shop rely on it, and are not told of meanwhile." in message["sentences"]


def test_its_end_is_told_and_theirs_is_not(world: World) -> None:
    minutes(world, ".../.../... xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx .../xxx/xxx .../.../xxx .../.../... .../.../...")

    assert told() == ["opened", "recovered"]
    assert not Incident.objects.filter(resolved_at=None).exists()


def test_what_stays_down_when_it_is_over_is_told_then(world: World) -> None:
    minutes(world, ".../.../... xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx")
    minutes(world, ".../xxx/... " * 10)

    assert told() == ["opened", "recovered", "opened"]
    assert titles()[-1].startswith("Shop is down")


def test_what_is_down_alone_is_told_after_three_minutes(world: World) -> None:
    minutes(world, ".../.../... .../xxx/... .../xxx/...")
    assert told() == []
    minutes(world, ".../xxx/... .../xxx/...")

    assert told() == ["opened"]
    assert titles()[0].startswith("Shop is down")


def test_what_relies_on_nothing_is_told_at_once(world: World) -> None:
    world.monitors[0].site.relied_on_by.clear()
    minutes(world, ".../.../... .../xxx/...")

    assert told() == ["opened"]


def test_what_is_found_out_first_waits_for_what_it_relies_on(world: World) -> None:
    minutes(world, ".../.../... .../xxx/... xxx/xxx/... xxx/xxx/... xxx/xxx/... xxx/xxx/...")

    assert [title.partition(" is")[0] for title in titles()] == ["Gateway"]


def test_what_is_down_elsewhere_than_what_it_relies_on_is_told(world: World) -> None:
    minutes(world, ".../.../... " + "x../xxx/x.. " * 6)

    assert sorted(title.partition(" is")[0] for title in titles()) == ["Gateway", "Shop"]


def test_a_channel_that_does_not_hear_of_it_hears_of_what_relies_on_it(world: World) -> None:
    theirs = Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.WEBHOOK, name="Shop's", target="shop.example"
    )
    shop = world.monitors[1].site
    Rule.objects.filter(kind="availability", site=shop).delete()
    make_rule(world, "availability", site=shop).channels.set([theirs])
    Rule.objects.get(kind="availability", site=world.monitors[0].site).channels.set([world.channel])
    minutes(world, ".../.../... " + "xxx/xxx/... " * 6)

    heard = Delivery.objects.order_by("pk").values_list("channel__name", "notice__message__title")
    assert [(channel, title.partition(" is")[0]) for channel, title in heard] == [
        ("Ops", "Gateway"),
        ("Shop's", "Shop"),
    ]


def test_that_some_runs_of_what_it_relies_on_fail_explains_no_outage(world: World) -> None:
    make_rule(world, "failures", site=world.monitors[0].site, params={"failed": 2, "of_last": 10, "regions": 1})
    minutes(world, ".../.../... x../.../... .../.../... x../.../... .../.../... " + ".../xxx/... " * 5)

    assert [title.partition(" is")[0].partition(":")[0] for title in titles()] == ["Gateway", "Shop"]
    assert Incident.objects.filter(resolved_at=None).count() == 2


def test_maintenance_of_what_it_relies_on_explains_it_too(world: World) -> None:
    gateway = world.monitors[0].site
    Maintenance.objects.create(
        organisation=gateway.organisation, site=gateway, starts_at=world.now, ends_at=world.now + timedelta(hours=1)
    )
    minutes(world, ".../.../... " + "xxx/xxx/... " * 6)

    assert told() == []


def test_what_relies_on_what_relies_on_it_is_explained_as_well(world: World) -> None:
    gateway, shop, blog = (monitor.site for monitor in world.monitors)
    gateway.relied_on_by.set([shop])
    shop.relied_on_by.set([blog])
    minutes(world, ".../.../... " + "xxx/xxx/xxx " * 7)

    assert [title.partition(" is")[0] for title in titles()] == ["Gateway"]


def test_that_it_is_well_again_is_told_also_while_what_it_relies_on_is_down(world: World) -> None:
    minutes(world, ".../.../... " + ".../xxx/... " * 5)
    assert told() == ["opened"]
    minutes(world, "xxx/xxx/... xxx/xxx/... xxx/.../... xxx/.../...")

    assert told() == ["opened", "opened", "recovered"]


def test_a_channel_that_is_switched_off_makes_nothing_louder(world: World) -> None:
    Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.WEBHOOK, name="Old", target="old.example", enabled=False
    )
    minutes(world, ".../.../... " + "xxx/xxx/... " * 6)

    assert names_told() == ["Gateway"]


def test_whoever_hears_of_nothing_that_is_acknowledged_by_then_hears_of_no_more_for_it(world: World) -> None:
    later = Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.WEBHOOK, name="Later", target="later.example"
    )
    minutes(world, ".../.../... xxx/.../... xxx/.../...")
    Delivery.objects.filter(channel=later).update(state=DeliveryState.DROPPED, answer=WAS_ACKNOWLEDGED)
    minutes(world, "xxx/xxx/... " * 6)

    assert names_told() == ["Gateway"]


def test_a_channel_that_hears_of_nothing_below_hears_of_what_relies_on_it(world: World) -> None:
    theirs = Channel.objects.create(
        organisation=world.fleet.organisation, kind=ChannelKind.WEBHOOK, name="Blog's", target="blog.example"
    )
    gateway, shop, blog = (monitor.site for monitor in world.monitors)
    gateway.relied_on_by.set([shop])
    shop.relied_on_by.set([blog])
    for site, channel in ((gateway, world.channel), (shop, world.channel), (blog, theirs)):
        Rule.objects.get(kind="availability", site=site).channels.set([channel])
    minutes(world, ".../.../... " + "xxx/xxx/xxx " * 7)

    heard = Delivery.objects.order_by("pk").values_list("channel__name", "notice__message__title")
    assert [(channel, title.partition(" is")[0]) for channel, title in heard] == [
        ("Ops", "Gateway"),
        ("Blog's", "Blog"),
    ]


def test_what_begins_again_waits_for_what_it_relies_on_like_the_first_time(world: World) -> None:
    minutes(world, ".../.../... xxx/xxx/... xxx/xxx/... " + ".../.../... " * 9)
    minutes(world, ".../xxx/... " + "xxx/xxx/... " * 4)

    assert names_told() == ["Gateway"] * 3


def test_what_began_before_the_clock_was_set_back_waits_no_longer_for_that(world: World) -> None:
    world.now += timedelta(hours=1)
    minutes(world, ".../.../... .../xxx/... .../xxx/...")
    world.now -= timedelta(hours=1)
    minutes(world, ".../xxx/... " * 5)

    assert names_told() == ["Shop"]


def test_what_ended_before_the_clock_was_set_back_explains_nothing_any_more(world: World) -> None:
    world.now += timedelta(hours=1)
    minutes(world, ".../.../... xxx/.../... xxx/.../... .../.../... .../.../...")
    world.now -= timedelta(hours=1)
    minutes(world, ".../.../... " + ".../xxx/... " * 5)

    assert names_told() == ["Gateway", "Gateway", "Shop"]


def test_that_what_came_and_went_stays_is_told_when_nothing_explains_it_any_more(world: World) -> None:
    minutes(world, ".../.../... " + (".../xxx/... " * 4 + ".../.../... " * 2) * 3)
    minutes(world, "xxx/xxx/... " * 66 + ".../xxx/... " * 8)

    assert told()[-2:] == ["recovered", "worse"]
    assert names_told()[-2:] == ["Gateway", "Shop"]


def test_of_what_nothing_was_told_of_both_only_what_the_other_relies_on_is_told_then(world: World) -> None:
    Maintenance.objects.create(
        organisation=world.fleet.organisation, starts_at=world.now, ends_at=world.now + timedelta(minutes=8)
    )
    minutes(world, ".../.../... .../xxx/... " + "xxx/xxx/... " * 9)

    assert names_told() == ["Gateway"]


def test_what_is_explained_keeps_nothing_else_from_being_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.alerts.upkeep.AT_ONCE", 1)
    gateway, shop, blog = (monitor.site for monitor in world.monitors)
    gateway.relied_on_by.set([shop])
    Maintenance.objects.create(
        organisation=blog.organisation, site=blog, starts_at=world.now, ends_at=world.now + timedelta(minutes=5)
    )
    minutes(world, ".../.../... .../xxx/... " + "xxx/xxx/xxx " * 6)

    assert names_told() == ["Gateway", "Blog"]


def test_many_ways_down_are_gone_once(world: World, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    organisation, above = world.fleet.organisation, [world.monitors[1].site]
    for level in range(5):
        below = [
            Site.objects.create(organisation=organisation, name="x", url=f"https://{level}{n}.example/") for n in "abc"
        ]
        for site in above:
            site.relies_on.set(below)
        for site in below:
            put_down(site, world.now)
        above = below
    shop = put_down(world.monitors[1].site, world.now - timedelta(hours=1))

    with django_assert_max_num_queries(100):
        assert not explains(shop, going_on(shop), now=world.now)


def test_an_outage_explains_what_cannot_be_reached_or_is_slower_and_nothing_else(world: World) -> None:
    gateway, shop = (put_down(monitor.site, world.now - timedelta(hours=1)) for monitor in world.monitors[:2])
    Incident.objects.filter(pk=gateway.pk).update(muted_until_recovery=True)
    found = {}
    for cause in Cause:
        shop.cause = cause
        found[cause] = explains(shop, going_on(shop), now=world.now)

    assert [cause for cause, is_explained in found.items() if is_explained] == [Cause.AVAILABILITY, Cause.SPEED]


def test_what_is_down_from_some_regions_explains_nothing_that_is_seen_nobody_knows_where(world: World) -> None:
    gateway, shop = (put_down(monitor.site, world.now - timedelta(hours=1)) for monitor in world.monitors[:2])
    Incident.objects.filter(pk=gateway.pk).update(muted_until_recovery=True)
    Member.objects.filter(incident=gateway).update(state="degraded", regions=["fra"])

    assert not explains(shop, going_on(shop), now=world.now)


def put_down(site: Site, at: datetime) -> Incident:
    """An incident of a site that nobody was told of."""
    rule = Rule.objects.filter(kind="availability").first()
    incident = Incident.objects.create(
        organisation=site.organisation, site=site, cause="availability", key=f"availability/{site.public_id}",
        state="failing", worst_state="failing", severity="critical", opened_at=at, changed_at=at,
    )  # fmt: skip
    Member.objects.create(incident=incident, rule=rule, kind="availability", state="failing", since=at)
    return incident
