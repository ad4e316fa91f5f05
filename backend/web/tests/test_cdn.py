"""CDN against origin, as people see it."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.compare.actions import look_at_hosts
from backend.compare.judging import judge_pairing
from backend.compare.models import Pairing
from backend.compare.queries import Comparison, Hits, RegionComparison, RegionHits
from backend.compare.samples import Window
from backend.fleet.models import Region
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun, Run
from backend.runs.tests.factories import NOW, Fleet, make_pending, make_region
from backend.runs.tests.results import FAILED, line_of, pair
from backend.sites.actions import activate, create_draft
from backend.sites.models import Host, Monitor
from backend.sites.page_settings import stored
from backend.web import units
from backend.web.cdn.bars import leg_bars, scale_of
from backend.web.cdn.caches import difference_of, hit_rows
from backend.web.cdn.export import csv_of, document_of
from backend.web.cdn.words import advice, first_verdict_in, never_comes, reasons_text, title_of
from backend.web.tests import measurements
from backend.web.tests.world import World, make_pairing, make_world
from workers.diagnosis.pair_samples import LegSample, PairRun, PairSample
from workers.diagnosis.pairs import compare
from workers.measurement.messages import Measured
from workers.measurement.page_options import PLAIN, Cookie
from workers.measurement.page_rules import parse_mapping
from workers.measurement.pair import CacheReport, CacheState
from workers.measurement.timing import Phases

Show = Callable[..., str]


@pytest.fixture
def world(alice: Member, client: Client) -> World:
    client.force_login(alice.user)
    return make_world(alice)


@pytest.fixture
def show(client: Client, world: World) -> Show:
    def text(query: str = "") -> str:
        response = client.get(reverse("web:cdn", args=[world.site.public_id]) + query)
        assert response.status_code == 200
        return response.content.decode()

    return text


def feed(world: World, pairing: Pairing, count: int, *, cdn_ms: int = 60, region: Region | None = None) -> None:
    """So many pairs against an origin that takes 100 ms, five minutes apart."""
    place = region or world.region
    fleet = Fleet(organisation=world.member.organisation, regions=(place,), site=world.site)
    random = Random(count)
    for n in range(count):
        outcome = pair(cdn_ms * 1_000 + random.randrange(2_000), 100_000 + random.randrange(2_000))
        pending = make_pending(fleet, pairing.monitor, scheduled_for=NOW - timedelta(minutes=1 + 5 * n))
        ingest(place, [line_of(pending, outcome)], now=NOW)


@pytest.mark.django_db
def test_without_a_pairing_it_asks_which_host_is_the_cdn(show: Show) -> None:
    text = show()
    assert "Tell us which host is the CDN and which the origin" in text
    assert "No file of a CDN was seen in this site's page loads so far" in text.replace("&#x27;", "'")


def loaded(world: World) -> None:
    world.end(world.pending("page"), Measured(measurement=measurements.page(40)))
    look_at_hosts(site=world.site, now=NOW)


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


def second_site(world: World, *mappings: str, loads: int = 1) -> World:
    """The same page as another site, with hosts at other addresses."""
    user, organisation = world.member.user, world.member.organisation
    draft = create_draft(actor=user, organisation=organisation, url="https://shop.example/")
    second = replace(world, site=activate(actor=user, site=draft, name="Shop at its origin"))
    options = replace(PLAIN, loads=loads, host_map=tuple(map(parse_mapping, mappings)))
    Monitor.objects.filter(site=second.site, kind="page").update(page=stored(options))
    return second


def load_page(world: World, requests: int = 30) -> str:
    pending = world.pending("page")
    world.end(pending, Measured(measurement=measurements.page(requests)))
    return str(pending.run_id)


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


def test_failing_pairs_are_told_with_their_reason(world: World, show: Show) -> None:
    pairing = make_pairing(world.site)
    pending = make_pending(world.fleet, pairing.monitor)
    world.end(pending, FAILED)
    text = show()
    assert "No pair could be measured on both legs" in text
    assert "1 pair failed" in text


@pytest.mark.django_db
def test_a_leg_that_failed_is_called_what_it_is(world: World, show: Show) -> None:
    world.end(make_pending(world.fleet, make_pairing(world.site).monitor), FAILED)
    for leg, name in (("a", "CDN"), ("b", "Origin")):
        Run.objects.update(failure_detail=f"Leg {leg}: The server refused the connection.")
        assert f"1 pair failed: {name}: The server refused the connection." in show()


@pytest.mark.parametrize("reused", [False, True])
def test_a_verdict_that_cannot_come_is_not_promised(reused: bool) -> None:
    sample = PairSample(a=LegSample(phases=Phases(), status=301), b=LegSample(phases=Phases(), status=200))
    runs = [PairRun(cold=sample, reused=sample)] * 40
    found = compare(runs)
    region = Region(code="eu", name="Frankfurt")
    one = RegionComparison(
        region=region,
        cold=found.cold,
        reused=found.reused,
        failed=0,
        last_failure=None,
        newest=None,
        newest_at=None,
    )
    assert title_of([one], reused=reused).text == "Nothing to compare"
    assert never_comes(one.of(reused=reused)) == "40 pairs had answers of different status and are left out."


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
    named = sent | {"origin": "www.shop.example", "name": "Script"}
    assert "Script" in client.post(change, named, follow=True).content.decode()
    client.post(reverse("web:pairing_delete", args=[world.site.public_id, pairing.public_id]))
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
    assert client.get(reverse("web:cdn_export", args=[world.site.public_id, "xml"])).status_code == 404


def sample(us: int, cache: CacheState = CacheState.UNKNOWN) -> LegSample:
    return LegSample(
        phases=Phases(connect_us=10_000, tls_us=10_000, wait_us=us - 25_000, download_us=5_000), status=200, cache=cache
    )


def region(name: str, cdn_ms: float, origin_ms: float, *, pairs: int = 24, spread_ms: float = 1) -> RegionComparison:
    random = Random(name)
    runs = [
        PairRun(
            cold=PairSample(
                a=sample(round(1000 * (cdn_ms + random.uniform(-spread_ms, spread_ms))), CacheState.MISS),
                b=sample(round(1000 * (origin_ms + random.uniform(-spread_ms, spread_ms)))),
            )
        )
        for _ in range(pairs)
    ]
    found = compare(runs)
    return RegionComparison(
        region=Region(code=name.lower(), name=name),
        cold=found.cold,
        reused=found.reused,
        failed=0,
        last_failure=None,
        newest=None,
        newest_at=None,
    )


FASTER, SLOWER = region("Virginia", 60, 410), region("Frankfurt", 121, 100)
SAME, UNSURE = region("Oslo", 100, 100), region("Paris", 104, 100, spread_ms=60)
EARLY = region("Lagos", 60, 100, pairs=7)


@pytest.mark.parametrize(
    ("regions", "level", "title"),
    [
        ([FASTER, SLOWER, SAME, UNSURE], "warn", "The CDN helps in 1 of 4 regions and costs 21 ms in Frankfurt"),
        ([FASTER], "good", "The CDN helps in Virginia: 350 ms faster"),
        ([FASTER, region("Tokyo", 50, 90)], "good", "The CDN helps in both regions: 350 ms faster in Virginia"),
        ([SLOWER], "bad", "The CDN costs 21 ms in Frankfurt"),
        ([SLOWER, region("Rome", 112, 100)], "bad", "The CDN costs 21 ms in Frankfurt and 12 ms in Rome"),
        (
            [SLOWER, region("Rome", 110, 100), region("Bern", 140, 100)],
            "bad",
            "The CDN costs up to 40 ms in 3 regions",
        ),
        ([SAME, UNSURE], "info", "The CDN makes no difference in 1 of 2 regions"),
        ([UNSURE], "info", "Not conclusive in Paris: whether the CDN helps cannot be said yet"),
        ([FASTER, EARLY], "good", "The CDN helps in Virginia: 350 ms faster"),
        ([EARLY], "info", "7 of 20 pairs; first verdict after 20"),
        ([], "info", "0 of 20 pairs; first verdict after 20"),
    ],
)
def test_one_sentence_says_it_for_all_regions(regions: list[RegionComparison], level: str, title: str) -> None:
    word = title_of(regions, reused=False)
    assert (word.level, word.text) == (level, title)


def test_the_reason_is_that_of_the_region_where_it_hurts_and_comes_with_advice() -> None:
    sentences = reasons_text([FASTER, SLOWER, UNSURE], reused=False)
    assert sentences[0] == "Median difference: \N{MINUS SIGN}350 ms in Virginia, +21 ms in Frankfurt."
    assert sentences[1].startswith("Frankfurt: 24 of 24 answers of the CDN did not come from its cache")
    assert sentences[2] == "Not conclusive in Paris."
    assert (advice([FASTER, SLOWER], reused=False) or "").startswith("Let the CDN keep this asset")
    assert advice([FASTER, UNSURE], reused=False) is None


@pytest.mark.parametrize(
    ("pairs", "interval_s", "text"),
    [(12, 300, "about 40 min"), (19, 30, "about 1 min"), (0, 3_600, "about 20 h"), (20, 300, "about 1 min")],
)
def test_when_the_first_verdict_comes_follows_from_the_pace(pairs: int, interval_s: int, text: str) -> None:
    assert text in first_verdict_in(pairs, interval_s)


def test_both_legs_stand_on_one_axis_whose_quarters_are_round() -> None:
    scale = scale_of([FASTER.cold, SLOWER.cold])
    assert scale.text == "0 to 600 ms, a line every 150 ms"
    cdn, origin = leg_bars(FASTER.cold, scale)
    assert (cdn.name, cdn.time, origin.time) == ("CDN", "60 ms", "410 ms")
    assert sum(bar.width for bar in origin.bars) == pytest.approx(100 * 410 / 600, abs=0.5)
    assert [bar.phase for bar in cdn.bars] == ["connect", "tls", "wait", "download"]
    assert "waiting" in cdn.spoken
    assert scale_of([]).text == "0 to 1 ms, a line every 0.25 ms"


def test_a_cell_that_a_spreadsheet_would_take_for_a_formula_is_text() -> None:
    evil = replace(FASTER, region=Region(code="=cmd", name="Evil"))
    pairing = Pairing(
        name="a", monitor=Monitor(url="https://a.example/", pair={"url": "https://b.example/", "address": None})
    )
    window = Window(since=NOW, until=NOW)
    comparison = Comparison(pairing=pairing, window=window, regions=(evil,), cold=evil.cold, reused=evil.reused)
    assert "\r\n'=cmd,cold," in csv_of(comparison)
    assert document_of(comparison)["regions"][0]["region"] == "=cmd"


@pytest.mark.django_db
def test_hosts_of_pairs_do_not_count_as_the_pages(world: World) -> None:
    feed(world, make_pairing(world.site), 1)
    assert look_at_hosts(site=world.site, now=NOW) == 0
    assert not Host.objects.exists()


def region_hits(*buckets: tuple[int, int]) -> RegionHits:
    return RegionHits(
        region=Region(name="Frankfurt"),
        since=NOW - timedelta(hours=len(buckets)),
        width=timedelta(hours=1),
        buckets=tuple(Hits(hits=hits, told=told) for hits, told in buckets),
    )


def test_the_hit_rate_is_drawn_bar_by_bar_and_said_in_words() -> None:
    (row,) = hit_rows([region_hits((4, 4), (0, 0), (1, 2), (0, 4))])
    assert (row.name, row.rate, row.answers, row.width) == ("Frankfurt", "50 %", "10 answers", 40)
    assert [(bar.x, bar.y, bar.height) for bar in row.bars] == [(1, 0, 36), (21, 18, 18), (31, 34.5, 1.5)]
    assert row.spoken.startswith("Frankfurt: 50 % hits over the whole period; ")
    assert "1 of 2" in row.spoken


def test_without_a_word_from_any_cache_there_is_no_drawing() -> None:
    assert hit_rows([region_hits((0, 0)), region_hits((0, 0))]) == []
    silent, telling = hit_rows([region_hits((0, 0)), region_hits((1, 1))])
    assert (silent.rate, silent.answers, silent.bars) == (units.ABSENT, "no answer said so", ())
    assert telling.answers == "1 answer"


@pytest.mark.parametrize(
    ("cdn", "origin", "text"),
    [
        (410, 520, "21 % less than the origin"),
        (2_000, 500, "300 % more than the origin"),
        (1_000, 1_004, ""),
        (None, 5, ""),
        (5, 0, ""),
    ],
)
def test_bytes_that_differ_are_said_to(cdn: float | None, origin: float | None, text: str) -> None:
    assert difference_of(cdn, origin) == text


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
