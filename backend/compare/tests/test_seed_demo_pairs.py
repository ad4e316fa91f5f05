from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from backend.cast import Member
from backend.compare.models import Pairing
from backend.compare.tests.world import make_world
from backend.runs.models import Schedule
from backend.runs.tests.factories import make_region
from backend.sites.models import Monitor

pytestmark = pytest.mark.django_db
ORIGIN, CDN = "https://shop.example:8443/", "https://cdn.example:8444/"


def seed(origin: str = ORIGIN, cdn: str = CDN) -> str:
    out = StringIO()
    call_command("seed_demo_pairs", "--origin", origin, "--cdn", cdn, stdout=out)
    return out.getvalue().strip()


def test_the_demo_shop_is_compared_with_its_cdn_once(alice: Member, settings: Settings) -> None:
    settings.EXTRA_PORTS = frozenset({8443, 8444})
    world = make_world(alice, url=ORIGIN)
    assert seed() == seed() == "Shop: 2 assets beside its CDN"
    first = Pairing.objects.order_by("pk")[0]
    assert (first.monitor.url, first.other.url) == (f"{CDN}assets/base.css", f"{ORIGIN}assets/base.css")
    assert first.created_by == world.member.user
    assert Schedule.objects.filter(kind="pair", interval_s=30).count() == 2


def test_without_the_demo_shop_it_says_what_to_do(db: None) -> None:
    with pytest.raises(CommandError, match="run seed_demo first"):
        seed("https://shop.example/", "https://cdn.example/")


def test_a_region_that_joins_later_is_elsewhere_and_does_not_measure_the_demo(
    alice: Member, settings: Settings
) -> None:
    settings.EXTRA_PORTS = frozenset({8443, 8444})
    make_region("local-a", alice.organisation)
    call_command("seed_demo", "--origin", ORIGIN, "--cdn", CDN, stdout=StringIO())
    seed()
    make_region("lyon", alice.organisation)
    call_command("seed_demo", "--origin", ORIGIN, "--cdn", CDN, stdout=StringIO())
    assert {tuple(monitor.regions) for monitor in Monitor.objects.all()} == {("local-a",)}
    assert Monitor.objects.count() == 6
