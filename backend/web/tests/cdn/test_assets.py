"""CDN against origin, as people see it: assets, their pairs, their verdicts."""

import csv
import json
from datetime import timedelta
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.cast import Member
from backend.compare.actions import look_at_hosts
from backend.compare.judging import judge_pairing
from backend.compare.models import Pairing
from backend.runs.ingest import ingest
from backend.runs.models import Run
from backend.runs.tests.factories import NOW, Fleet, make_pending, make_region
from backend.runs.tests.results import FAILED, line_of, pair
from backend.sites.models import Host, Monitor
from backend.web.tests.cdn.shown import Show, feed, loaded
from backend.web.tests.world import World, make_pairing, make_world
from workers.measurement.pair import CacheReport, CacheState


@pytest.mark.django_db
def test_without_a_pairing_it_asks_which_host_is_the_cdn(show: Show) -> None:
    text = show()
    assert "Tell us which host is the CDN and which the origin" in text
    assert "No file of a CDN was seen in this site's page loads so far" in text.replace("&#x27;", "'")


@pytest.mark.django_db
def test_detected_pairs_are_ticked_and_compared(client: Client, world: World, show: Show) -> None:
    loaded(world)
    text = show()
    assert 'name="asset" value="https://cdn.shop.example/static/' in text
    assert 'value="https://www.shop.example"' in text
    assets = [line.split('value="')[1].split('"')[0] for line in text.split("\n") if 'name="asset"' in line]
    address = reverse("web:pairing_tick", args=[world.site.public_id])
    response = client.post(address, {"asset": assets[:2], "origin": "https://www.shop.example"}, follow=True)
    assert "2 assets are compared from now on. The first verdict comes after 20 pairs." in response.content.decode()
    assert Pairing.objects.count() == 2
    assert Monitor.objects.filter(kind="pair", interval_s=300).count() == 2


@pytest.mark.django_db
def test_ticked_nonsense_makes_nothing(client: Client, world: World) -> None:
    address = reverse("web:pairing_tick", args=[world.site.public_id])
    assets = ["https://cdn.shop.example/a.js", "http://10.0.0.1/b.js"]
    for sent, sentence in (
        ({"origin": "www.shop.example"}, "Tick at least one asset"),
        ({"asset": assets, "origin": "www.shop.example"}, "inside your network"),
        ({"asset": assets[:1], "origin": ""}, "Say where the origin is"),
    ):
        assert sentence in client.post(address, sent, follow=True).content.decode()
    assert not Pairing.objects.exists()


@pytest.mark.django_db
def test_before_twenty_pairs_it_says_how_many_there_are(world: World, show: Show) -> None:
    feed(world, make_pairing(world.site), 12)
    text = show()
    assert "12 of 20 pairs; first verdict after 20" in text
    assert "12 of 20 pairs; first verdict in about 40 min" in text
    assert "CDN faster" not in text


@pytest.mark.django_db
def test_before_the_first_pair_no_length_of_an_axis_is_told(world: World, show: Show) -> None:
    make_pairing(world.site)
    text = show()
    assert "Nothing measured yet" in text
    assert ">Phases of the usual exchange</th>" in text
    assert ">Phases, cold connection</th>" in text


@pytest.mark.django_db
def test_on_a_phone_whose_table_has_no_head_what_the_cache_said_has_a_name(world: World, show: Show) -> None:
    make_pairing(world.site)
    assert '<td data-label="CDN cache">\N{EN DASH}</td>' in show()


@pytest.mark.django_db
def test_the_page_says_where_the_cdn_helps_by_how_much_and_why(
    world: World, show: Show, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    loaded(world)
    pairing = make_pairing(world.site)
    paris = make_region("paris", world.member.organisation)
    feed(world, pairing, 22)
    feed(world, pairing, 22, cdn_ms=121, region=paris)
    with django_assert_max_num_queries(25):
        text = show()
    assert "The CDN helps in 1 of 2 regions and costs 21 ms in Paris" in text
    assert "\N{MINUS SIGN}40 ms" in text
    assert "CDN faster" in text
    assert "CDN slower" in text
    assert "22 pairs" in text
    assert "14 kB gzip" in text
    assert "HIT 22 of 22, age 5 min" in text
    assert "What to do:" in text
    assert "since <time" not in text
    judge_pairing(pairing, now=NOW)
    assert show().count("since <time") == 2
    assert "www.shop.example" in text
    reused = show("?view=reused&region=paris&range=7d")
    assert "costs 10 ms in Paris" in reused or "costs 11 ms in Paris" in reused
    assert "Same asset from both, Paris" in reused


@pytest.mark.django_db
def test_what_stands_in_the_address_may_be_anything(world: World, show: Show) -> None:
    feed(world, make_pairing(world.site), 1)
    assert "1 of 20 pairs" in show("?pair=x&range=%00&view=hot&region=nowhere")


@pytest.mark.django_db
def test_the_newest_pair_is_drawn_leg_by_leg(world: World, show: Show) -> None:
    feed(world, make_pairing(world.site), 2)
    text = show()
    assert "The newest pair" in text
    assert text.count('class="wf-row') == 4
    assert text.count(">new connection<") == text.count(">same connection again<") == 2


def test_failing_pairs_are_told_with_their_reason(world: World, show: Show) -> None:
    pairing = make_pairing(world.site)
    pending = make_pending(world.fleet, pairing.monitor)
    world.end(pending, FAILED)
    text = show()
    assert "No pair could be measured on both legs" in text
    assert "Eu: 1 pair failed: The server refused the connection: 203.0.113.7." in text
    assert '<section class="verdict warn"' in text
    assert "0 of 20 pairs; all failed so far" in text
    assert "first verdict in about" not in text
    feed(world, pairing, 1)
    text = show()
    assert "1 of 20 pairs; first verdict in about 95 min" in text
    assert "all failed so far" not in text


@pytest.mark.django_db
def test_a_leg_that_failed_is_called_what_it_is(world: World, show: Show) -> None:
    world.end(make_pending(world.fleet, make_pairing(world.site).monitor), FAILED)
    for leg, name in (("a", "CDN"), ("b", "Origin")):
        Run.objects.update(failure_detail=f"Leg {leg}: The server refused the connection.")
        assert f"1 pair failed: {name}: The server refused the connection." in show()


@pytest.mark.django_db
@pytest.mark.parametrize("origin", ["10.0.0.1", "nonsense nonsense"])
def test_what_is_wrong_with_either_address_is_said_at_once(client: Client, world: World, origin: str) -> None:
    sent = {"cdn_url": "http://10.0.0.1/x", "interval_s": "300"}
    address = reverse("web:pairing_add", args=[world.site.public_id])
    for said, faults in ((origin, 2), ("www.shop.example", 1)):
        text = client.post(address, sent | {"origin": said}).content.decode()
        assert text.count('aria-invalid="true"') == faults


@pytest.mark.django_db
def test_an_asset_is_named_changed_and_deleted(client: Client, world: World, bob: Member, show: Show) -> None:
    client.force_login(bob.user)
    address = reverse("web:pairing_add", args=[world.site.public_id])
    sent = {"cdn_url": "cdn.shop.example/app.js", "origin": "10.0.0.1", "interval_s": "300"}
    refused = client.post(address, sent)
    assert refused.status_code == 400
    assert "inside your network" in refused.content.decode()
    made = client.post(address, sent | {"origin": "203.0.114.7"}, follow=True).content.decode()
    assert "/app.js is compared from now on" in made
    assert "the same name at the origin's own address" in made
    assert "203.0.114.7" not in made
    pairing = Pairing.objects.get()
    change = reverse("web:pairing", args=[world.site.public_id, pairing.public_id])
    assert 'value="203.0.114.7"' in client.get(change).content.decode()
    assert client.post(change, sent | {"interval_s": "5"}).status_code == 400
    assert "One pair every 300 s: first verdict in about 100 min." in client.get(address).content.decode()
    Monitor.objects.filter(pk=pairing.monitor_id).update(interval_s=30)
    assert "One pair every 30 s: first verdict in about 10 min." in client.get(change).content.decode()
    text = client.post(address, sent | {"interval_s": "600"}).content.decode()
    assert "One pair every 600 s: first verdict in about 3 h." in text
    text = client.post(address, sent | {"interval_s": "86400"}).content.decode()
    assert "One pair every 86400 s: too few come in 7 days." in text
    named = sent | {"origin": "www.shop.example", "name": "Script"}
    assert "Script" in client.post(change, named, follow=True).content.decode()
    delete = reverse("web:pairing_delete", args=[world.site.public_id, pairing.public_id])
    assert f'href="{delete}"' in client.get(change).content.decode()
    asked = client.get(delete).content.decode()
    assert "Compare Script no longer?" in asked
    assert "go with it" in asked
    assert Pairing.objects.exists()
    client.post(delete)
    assert not Pairing.objects.exists()


@pytest.mark.django_db
def test_a_pairing_is_found_only_under_its_own_site_and_organisation(
    client: Client, world: World, charlie: Member, vera: Member
) -> None:
    pairing = make_pairing(world.site)
    theirs = make_world(charlie, code="us")
    wrong = reverse("web:pairing", args=[theirs.site.public_id, pairing.public_id])
    assert client.get(wrong).status_code == 404
    client.force_login(charlie.user)
    assert (
        client.post(reverse("web:pairing_delete", args=[theirs.site.public_id, pairing.public_id])).status_code == 404
    )
    assert client.get(reverse("web:pairing", args=[world.site.public_id, pairing.public_id])).status_code == 404
    client.force_login(vera.user)
    own = reverse("web:pairing_delete", args=[world.site.public_id, pairing.public_id])
    assert client.post(own).status_code == 403
    assert Pairing.objects.exists()


@pytest.mark.django_db
def test_the_table_is_exported_for_spreadsheets_and_programs(client: Client, world: World) -> None:
    address = reverse("web:cdn_export", args=[world.site.public_id, "csv"])
    assert client.get(address).status_code == 404
    pairing = make_pairing(world.site)
    feed(world, pairing, 20)
    response = client.get(address)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    cold, reused = csv.DictReader(StringIO(response.content.decode()))
    assert (cold["region"], cold["connections"], cold["verdict"], cold["pairs"]) == ("eu", "cold", "cdn_faster", "20")
    assert float(cold["difference_ms"]) == pytest.approx(-40, abs=2)
    parts = [float(value) for name, value in cold.items() if name.endswith("_difference_ms") and "first" not in name]
    assert sum(parts) == pytest.approx(float(cold["difference_ms"]))
    assert reused["connections"] == "reused"
    document = json.loads(client.get(reverse("web:cdn_export", args=[world.site.public_id, "json"])).content)
    assert (document["verdict"], document["pairing"]["id"]) == ("cdn_faster", str(pairing.public_id))
    assert document["regions"][0]["schema"] == "firstbyte.compare/1"
    assert (document["regions"][0]["findings"], document["regions"][0]["not_judged"]) == ([], [])
    assert client.get(reverse("web:cdn_export", args=[world.site.public_id, "xml"])).status_code == 404


@pytest.mark.django_db
def test_an_export_begins_where_the_comparison_does(client: Client, world: World) -> None:
    """What was measured before was another one, and is in no number."""
    pairing = make_pairing(world.site)
    began = timezone.now() - timedelta(hours=2)
    Pairing.objects.filter(pk=pairing.pk).update(compared_from=began)
    document = json.loads(client.get(reverse("web:cdn_export", args=[world.site.public_id, "json"])).content)
    assert document["since"] == began.isoformat()


@pytest.mark.django_db
def test_hosts_of_pairs_do_not_count_as_the_pages(world: World) -> None:
    feed(world, make_pairing(world.site), 1)
    assert look_at_hosts(site=world.site, now=NOW) == 0
    assert not Host.objects.exists()


@pytest.mark.django_db
def test_the_page_shows_the_cache_over_time_and_who_sends_the_bytes(world: World, show: Show) -> None:
    loaded(world)
    pairing = make_pairing(world.site)
    fleet = Fleet(organisation=world.member.organisation, regions=(world.region,), site=world.site)
    for n in range(24):
        state = CacheState.HIT if n % 4 else CacheState.MISS
        pending = make_pending(fleet, pairing.monitor, scheduled_for=NOW - timedelta(minutes=1 + 5 * n))
        ingest(world.region, [line_of(pending, pair(cache=CacheReport(state=state)))], now=NOW)
    text = show()
    assert "Cache of the CDN over time" in text
    assert "<strong>75 %</strong>" in text
    assert "not in the cache" in text
    assert "Of 1,000 views the CDN sends" in text
    assert "At 75 % hits the CDN in turn fetches about" in text
