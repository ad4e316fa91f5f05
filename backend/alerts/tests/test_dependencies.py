"""Of a site that relies on one that is down nothing is told by itself, and nobody is left without a word."""

from datetime import timedelta

import pytest

from backend.alerts.models import Channel, ChannelKind, Delivery, Incident, IncidentEvent, Maintenance, Rule, Silence
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


def silences() -> set[str]:
    return set(IncidentEvent.objects.exclude(silenced="").values_list("silenced", flat=True))


def test_of_three_sites_that_are_down_the_one_that_the_others_rely_on_is_told(world: World) -> None:
    minutes(world, ".../.../... xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx xxx/xxx/xxx")

    assert told() == ["opened"]
    assert titles()[0].startswith("Gateway is down")
    assert Incident.objects.count() == 3
    assert silences() == {Silence.DEPENDENCY}


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
