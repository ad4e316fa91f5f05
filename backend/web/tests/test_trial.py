"""Paste a URL, test it, watch it, save it."""

import json
import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from backend.cast import Member
from backend.fleet.models import Agent, Region
from backend.runs import diagnoses
from backend.runs.agents import note_progress
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun, Schedule
from backend.runs.tests.factories import NOW, make_agent, make_region
from backend.runs.tests.results import FAILED, OVERFLOW, diagnosed, line_of, page, probe
from backend.sites.models import Site
from workers.diagnosis.probe.diagnose import diagnose
from workers.measurement.finding import Diagnosis, FindingId
from workers.measurement.messages import Measured, PageMeasurement, ProbeMeasurement, Progress, ProgressStage
from workers.measurement.timing import Phases, phases_of
from workers.tests.diagnosis.path import Path
from workers.tests.diagnosis.servers import Server, deep

pytestmark = pytest.mark.django_db


@pytest.fixture
def eu(alice: Member, client: Client, broker: str) -> Region:
    client.force_login(alice.user)
    region = make_region("eu", alice.organisation)
    make_agent(region)
    return region


def start(client: Client, url: str = "shop.example", *regions: str) -> str:
    """The address of the live page."""
    response = client.post(reverse("web:add"), {"url": url, "regions": regions or ("eu",)})
    assert response.status_code == 302, response.content.decode()
    return response.headers["Location"]


def progress_of(client: Client, live: str) -> str:
    site = urlsplit(live).path
    return f"{site}progress?{urlsplit(live).query}"


def test_a_test_makes_a_draft_and_shows_where_it_is(client: Client, eu: Region) -> None:
    text = client.get(start(client)).content.decode()
    assert Site.objects.get().status == "draft"
    assert "Testing shop.example from Eu" in text
    assert "0 of 2 runs finished" in text
    assert "Probe: queued, place 1" in text
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in text
    assert 'data-mount="live"' in text


def test_an_address_without_runs_counts_none(client: Client, eu: Region) -> None:
    text = client.get(urlsplit(start(client)).path).content.decode()
    assert "Nothing is under way" in text
    assert "<title>shop.example</title>" in text


def test_when_all_has_ended_the_page_shows_the_phases_and_stops_reloading(client: Client, eu: Region) -> None:
    live = start(client)
    for pending in PendingRun.objects.all():
        ingest(eu, [line_of(pending)], now=NOW)
    text = client.get(live).content.decode()
    assert "2 of 2 runs finished" in text
    assert "first byte after 102 ms: DNS 8.0 ms · connect 20 ms · TLS 34 ms · waiting 40 ms" in text
    assert "See the first result" in text
    assert "Phases of the last hop in order of time; they add up to 110.0 ms" in text
    assert "http-equiv" not in text


def test_where_nothing_was_measured_no_result_is_promised(client: Client, eu: Region) -> None:
    live = start(client)
    for pending in PendingRun.objects.all():
        ingest(eu, [line_of(pending, FAILED)], now=NOW)
    text = client.get(live).content.decode()
    assert "2 of 2 runs finished, 2 without a result" in text
    assert "See the first result" not in text
    assert "See what went wrong" in text


@pytest.mark.parametrize("measured", ["probe", "page"])
def test_the_first_result_is_one_that_was_measured(client: Client, eu: Region, measured: str) -> None:
    live = start(client)
    pending = {run.kind: run for run in PendingRun.objects.all()}
    lines = [line_of(run, None if kind == measured else FAILED) for kind, run in pending.items()]
    ingest(eu, lines, now=NOW)
    text = client.get(live).content.decode()
    assert re.search(rf'href="/runs/{pending[measured].run_id}/">See the first result<', text)


def test_phases_are_on_the_page_before_the_probe_has_ended_and_are_those_of_its_result(
    client: Client, eu: Region
) -> None:
    live = start(client)
    pending = PendingRun.objects.get(kind="probe")
    measured = probe().measurement
    assert isinstance(measured, ProbeMeasurement)
    trips = {"tls_round_trips": measured.connections[-1].tls_round_trips, "rtt_us": measured.connections[-1].rtt_us}
    _tell(eu, pending, phases_of(measured.hops[-1].timing), **trips)
    early = client.get(live).content.decode()
    split = "first byte after 102 ms: DNS 8.0 ms · connect 20 ms · TLS 34 ms · waiting 40 ms"
    assert f"Probe: {split}; looking deeper" in early
    assert "Seen by the first connection of the probe in Eu" in early
    ingest(eu, [line_of(pending)], now=NOW)
    late = client.get(live).content.decode()
    assert "looking deeper" not in late
    assert f"Probe: {split}" in late
    assert _bars(early) == _bars(late) != []
    document = json.loads(client.get(progress_of(client, live)).content)
    assert f'data-phases="{document["phases_of"]}"' in late


def test_phases_told_ahead_are_gone_when_the_probe_failed_after_all(client: Client, eu: Region) -> None:
    live = start(client)
    pending = PendingRun.objects.get(kind="probe")
    _tell(eu, pending, Phases(wait_us=5, ttfb_us=5))
    assert _bars(client.get(live).content.decode())
    ingest(eu, [line_of(pending, FAILED)], now=NOW)
    text = client.get(live).content.decode()
    assert _bars(text) == []
    assert '<div data-live="phases" data-phases="">' in text


def _tell(region: Region, pending: PendingRun, phases: Phases, **known: int | None) -> None:
    """As an agent that has the run's message."""
    PendingRun.objects.filter(run_id=pending.run_id).update(published_at=NOW)
    assert note_progress(region, Progress(run_id=pending.run_id, stage=ProgressStage.LOADING, phases=phases, **known))


def _bars(text: str) -> list[str]:
    """The rows of the phases: their times, shares, round trips and bars."""
    return re.findall(r'<th scope="row">.*?</tr>', text, re.DOTALL)


def test_the_page_proposes_its_own_title_as_the_name(client: Client, eu: Region) -> None:
    live = start(client)
    loaded = page().measurement
    assert isinstance(loaded, PageMeasurement)
    titled = Measured(measurement=replace(loaded, title='The "shop" \u202e' + "x" * 300))
    ingest(eu, [line_of(PendingRun.objects.get(kind="page"), titled)], now=NOW)
    text = client.get(live).content.decode()
    assert 'value="The &quot;shop&quot;' in text
    assert "\u202e" not in text
    assert "x" * 101 not in text


def test_a_title_that_another_site_is_called_by_is_not_proposed_again(client: Client, eu: Region) -> None:
    """In lists and messages nobody could tell the two apart, and a pipeline that names one would be refused."""
    start(client, "shop.example")
    client.post(reverse("web:trial_save", args=[Site.objects.get().public_id]), {"name": "My Shop"})
    second = start(client, "news.example")
    loaded = page().measurement
    assert isinstance(loaded, PageMeasurement)
    for pending in PendingRun.objects.filter(kind="page"):
        ingest(eu, [line_of(pending, Measured(measurement=replace(loaded, title="My shop")))], now=NOW)
    assert 'value="news.example"' in client.get(second).content.decode()
    assert "My shop" not in client.get(second).content.decode()


def test_what_saves_a_test_stands_above_what_was_found(client: Client, eu: Region) -> None:
    """Findings are as many as there are: nobody should have to scroll past them to keep the site, nor to their sum."""
    live = start(client)
    for pending in PendingRun.objects.all():
        ingest(eu, [line_of(pending, _slow()) if pending.kind == "probe" else line_of(pending)], now=NOW)
    text = client.get(live).content.decode()
    assert text.index("Keep measuring it?") < text.index('class="findings"')
    verdict = text.index("First: The first record is too large to be read in time, which costs ")
    assert text.index("2 of 2 runs finished") < verdict < text.index("Where the time went")


def _slow() -> Measured:
    """A server whose records are too large."""
    seen = probe().measurement
    assert isinstance(seen, ProbeMeasurement)
    evidence = deep(Path(rtt_ms=80), Server(record_bytes=16_384, body_bytes=60_000))
    return Measured(measurement=replace(seen, evidence=evidence, diagnosis=diagnose(evidence, seen.hops)))


def test_a_page_that_is_held_up_is_not_said_to_have_nothing_to_mend(
    client: Client, eu: Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = FindingId.PAGE_THIRD_PARTY_BLOCKING
    blocking = replace(OVERFLOW, id=third, saving_us=1_600_000, host="cdn.widgets.example", rows=(2,))
    monkeypatch.setattr(diagnoses, "diagnose_page", lambda page, **_: Diagnosis(findings=(blocking,)))
    live = start(client)
    pending = {run.kind: run for run in PendingRun.objects.all()}
    ingest(eu, [line_of(pending["probe"], diagnosed()), line_of(pending["page"])], now=NOW)
    text = client.get(live).content.decode()
    assert "Probe: nothing to mend was found" in text
    assert "Page load: 1 thing to mend; a new visitor could save 1.60 s" in text
    first = "holds the first paint up (cdn.widgets.example), which costs 1.60 s for each new visitor."
    assert text.index(first) < text.index("Where the time went")
    assert 'href="#page-causes"' in text
    assert 'id="page-causes"' in text
    assert f'href="{reverse("web:run", args=[pending["page"].run_id])}?request=2#details"' in text


def test_of_several_regions_it_is_said_whose_probe_and_page_load_is_told(client: Client, eu: Region) -> None:
    make_region("us")
    pages = []
    for live in (start(client), start(client, "news.example", "eu", "us")):
        for pending in PendingRun.objects.select_related("region"):
            ingest(
                pending.region, [line_of(pending, _slow()) if pending.kind == "probe" else line_of(pending)], now=NOW
            )
        pages.append(client.get(live).content.decode())
    alone, several = pages
    name = eu.name
    for words in (
        f"Probe from {name}: 1 thing",
        f"What the probe from {name} found",
        f"Seen by the probe from {name}.",
    ):
        assert words in several
        assert words not in alone


def test_a_failure_is_told_with_its_reason(client: Client, eu: Region) -> None:
    live = start(client)
    ingest(eu, [line_of(PendingRun.objects.get(kind="probe"), FAILED)], now=NOW)
    assert "Probe: failed. The server refused the connection: 203.0.113.7" in client.get(live).content.decode()


def test_the_script_is_told_the_same_and_nothing_twice(client: Client, eu: Region) -> None:
    address = progress_of(client, start(client))
    response = client.get(address)
    document = json.loads(response.content)
    assert (document["state"], document["done"], document["total"], document["first_result"]) == ("running", 0, 2, None)
    assert {run["state"] for run in document["runs"]} == {"queued"}
    assert set(document["runs"][0]) >= {"id", "region", "mark", "text", "requests", "queue_position", "url"}
    again = client.get(address, headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_saving_keeps_the_tests_runs_and_begins_the_schedule(client: Client, eu: Region) -> None:
    live = start(client)
    pending = PendingRun.objects.get(kind="probe")
    ingest(eu, [line_of(pending)], now=NOW)
    site = Site.objects.get()
    response = client.post(reverse("web:trial_save", args=[site.public_id]), {"name": "Shop"})
    assert response.headers["Location"] == reverse("web:site", args=[site.public_id])
    site.refresh_from_db()
    assert (site.name, site.status) == ("Shop", "active")
    assert Schedule.objects.count() == 2
    assert client.get(reverse("web:run", args=[pending.run_id])).status_code == 200
    assert "Keep measuring it?" not in client.get(live).content.decode()


def test_a_name_that_nobody_can_type_is_kept_as_it_can_be_shown(client: Client, eu: Region) -> None:
    start(client)
    site = Site.objects.get()
    response = client.post(reverse("web:trial_save", args=[site.public_id]), {"name": "My\x00Shop\u202e"})
    assert response.status_code == 302
    site.refresh_from_db()
    assert site.name == "My\N{REPLACEMENT CHARACTER}Shop\N{REPLACEMENT CHARACTER}"


def test_another_name_that_nobody_can_type_is_refused_where_it_stands(client: Client, eu: Region) -> None:
    client.post(reverse("web:add"), {"url": "shop.example", "untested": "1"})
    refused = client.post(reverse("web:site_rename", args=[Site.objects.get().public_id]), {"name": "My\u202eShop"})
    assert refused.status_code == 400
    assert "The name must be one line" in refused.content.decode()
    assert Site.objects.get().name == "shop.example"


def test_a_site_can_be_saved_without_a_test(client: Client, eu: Region) -> None:
    client.post(reverse("web:add"), {"url": "shop.example", "untested": "1"})
    assert Site.objects.get().status == "active"
    assert not PendingRun.objects.exists()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://127.0.0.1:8080/", "FIRSTBYTE_PRIVATE_TARGETS"),
        ("http://[::1]/", "inside your network"),
        ("file:///etc/passwd", "must begin with http:// or https://"),
        ("https://user:pass@shop.example/", "must not hold a user name or password"),
        ("https://shop.example/" + "x" * 3000, "at most 2048 can be measured"),
        ("https://shop.example:22/", "Port 22 may not be measured"),
        ("", "Type the address of a page"),
        ("https://ex\u0000ample/", "Null characters are not allowed"),
    ],
)
def test_what_cannot_be_tested_is_said_before_anything_is_made(
    client: Client, eu: Region, url: str, sentence: str
) -> None:
    response = client.post(reverse("web:add"), {"url": url, "regions": ["eu"]})
    assert response.status_code == 400
    assert sentence in response.content.decode()
    assert not Site.objects.exists()


def test_an_international_name_is_taken_as_punycode(client: Client, eu: Region) -> None:
    start(client, "bücher.example")
    assert Site.objects.get().url == "https://xn--bcher-kva.example/"


@pytest.mark.parametrize("regions", [[], ["mars"], ["theirs"]])
def test_only_regions_that_measure_for_us_can_be_chosen(
    client: Client, eu: Region, charlie: Member, regions: list[str]
) -> None:
    make_region("theirs", charlie.organisation)
    response = client.post(reverse("web:add"), {"url": "shop.example", "regions": regions})
    assert response.status_code == 400
    assert not Site.objects.exists()


def test_without_an_agent_it_says_that_a_test_would_wait(client: Client, eu: Region) -> None:
    Agent.objects.all().delete()
    assert "No agent is online in Eu" in client.get(reverse("web:add")).content.decode()
    assert "queued, but no agent of Eu is online (never seen)" in client.get(start(client)).content.decode()


def test_the_first_online_region_is_chosen_beforehand(client: Client, eu: Region, alice: Member) -> None:
    make_region("aa", alice.organisation)
    Agent.objects.update(last_seen_at=timezone.now())
    text = client.get(reverse("web:add")).content.decode()
    assert 'value="eu" id="id_regions_1" checked' in text
    assert 'value="aa" id="id_regions_0" checked' not in text


def test_too_many_tests_at_once_are_refused_with_a_sentence(client: Client, eu: Region) -> None:
    for number in range(15):
        start(client, f"shop-{number}.example")
    response = client.post(reverse("web:add"), {"url": "shop.example", "regions": ["eu"]})
    assert response.status_code == 400
    assert "30 tests are under way" in response.content.decode()


@pytest.mark.parametrize("fields", [{"regions": ["eu"]}, {"untested": "1"}])
def test_more_sites_than_a_list_can_show_are_refused(
    client: Client, eu: Region, monkeypatch: pytest.MonkeyPatch, fields: dict[str, object]
) -> None:
    # The pages are imported by it: afterwards they would keep this limit for all tests of the process.
    address = reverse("web:add")
    monkeypatch.setattr("backend.sites.actions.MAX_SITES", 0)
    response = client.post(address, {"url": "shop.example"} | fields)
    assert response.status_code == 400
    assert "delete one before you add another" in response.content.decode()


def test_an_address_with_unknown_or_foreign_runs_shows_none(client: Client, eu: Region) -> None:
    live = start(client)
    site = urlsplit(live).path
    assert "Nothing is under way" in client.get(f"{site}?run={uuid4()}").content.decode()
    assert client.get(f"{site}?run=nonsense").status_code == 404
    assert client.get(site).status_code == 200


def test_runs_of_another_organisation_cannot_be_followed(client: Client, eu: Region, charlie: Member) -> None:
    runs = parse_qs(urlsplit(start(client)).query)["run"]
    theirs = make_region("theirs", charlie.organisation)
    make_agent(theirs)
    client.force_login(charlie.user)
    live = start(client, "own.example", "theirs")
    text = client.get(f"{urlsplit(live).path}?run={runs[0]}").content.decode()
    assert "Nothing is under way" in text


def test_when_the_broker_is_away_the_test_waits_in_the_database(client: Client, eu: Region, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    assert client.get(start(client)).status_code == 200
    assert PendingRun.objects.filter(published_at=None).count() == 2
