"""Who was told of an alert hears that it ends with its site."""

from datetime import timedelta

import pytest
from django.utils import timezone

from backend.alerts.actions.incidents import mute
from backend.alerts.actions.sites import delete_site
from backend.alerts.models import Incident, Notice
from backend.alerts.tests.world import DOWN, World, make_world, only_incident, told
from backend.cast import Member as Person
from backend.sites.models import Site

pytestmark = pytest.mark.django_db


def down() -> World:
    world = make_world(rules=["availability"])
    world.minutes(DOWN)
    return world


def test_it_is_told_to_be_over_without_a_way_to_pages_that_are_gone() -> None:
    world = down()
    delete_site(actor=None, site=world.fleet.site)
    assert told() == ["opened", "resolved"]
    message = Notice.objects.latest("pk").message
    assert message["title"].startswith("Closed after ")
    assert message["sentences"] == ["The site was deleted."]
    assert message["links"] == []
    assert not Incident.objects.exists()
    assert not Site.objects.exists()
    world.judge()
    assert told() == ["opened", "resolved"]


def test_a_muted_one_is_told_at_once_since_none_is_left_when_the_mute_ends(bob: Person) -> None:
    world = down()
    mute(actor=bob.user, incident=only_incident(), until=timezone.now() + timedelta(days=1))
    delete_site(actor=bob.user, site=world.fleet.site)
    assert told() == ["opened", "resolved"]


def test_an_end_that_waits_for_the_end_of_a_mute_is_told(bob: Person) -> None:
    world = down()
    mute(actor=bob.user, incident=only_incident(), until=timezone.now() + timedelta(days=1))
    world.minutes("... ... ...")
    assert not only_incident().is_open
    assert told() == ["opened"]
    delete_site(actor=bob.user, site=world.fleet.site)
    assert told() == ["opened", "resolved"]


@pytest.mark.parametrize("patterns", ["...", f"{DOWN} ... ... ..."])
def test_where_nobody_waits_for_an_end_nothing_is_told(patterns: str) -> None:
    world = make_world(rules=["availability"])
    world.minutes(patterns)
    before = told()
    delete_site(actor=None, site=world.fleet.site)
    assert told() == before
