"""One page load, told by every door: the same figures and the same causes by the API, the dashboard, the command and
the archive.
"""

import html
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from backend.api.tests.v1.calling import Program, make_token
from backend.api.tests.v1.world import World, make_world
from backend.cast import Member
from backend.runs.models import PendingRun
from backend.sites.models import Host, HostRole
from workers.diagnosis.catalogue import entry
from workers.diagnosis.diagnosed import diagnosed_page
from workers.diagnosis.diagnosis_drawing import draw_diagnosis
from workers.diagnosis.page.document import page_document
from workers.measurement.canvas import Canvas
from workers.measurement.finding import FindingId
from workers.measurement.har import About, har_document
from workers.measurement.messages import Measured, PageMeasurement
from workers.measurement.page_view import HostDelivery
from workers.measurement.waterfall import ResourceType, RowFlag, ServedFrom
from workers.tests.diagnosis.page_sketch import MAIN, picture, row, sketch, style

pytestmark = pytest.mark.django_db

URL = f"https://{MAIN}/"
ELSEWHERE = "static.example-assets.net"
VITALS = {
    "lcp_us": 1_400_000,
    "lcp_url": f"https://{MAIN}/hero.png",
    "cls": 0.05,
    "load_us": 1_450_000,
    "fully_loaded_us": 1_500_000,
    "start_render_us": 980_000,
    "speed_index_us": 1_100_000,
    "visually_complete_us": 1_420_000,
    "tbt_us": 0,
    "long_tasks": (),
}


def loaded() -> PageMeasurement:
    """A page behind a redirect, with rows that are easily counted otherwise: of a cache, refused, asked by Chrome."""
    moved = row(1, ResourceType.DOCUMENT, 0, 200, path="old", status=301, redirected_to=URL, transferred_bytes=250)
    document = row(2, ResourceType.DOCUMENT, 210, 500, path="", headers={"cache-control": "no-cache"})
    rest = (
        style(3, 510, 800),
        style(4, 510, 930, host=ELSEWHERE, path="site.css"),
        picture(5, 940, 1_380, path="hero.png"),
        picture(6, 520, 530, served_from=ServedFrom.MEMORY_CACHE, connection=None, transferred_bytes=0),
        row(7, ResourceType.OTHER, 940, 990, method="OPTIONS", status=204, flags=(RowFlag.PREFLIGHT,)),
        row(8, ResourceType.SCRIPT, 520, 600, status=None, failure="ERR_ABORTED", transferred_bytes=None),
    )
    page = sketch(*rest, fcp_ms=960, vitals=VITALS, document=moved)
    first, *others = page.waterfall.requests
    waterfall = replace(page.waterfall, requests=(first, document, *others))
    delivery = HostDelivery(host=MAIN, cdn="Cloudflare", evidence="address 104.16.132.229; header server: cloudflare")
    whole = replace(page, waterfall=waterfall, document=2, deliveries=(delivery,))
    outcome = diagnosed_page(Measured(measurement=whole))
    assert isinstance(outcome.measurement, PageMeasurement)
    return outcome.measurement


@pytest.fixture
def world(alice: Member, client: Client) -> World:
    client.force_login(alice.user)
    return make_world(alice)


@pytest.fixture
def run(world: World) -> PendingRun:
    return world.ended("page", Measured(measurement=loaded()), ago_s=60)


@pytest.fixture
def told(run: PendingRun, alice: Member) -> dict[str, Any]:
    """What the API says of the run."""
    found: dict[str, Any] = Program(make_token(alice)).get(f"runs/{run.run_id}").json()
    return found


def shown(client: Client, run: PendingRun) -> str:
    return html.unescape(client.get(reverse("web:run", args=[run.run_id])).content.decode())


def test_the_figures_are_the_same(told: dict[str, Any]) -> None:
    page = loaded()
    printed = page_document(URL, Measured(measurement=page))["metrics"]
    about = About(url=URL, started_at=datetime(2026, 11, 21, tzinfo=UTC), version="1")
    archive = har_document(page, about)["log"]
    assert printed["ttfb_ms"] == told["phases"]["ttfb_ms"] == archive["pages"][0]["_TTFB"] == 490.0
    assert printed["redirect_ms"] == 210.0
    names = ("fcp_ms", "lcp_ms", "cls", "load_ms", "fully_loaded_ms", "start_render_ms", "speed_index", "tbt_ms")
    for name in (*names, "visually_complete_ms", "requests", "connections", "bytes"):
        assert printed[name] == told["metrics"][name], name
    assert printed["requests"] == len(archive["entries"]) == 8
    sizes = [entry["response"].get("_transferSize", 0) for entry in archive["entries"]]
    assert printed["bytes"] == sum(sizes) == 42_850


def test_who_delivered_is_the_same(run: PendingRun, alice: Member, client: Client) -> None:
    printed = page_document(URL, Measured(measurement=loaded()))["deliveries"]
    told = Program(make_token(alice)).get(f"runs/{run.run_id}/waterfall").json()["deliveries"]
    assert printed == told
    assert told[0]["cdn"] == "Cloudflare"
    assert "Cloudflare" in shown(client, run)


def test_the_causes_are_the_same(told: dict[str, Any], run: PendingRun, client: Client) -> None:
    page = loaded()
    assert page.diagnosis is not None
    causes = page.diagnosis.findings
    assert {FindingId.PAGE_THIRD_PARTY_BLOCKING, FindingId.PAGE_LCP_LATE} <= {cause.id for cause in causes}
    printed = page_document(URL, Measured(measurement=page))["findings"]
    expected = [(str(cause.id), None if cause.saving_us is None else cause.saving_us / 1000) for cause in causes]
    assert [(cause["id"], cause["saving_ms"]) for cause in printed] == expected
    assert [(cause["id"], cause["saving_ms"]) for cause in told["findings"]] == expected
    assert [cause["requests"] for cause in printed] == [list(cause.rows) for cause in causes]
    text = "\n".join(draw_diagnosis(page, Canvas(width=200), rows=200))
    seen = shown(client, run)
    for cause in causes:
        assert entry(cause.id).title in text
        assert entry(cause.id).title in seen


def test_the_owner_has_the_last_word_on_whose_hosts_are_whose(
    world: World, run: PendingRun, alice: Member, client: Client
) -> None:
    theirs = entry(FindingId.PAGE_THIRD_PARTY_BLOCKING).title
    assert theirs in shown(client, run)
    now = run.scheduled_for
    Host.objects.create(
        site=world.site,
        name=ELSEWHERE,
        proposed=HostRole.THIRD_PARTY,
        chosen=HostRole.OWN,
        first_seen_at=now,
        last_seen_at=now,
    )
    assert theirs not in shown(client, run)
    found = Program(make_token(alice)).get(f"runs/{run.run_id}").json()["findings"]
    ours = next(cause for cause in found if cause["id"] == "page.render_blocking")
    assert ours["saving_ms"] == 430.0
    assert not [cause for cause in found if cause["id"] == "page.third_party_blocking"]
