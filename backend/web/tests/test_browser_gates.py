"""The pages of gates in a real browser: nothing for axe or the policy to find, in every width and theme."""

import pytest
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer

from backend.cast import Member
from backend.gates.questions import AskedRule
from backend.gates.tests.world import TEN
from backend.gates.tests.world import make_world as make_gates_world
from backend.sites.deploys import DeployMarker
from backend.sites.models import Site
from backend.web.tests.browsing import browsing
from backend.web.tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def test_gates_are_accessible_and_keep_the_policy(
    alice: Member, monkeypatch: pytest.MonkeyPatch, server: LiveServer
) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    made = make_gates_world(alice)
    made.history()
    made.history(kind="page")
    rules = (TEN, AskedRule(metric="lcp", max_value=2_500), AskedRule(metric="tls", max_change_pct=25, level="warn"))
    failed = made.play(made.ask(*rules, deploy=DeployMarker(version="9f3c2e1")), lambda run: 1.4)
    made.silence("ap")
    passed = made.play(made.ask(deploy=DeployMarker(version="8c1f0aa")))
    open_one = made.ask()
    world = World(member=alice, region=made.regions["eu"], site=made.site)
    paths = [reverse("web:gate", args=[gate.public_id]) for gate in (failed, passed, open_one)]
    paths += [reverse("web:gates"), reverse("web:deploys", args=[made.site.public_id])]
    with browsing(world, server) as site:
        for path in paths:
            site.look_over(path)
        assert site.complaints == []


def test_a_release_stands_behind_the_name_of_its_site_whichever_way_that_is_read(
    alice: Member, monkeypatch: pytest.MonkeyPatch, server: LiveServer
) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    made = make_gates_world(alice)
    Site.objects.update(name="חנות")
    gate = made.ask(deploy=DeployMarker(version="1.2.3"))
    world = World(member=alice, region=made.regions["eu"], site=made.site)
    with browsing(world, server) as site:
        for path, place in (
            (reverse("web:gate", args=[gate.public_id]), "h1, .crumbs"),
            (reverse("web:gates"), "th a"),
        ):
            site.open(path)
            name, release = site.beginnings(place, "חנות", "1.2.3")
            assert name < release, path
