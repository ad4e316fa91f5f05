"""The page of sites side by side: its sentence, its table and its chart."""

import json
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import Organisation
from backend.runs import actions
from backend.runs.tests.factories import make_region
from backend.runs.tests.rolled_up import roll_up_hours
from backend.sites.actions import record_deploy
from backend.sites.deploys import DeployMarker
from backend.sites.models import Monitor, Site
from backend.web import units
from backend.web.tests.test_findings import words
from backend.web.tests.world import World
from backend.web.views import side_by_side
from workers.measurement.messages import Kind

pytestmark = pytest.mark.django_db


def make_site(world: World, name: str, median_ms: float, *, hours: int = 168, sway: float = 0.02) -> Site:
    """Measured each minute until now; from day to day its median is a little another."""
    url = f"https://{name.lower().replace(' ', '-')}.example/"
    site = actions.register_site(actor=None, organisation=world.member.organisation, name=name, url=url)
    monitor = site.monitors.get(kind=Kind.PROBE)

    def level(hour: int) -> float:
        return median_ms * (1 + sway * ((hour // 24 * 3) % 7 - 3) / 3)

    roll_up_hours(monitor, [world.region], level, hours=hours, now=timezone.now())
    return site


def address(*sites: Site, query: str = "") -> str:
    return f"/side-by-side/?{'&'.join(f'site={site.public_id}' for site in sites)}{query}"


def html(client: Client, *sites: Site, query: str = "") -> str:
    response = client.get(address(*sites, query=query))
    assert response.status_code == 200
    return response.content.decode()


def test_it_says_who_is_quicker_from_where_and_by_how_much(world: World, client: Client) -> None:
    text = words(html(client, make_site(world, "Shop", 320), make_site(world, "Rival", 200)))
    assert re.search(r"Rival is quicker from Eu: Shop takes 12[0-9] ms longer \(1[01][0-9] ms to 1[23][0-9] ms\)", text)
    assert "First byte, by the medians of the same days; the intervals hold together with 95 %." in text
    assert text.index("Rival the others are held against it") < text.index("Shop Hold all against it")
    assert re.search(r"▲ slower \+12[0-9] ms \(1[01][0-9] ms to 1[23][0-9] ms\) 10,080 runs", text)
    assert f"DNS 5 %, Connect (TCP) 15 %, TLS 20 %, Waiting 60 %, Download {units.ABSENT}" in text


def test_all_can_be_held_against_a_site_of_ones_choice(world: World, client: Client) -> None:
    shop, rival = make_site(world, "Shop", 320), make_site(world, "Rival", 200)
    text = words(html(client, shop, rival, query=f"&beside={shop.public_id}"))
    assert "Rival is quicker from Eu" in text
    assert re.search(r"▼ quicker \N{MINUS SIGN}12[0-9] ms", text)
    assert "Shop the others are held against it" in text


def test_of_several_the_next_is_named(world: World, client: Client) -> None:
    sites = [make_site(world, name, ms) for name, ms in (("Shop", 320), ("Rival", 200), ("Third", 600))]
    assert "Rival is quickest from Eu: the next, Shop, takes" in words(html(client, *sites))


def test_where_it_cannot_be_told_it_says_what_would_have_been_seen(world: World, client: Client) -> None:
    one = make_site(world, "Shop", 202, sway=0.02)
    text = words(html(client, one, make_site(world, "Rival", 200, sway=-0.02)))
    assert "Which is quicker from Eu cannot be told: Rival and Shop" in text
    assert re.search(r"Shop takes between [0-9.]+ ms less and [0-9.]+ ms more than Rival", text)
    assert re.search(r"a difference of [0-9.]+ ms would have been seen four times in five", text)
    assert "≈ cannot be told apart" in text


def test_a_day_is_shown_and_not_judged(world: World, client: Client) -> None:
    text = words(html(client, make_site(world, "Shop", 320), make_site(world, "Rival", 200), query="&range=24h"))
    assert "24h is too short a time to tell surely which is quicker" in text
    assert "1,440 runs" in text
    assert "▲" not in text


def test_sites_that_are_measured_once_a_day_are_shown_and_not_judged(world: World, client: Client) -> None:
    shop, rival = make_site(world, "Shop", 320), make_site(world, "Rival", 200)
    Monitor.objects.filter(site=rival).update(interval_s=86_400)
    text = words(html(client, shop, rival))
    assert "These sites are measured too seldom to tell which is quicker" in text
    assert "▲" not in text


def test_monitors_that_ask_otherwise_are_no_comparison_of_sites(world: World, client: Client) -> None:
    shop, rival = make_site(world, "Shop", 320), make_site(world, "Rival", 200)
    Monitor.objects.filter(site=rival).update(profile="3g")
    text = words(html(client, shop, rival))
    assert "These sites are not measured alike" in text
    assert "Their monitors differ in network profile" in text


def test_too_little_is_told_to_be_so(world: World, client: Client) -> None:
    text = words(html(client, make_site(world, "Shop", 320, hours=90), make_site(world, "Rival", 200)))
    assert "Too little was measured at the same times to tell which is quicker" in text
    assert "At least 5 of 7 days are needed" in text
    assert "5,400 runs, not compared" in text


def test_a_site_of_which_too_little_is_known_is_named(world: World, client: Client) -> None:
    sites = [make_site(world, "Shop", 320), make_site(world, "Rival", 200), make_site(world, "New", 100, hours=30)]
    text = words(html(client, *sites))
    assert "Rival is quicker from Eu" in text
    assert "Too little was measured of New to compare." in text


def test_the_chart_has_a_line_for_each_site_and_the_deploys_of_the_first(world: World, client: Client) -> None:
    shop, rival = make_site(world, "Shop", 320), make_site(world, "Rival", 200)
    for site, version in ((shop, "v7"), (rival, "theirs")):
        marker = DeployMarker(version=version, at=timezone.now() - timedelta(days=2))
        record_deploy(actor=None, organisation=world.member.organisation, site=site, marker=marker)
    text = html(client, shop, rival)
    found = re.search(r'<script id="phase-series" type="application/json">(.*?)</script>', text)
    assert found is not None
    data = json.loads(found[1])
    assert [line["name"] for line in data["regions"]] == ["Rival", "Shop"]
    assert [len(line["points"]) for line in data["regions"]] == [168, 168]
    assert [mark["name"] for mark in data["deploys"]] == ["v7"]
    assert "Show as table" in text


@pytest.mark.parametrize("count", [0, 1])
def test_with_fewer_than_two_sites_it_asks_for_more(world: World, client: Client, count: int) -> None:
    sites = [make_site(world, "Rival", 200) for _ in range(count)]
    text = html(client, *sites)
    assert "Choose two sites or more" in text
    assert f'<option value="{world.site.public_id}">Shop</option>' in text


def test_choices_stay_when_another_is_made(world: World, client: Client) -> None:
    shop, rival = make_site(world, "Shop", 320), make_site(world, "Rival", 200)
    text = html(client, shop, rival, query=f"&range=30d&region=eu&metric=tls_ms&beside={rival.public_id}")
    both = f"?site={shop.public_id}&amp;site={rival.public_id}&amp;kind=probe"
    assert f'href="{both}&amp;range=90d&amp;region=eu&amp;metric=tls_ms&amp;beside={rival.public_id}"' in text
    assert f'href="?site={shop.public_id}&amp;kind=probe&amp;range=30d&amp;region=eu&amp;metric=tls_ms"' in text


def test_a_site_without_a_monitor_of_the_kind_is_told(world: World, client: Client) -> None:
    shop, rival = make_site(world, "Shop", 320), make_site(world, "Rival", 200)
    rival.monitors.filter(kind=Kind.PAGE).delete()
    assert "Rival has no monitor of the kind Page" in words(html(client, shop, rival, query="&kind=page"))


def test_at_most_six_can_be_laid_side_by_side(world: World, client: Client) -> None:
    sites = [make_site(world, f"S{place}", 200 + place, hours=1) for place in range(7)]
    assert "<option" not in html(client, *sites[:6])
    assert client.get(address(*sites)).status_code == 404


@pytest.mark.parametrize("query", ["&range=y&region=z&metric=q&kind=w&beside=x", "&site=", "&metric=lcp_ms"])
def test_an_address_may_hold_anything(world: World, client: Client, query: str) -> None:
    html(client, make_site(world, "Rival", 200), world.site, query=query)


def test_sites_that_are_not_there_or_another_s_are_not_found(world: World, client: Client) -> None:
    stranger = Organisation.objects.create(name="Other", slug="other")
    theirs = actions.register_site(actor=None, organisation=stranger, name="B", url="https://b.example/")
    for one in (theirs.public_id, uuid4(), "x"):
        assert client.get(f"{address(world.site)}&site={one}").status_code == 404


def test_it_takes_as_many_statements_for_six_sites_as_for_two(
    world: World, client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    sites = [make_site(world, f"S{place}", 200 + 30 * place) for place in range(6)]
    html(client, *sites)
    for count in (2, 6):
        with django_assert_num_queries(12):
            html(client, *sites[:count])


def test_lists_and_sites_lead_there(world: World, client: Client) -> None:
    assert "/side-by-side/" in client.get("/sites/").content.decode()
    assert address(world.site) in client.get(f"/sites/{world.site.public_id}/").content.decode()


def test_regions_that_are_left_out_are_told_of(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make_region("us", world.member.organisation)
    sites = [make_site(world, name, 200) for name in ("Shop", "Rival")]
    assert "regions stand here" not in html(client, *sites)
    monkeypatch.setattr(side_by_side, "MAX_REGIONS", 1)
    assert "At most 1 regions stand here" in html(client, *sites)
    assert "regions stand here" not in html(client, *sites, query="&region=eu")
