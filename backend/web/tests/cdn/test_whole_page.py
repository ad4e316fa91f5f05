"""A whole page through the CDN and from its origin."""

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.compare.models import Pairing
from backend.runs.models import PendingRun
from backend.runs.tests.results import FAILED
from backend.sites.models import Monitor
from backend.sites.page_settings import stored
from backend.web.tests import measurements
from backend.web.tests.cdn.shown import Show, load_page, second_site
from backend.web.tests.world import World, make_pairing
from workers.measurement.messages import Measured
from workers.measurement.page_options import PLAIN, Cookie


@pytest.mark.django_db
def test_a_whole_page_is_drawn_through_the_cdn_and_from_the_origin(world: World, show: Show) -> None:
    make_pairing(world.site)
    assert "cdn.shop.example=ADDRESS" in show()
    origin = second_site(world, "cdn.shop.example=203.0.114.7:8443")
    first = load_page(world)
    assert "as soon as the page has been measured here both ways: Shop at its origin loads it" in show()
    second = load_page(origin, 24)
    text = show()
    assert f"/compare/?a={first}&amp;b={second}" in text
    assert "once with cdn.shop.example at another address" in text
    assert "203.0.114.7" not in text
    assert text.index("Through the CDN: Shop,") < text.index("From the origin: Shop at its origin,")
    assert text.count('class="wf-row') == 40
    assert "10 more requests" in text
    assert "4 more requests" in text
    assert "not all of the difference" not in text


@pytest.mark.django_db
def test_loads_with_other_settings_are_not_laid_at_the_cdns_door(world: World, show: Show) -> None:
    make_pairing(world.site)
    origin = second_site(world, "cdn.shop.example=203.0.114.7", loads=3)
    load_page(world)
    load_page(origin)
    assert "different settings besides" in show()
    # What was loaded before the settings of now may have gone another way.
    Monitor.objects.filter(site=origin.site).update(config_version=2)
    text = show()
    assert "From the origin" not in text
    assert "as soon as the page has been measured here both ways" in text


@pytest.mark.django_db
def test_a_page_that_asks_the_cdn_after_all_is_no_origins(world: World, show: Show) -> None:
    make_pairing(world.site)
    load_page(world)
    load_page(second_site(world, "img.shop.example=203.0.114.7"))
    assert "once https://shop.example/ was loaded from the origin too" in show()
    Monitor.objects.filter(site=world.site, kind="page").delete()
    assert "The whole page" not in show()


def load_once(client: Client, pairing: Pairing, *, region: str = "eu", address: str = "203.0.114.7") -> str:
    """Where the answer leads."""
    path = reverse("web:pairing_load", args=[pairing.site.public_id, pairing.public_id])
    response = client.post(path, {"region": region, "address": address})
    assert response.status_code == 302
    return str(response.headers["Location"])


@pytest.mark.django_db
def test_a_page_is_loaded_once_from_the_origin(world: World, show: Show, client: Client) -> None:
    pairing = make_pairing(world.site)
    first = load_page(world)
    assert "Load the page from there once" in show()
    assert f"/tests/{world.site.public_id}/" in load_once(client, pairing)
    assert "The load from the origin that was asked for is under way." in show()
    pending = PendingRun.objects.get(trigger="mapped")
    assert (pending.mapping, pending.urgent, pending.region.code) == ("cdn.shop.example=203.0.114.7", True, "eu")
    world.end(pending, Measured(measurement=measurements.page(24)))
    text = show()
    assert f"/compare/?a={first}&amp;b={pending.run_id}" in text
    assert text.index("Through the CDN: Shop,") < text.index("From the origin: Shop,")
    assert "not all of the difference" not in text
    assert "is under way" not in text
    # What is seen later the usual way stays the CDN's, and the other stays the origin's.
    later = load_page(world)
    assert f"/compare/?a={later}&amp;b={pending.run_id}" in show()
    run_page = client.get(reverse("web:run", args=[pending.run_id])).content.decode()
    assert "once, with a host at another address" in run_page
    (entry,) = AuditEntry.objects.filter(action="load_elsewhere")
    assert entry.actor == world.member.user
    assert entry.detail == {"regions": ["eu"], "host": "cdn.shop.example", "address": "203.0.114.7"}


@pytest.mark.django_db
def test_a_load_from_the_origin_that_failed_says_why(world: World, show: Show, client: Client) -> None:
    pairing = make_pairing(world.site)
    load_page(world)
    load_once(client, pairing)
    pending = PendingRun.objects.get(trigger="mapped")
    world.end(pending, FAILED)
    text = show()
    assert "brought no waterfall: " in text
    assert reverse("web:run", args=[pending.run_id]) in text
    assert "From the origin" not in text


@pytest.mark.django_db
def test_what_a_page_keeps_secret_is_missing_from_the_load_and_said_to_be(
    world: World, show: Show, client: Client
) -> None:
    pairing = make_pairing(world.site)
    monitor = Monitor.objects.get(site=world.site, kind="page")
    monitor.page = stored(replace(PLAIN, cookies=(Cookie(name="session", value="s3cret"),)))
    monitor.save()
    load_page(world)
    load_once(client, pairing)
    world.end(PendingRun.objects.get(trigger="mapped"), Measured(measurement=measurements.page(24)))
    assert "stay with its own server, so that the load went without them: not all of the difference" in show()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("region", "address", "told"),
    [
        ("eu", "origin.shop.example", "is not an IP address"),
        ("eu", "203.0.114.7:0", "Port 0 may not be measured"),
        ("eu", "", "is not an IP address"),
        ("eu", "10.0.0.1", "inside your network"),
        ("eu", "[::1]:8443", "inside your network"),
        ("nowhere", "203.0.114.7", "There is no region"),
    ],
)
def test_a_load_that_cannot_be_is_refused_in_a_sentence(
    world: World, show: Show, client: Client, region: str, address: str, told: str
) -> None:
    assert "#whole-page" in load_once(client, make_pairing(world.site), region=region, address=address)
    assert told in show()
    assert not PendingRun.objects.exists()
    assert not AuditEntry.objects.filter(action="load_elsewhere").exists()


@pytest.mark.django_db
def test_only_who_may_edit_sites_loads_a_page_from_the_origin(
    world: World, show: Show, client: Client, charlie: Member, vera: Member
) -> None:
    pairing = make_pairing(world.site)
    path = reverse("web:pairing_load", args=[world.site.public_id, pairing.public_id])
    said = {"region": "eu", "address": "203.0.114.7"}
    client.force_login(vera.user)
    assert "Load the page from there once" not in show()
    assert client.post(path, said).status_code == 403
    client.force_login(charlie.user)
    assert client.post(path, said).status_code == 404
    assert client.get(path).status_code == 405
    assert not PendingRun.objects.exists()
