"""Runs by the API: lists, one run, what it saw, its archive, its picture."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from jsonschema_rs import Draft202012Validator
from pytest_django import DjangoAssertNumQueries

from backend.api.tests.v1.calling import Program, at, problem_of
from backend.api.tests.v1.world import PICTURE, World
from backend.compare.actions import create_pairing
from backend.compare.pairings import PairingDraft
from backend.runs import sharing
from backend.runs.ingest import ingest
from backend.runs.models import RunDocument
from backend.runs.queries import listing
from backend.runs.tests.factories import NOW, make_pending, make_region
from backend.runs.tests.results import FAILED, line_of, page
from backend.sites.actions import change_monitor
from backend.sites.models import Monitor, MonitorVersion
from backend.sites.monitor_settings import stored_settings
from workers.measurement.messages import Measured, Missed, MissedReason, PageMeasurement
from workers.measurement.timing import Timing
from workers.measurement.waterfall import RowFlag

pytestmark = pytest.mark.django_db

HAR = Path(__file__).parents[4] / "workers" / "tests" / "measurement" / "har-1.2.schema.json"


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [run["id"] for run in answer.json()["items"]]


def test_a_run_says_its_phases_in_milliseconds(program: Program, world: World) -> None:
    pending = world.ended("probe", ago_s=60)
    run = program.get(f"runs/{pending.run_id}").json()
    assert run["phases"] == {
        "dns_ms": 8.0,
        "connect_ms": 20.0,
        "tls_ms": 34.0,
        "send_ms": 0.1,
        "wait_ms": 40.0,
        "download_ms": 7.9,
        "ttfb_ms": 102.1,
        "total_ms": 110.0,
    }
    assert (run["outcome"], run["state"], run["region"], run["status"]) == ("measured", "done", "eu", 200)
    assert (run["metrics"]["rtt_ms"], run["metrics"]["lcp_ms"], run["metrics"]["bytes"]) == (19.8, None, 47_612)
    assert datetime.fromisoformat(run["scheduled_for"]) == pending.scheduled_for
    assert run["scheduled_for"].endswith("Z")
    assert (run["depth"], run["findings"], run["not_judged"], run["checklist"]) == (None, [], [], [])


def test_a_link_for_guests_stays_until_it_is_taken_back(program: Program, world: World, client: Client) -> None:
    run = world.ended("page", ago_s=60)
    shared = program.post(f"runs/{run.run_id}/share").json()
    assert datetime.fromisoformat(shared["expires_at"]) > timezone.now() + timedelta(days=29)
    link = shared["url"].removeprefix(settings.BASE_URL)
    assert client.get(link).status_code == 200
    again = program.post(f"runs/{run.run_id}/share")
    assert (again.json()["url"], "immutable" in again.headers["Cache-Control"]) == (shared["url"], False)
    for _ in range(2):
        assert program.call("DELETE", f"runs/{run.run_id}/share").status_code == 204
    assert client.get(link).status_code == 404


def test_who_shares_as_many_as_may_be_is_told(program: Program, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MAX_SHARED", 0)
    refused = problem_of(program.post(f"runs/{world.ended('page', ago_s=60).run_id}/share"))
    assert "can be shared at a time" in refused["detail"]


def test_a_page_has_its_vitals_and_links(program: Program, world: World) -> None:
    run = program.get(f"runs/{world.page_run.run_id}").json()
    assert (run["metrics"]["lcp_ms"], run["metrics"]["cls"], run["metrics"]["requests"]) == (420.0, 0.02, 20)
    assert [program.get(run["links"][kind]).content for kind in ("screenshot", "film")] == [PICTURE] * 2
    assert {name: run["metrics"][name] for name in ("start_render_ms", "speed_index", "tbt_ms")} == {
        "start_render_ms": 250.0,
        "speed_index": 340.5,
        "tbt_ms": 60.0,
    }
    assert program.get(run["links"]["monitor"]).status_code == program.get(run["links"]["site"]).status_code == 200
    assert run["links"]["page"].endswith(f"/runs/{world.page_run.run_id}/")


def test_a_failed_run_says_whose_fault_it_is(program: Program, world: World) -> None:
    pending = world.ended("probe", FAILED, ago_s=60)
    run = program.get(f"runs/{pending.run_id}").json()
    assert run["failure"] == {
        "kind": "connect_refused",
        "stage": "connect",
        "blame": "target",
        "detail": "The server refused the connection: 203.0.113.7",
        "advice": "Look whether the web server runs and listens on this address and port, and whether a firewall "
        "refuses what comes from this region's agents.",
    }
    assert run["state"] == "failed"
    assert program.get(f"runs/{pending.run_id}/waterfall").json()["requests"] == []
    assert program.get(f"runs/{pending.run_id}/har").json()["log"]["entries"] == []


def test_a_missed_run_is_no_failure_and_may_still_change(program: Program, world: World) -> None:
    pending = world.ended("probe", Missed(reason=MissedReason.AGENT_LOST), ago_s=60)
    answer = program.get(f"runs/{pending.run_id}")
    assert (answer.json()["missed_reason"], answer.json()["failure"]) == ("agent_lost", None)
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_a_run_that_was_carried_out_may_be_kept_for_good(program: Program, world: World) -> None:
    path = f"runs/{world.page_run.run_id}"
    for part in ("/waterfall", "/har"):
        answer = program.get(path + part)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["ETag"].startswith('"')
    assert "immutable" in program.get(path).headers["Cache-Control"]


def test_who_has_the_archive_costs_no_unpacking(program: Program, world: World) -> None:
    path = f"runs/{world.page_run.run_id}/har"
    etag = program.get(path).headers["ETag"]
    RunDocument.objects.all().delete()
    assert program.get(path, If_None_Match=etag).status_code == 304
    assert problem_of(program.get(path))["status"] == 404


def test_a_run_under_way_has_a_state_and_no_numbers(program: Program, world: World) -> None:
    run = program.get(f"runs/{world.pending.run_id}").json()
    assert (run["state"], run["outcome"]) == ("queued", None)
    assert set(run["phases"].values()) == {None}


def test_runs_come_newest_first_in_pages_without_gap_or_double(program: Program, world: World) -> None:
    made = [world.ended("probe", ago_s=60 * n) for n in range(1, 8)] + [world.page_run]
    order = [str(run.run_id) for run in sorted(made, key=lambda run: (run.scheduled_for, run.run_id), reverse=True)]
    seen, path = [], "runs?limit=3"
    while path:
        answer = program.get(path)
        seen += ids(answer)
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert seen == order


def test_runs_of_one_slot_are_all_in_the_pages(program: Program, world: World) -> None:
    fleet = world.fleet
    slot = NOW - timedelta(minutes=5)
    for number in range(5):
        region = make_region(f"r{number}", world.member.organisation)
        pending = make_pending(fleet, world.monitor("probe"), region=region, scheduled_for=slot)
        ingest(region, [line_of(pending)], now=NOW)
    seen, path = [], "runs?limit=2&kind=probe"
    while path:
        answer = program.get(path)
        seen += ids(answer)
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert len(seen) == len(set(seen)) == 5


def test_runs_are_filtered(program: Program, world: World) -> None:
    old, failed = world.ended("probe", ago_s=600), world.ended("probe", FAILED, ago_s=300)
    by_hand = world.ended("probe", ago_s=200, trigger="manual", urgent=True)
    newest = world.page_run
    every = [str(run.run_id) for run in (newest, by_hand, failed, old)]
    assert ids(program.get("runs")) == every
    assert ids(program.get(f"runs?site={world.site.public_id}")) == every
    assert ids(program.get(f"runs?monitor={world.monitor('page').public_id}")) == every[:1]
    assert ids(program.get("runs?kind=probe")) == every[1:]
    assert ids(program.get("runs?outcome=failed")) == [str(failed.run_id)]
    assert ids(program.get("runs?trigger=manual")) == [str(by_hand.run_id)]
    assert ids(program.get("runs?region=eu")) == every
    assert ids(program.get("runs?region=us")) == []
    assert ids(program.get(f"runs?since={at(300)}&until={at(200)}")) == [str(by_hand.run_id), str(failed.run_id)]
    assert ids(program.get(f"runs?since={at(10_000)}&until={at(9_000)}")) == []


@pytest.mark.parametrize("stretches", [0, 1, 3])
def test_many_pairs_are_listed_the_same_way(
    program: Program, world: World, monkeypatch: pytest.MonkeyPatch, stretches: int
) -> None:
    made = [world.ended("probe", ago_s=n) for n in (3, 70, 5_000, 400_000)] + [world.page_run]
    order = [str(run.run_id) for run in sorted(made, key=lambda run: (run.scheduled_for, run.run_id), reverse=True)]
    monkeypatch.setattr(listing, "_FEW_PAIRS", 0)
    monkeypatch.setattr(listing, "_STRETCHES", stretches)
    assert ids(program.get("runs")) == order
    first = program.get("runs?limit=2")
    assert ids(first) + ids(program.get(f"runs?limit=3&cursor={first.json()['next']}")) == order


@pytest.mark.parametrize(
    "query",
    [
        "since=yesterday",
        "since=2026-11-21T00:00:00",
        "since=0001-01-01T00:00:00Z",
        "until=9999-12-31T23:59:59-12:00",
        "until=99999999999999999999",
        "site=7",
        "monitor=None",
        "kind=ping",
        "region=x",
        "outcome=maybe",
        "limit=-1",
    ],
)
def test_a_filter_that_is_not_valid_is_named(program: Program, query: str) -> None:
    found = problem_of(program.get(f"runs?{query}"))
    assert [fault["pointer"] for fault in found["errors"]] == [f"?{query.partition('=')[0]}"]


def test_a_list_of_runs_costs_six_statements(
    program: Program, world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    program.get("runs")
    for _ in range(2):
        with django_assert_num_queries(5):
            program.get("runs")
        world.ended("probe", ago_s=60)


def test_the_waterfall_has_every_row_on_one_clock(program: Program, world: World) -> None:
    found = program.get(f"runs/{world.page_run.run_id}/waterfall").json()
    assert (len(found["requests"]), len(found["connections"]), found["document"]) == (20, 3, 1)
    first = found["requests"][0]
    assert first["spans"]["tls"] == {"start_ms": 28.0, "end_ms": 62.0}
    assert (first["start_ms"], first["end_ms"], first["connection"]) == (0.0, 110.0, 2)
    assert found["connections"][0]["certificate"]["issuer"] == "CN=Example CA"


def test_a_waterfall_says_when_its_load_began_and_was_left_and_what_is_flagged(program: Program, world: World) -> None:
    measured = page(3).measurement
    assert isinstance(measured, PageMeasurement)
    *rows, last = measured.waterfall.requests
    hung = replace(last, timing=Timing(start_us=380_000), status=None, flags=(RowFlag.WORKER,))
    waterfall = replace(measured.waterfall, requests=(*rows, hung), watched_until_us=6_000_000)
    began_at = NOW - timedelta(seconds=58, milliseconds=250)
    outcome = Measured(measurement=replace(measured, waterfall=waterfall, began_at=began_at))
    pending = world.ended("page", outcome, ago_s=60)
    found = program.get(f"runs/{pending.run_id}/waterfall").json()
    assert datetime.fromisoformat(found["started_at"]) == began_at
    assert (found["watched_until_ms"], found["requests"][-1]["end_ms"]) == (6_000.0, None)
    assert (found["requests"][0]["flags"], found["requests"][-1]["flags"]) == ([], ["worker"])


def test_a_probe_has_a_waterfall_of_its_hops(program: Program, world: World) -> None:
    pending = world.ended("probe", ago_s=60)
    found = program.get(f"runs/{pending.run_id}/waterfall").json()
    (hop,) = found["requests"]
    assert (hop["url"], hop["protocol"], hop["address"]) == ("https://shop.example/", "h2", "203.0.113.7")
    assert (hop["transferred_bytes"], hop["body_bytes"]) == (47_612, 47_000)


@pytest.mark.parametrize("kind", ["page", "probe"])
def test_the_archive_is_valid_and_named_for_its_run(program: Program, world: World, kind: str) -> None:
    pending = world.ended(kind, ago_s=60)
    answer = program.get(f"runs/{pending.run_id}/har")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{pending.run_id}.har"'
    schema = Draft202012Validator(json.loads(HAR.read_text()))
    assert [error.message for error in schema.iter_errors(answer.json())] == []


@pytest.mark.parametrize("kind", ["screenshot", "film"])
def test_a_picture_is_hostile(program: Program, world: World, kind: str) -> None:
    answer = program.get(f"runs/{world.page_run.run_id}/{kind}")
    assert answer.headers["Content-Type"] == "image/jpeg"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert problem_of(program.get(f"runs/{world.ended('probe', ago_s=60).run_id}/{kind}"))["status"] == 404


def test_regions_say_whether_their_agents_live(program: Program, world: World) -> None:
    (region,) = program.get("regions").json()["items"]
    assert (region["code"], region["health"], region["shared"]) == ("eu", "online", False)
    assert region["agents"][0]["name"] == "agent-of-eu"
    assert program.get("regions/eu").json()["code"] == "eu"


def moved(monitor: Monitor, url: str = "https://new.example/") -> None:
    change_monitor(actor=None, monitor=monitor, settings=replace(stored_settings(monitor), url=url))


def test_a_run_says_what_it_asked_for_whatever_its_monitor_asks_for_since(program: Program, world: World) -> None:
    before = world.monitor("probe").url
    failed = world.ended("probe", FAILED, ago_s=60)
    moved(world.monitor("probe"))
    path = f"runs/{failed.run_id}"
    run = program.get(path).json()
    assert (run["url"], run["other_url"]) == (before, None)
    listed = program.get("runs?kind=probe").json()["items"]
    assert {one["id"]: one["url"] for one in listed}[str(failed.run_id)] == before
    assert program.get(f"{path}/waterfall").json()["url"] == before
    assert program.get(f"{path}/har?redaction=full").json()["log"]["pages"][0]["title"] == before


def test_a_run_of_a_version_that_nobody_kept_the_address_of_names_none(program: Program, world: World) -> None:
    failed = world.ended("probe", FAILED, ago_s=60)
    moved(world.monitor("probe"))
    MonitorVersion.objects.all().delete()
    assert program.get(f"runs/{failed.run_id}").json()["url"] is None
    assert program.get(f"runs/{failed.run_id}/waterfall").json()["url"] == "https://new.example/"


def test_a_run_under_way_says_what_it_was_sent_to(program: Program, world: World) -> None:
    before = world.monitor("probe").url
    sent = make_pending(world.fleet, world.monitor("probe"), scheduled_for=NOW, config_version=1)
    there = make_pending(
        world.fleet, world.monitor("probe"), scheduled_for=NOW + timedelta(microseconds=1), url="https://pr-7.example/"
    )
    moved(world.monitor("probe"))
    assert program.get(f"runs/{sent.run_id}").json()["url"] == before
    assert program.get(f"runs/{there.run_id}").json()["url"] == "https://pr-7.example/"


def test_a_run_of_a_pair_names_both_addresses(program: Program, world: World) -> None:
    draft = PairingDraft(cdn_url="https://cdn.shop.example/app.js", origin="www.shop.example")
    pair = make_pending(world.fleet, create_pairing(actor=None, site=world.site, draft=draft).monitor)
    ingest(world.region, [line_of(pair, FAILED)], now=NOW)
    run = program.get(f"runs/{pair.run_id}").json()
    assert (run["url"], run["other_url"]) == ("https://cdn.shop.example/app.js", "https://www.shop.example/app.js")
