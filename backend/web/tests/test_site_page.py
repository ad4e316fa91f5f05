"""The trend of a site and its last runs."""

import csv
import json
import re
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from backend.runs.models import Run
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.sites.actions import record_deploy
from backend.sites.deploys import DeployMarker
from backend.web import units
from backend.web.tests import measurements
from backend.web.tests.run_pages import ended, site_html
from backend.web.tests.world import World
from workers.measurement.messages import Measured
from workers.measurement.vitals import Vitals

pytestmark = pytest.mark.django_db

PROBE = Measured(measurement=measurements.probe())


def test_the_site_page_draws_the_trend_and_lists_the_last_runs(world: World, client: Client) -> None:
    run = ended(world, "probe", PROBE)
    failed = world.pending("probe", scheduled_for=NOW - timedelta(minutes=2))
    world.end(failed, FAILED)
    text = site_html(client, world, "?kind=probe")
    assert 'id="phase-series"' in text
    assert reverse("web:run", args=[run.run_id]) in text
    assert "The server refused the connection" in text
    assert "Show as table" in text


def test_the_site_page_has_a_figure_of_each_region_that_measures_it_and_of_no_other(
    world: World, client: Client
) -> None:
    def figures() -> list[str]:
        return re.findall(r'metric-label">([^<{]+)</div>\s*<div class="metric-value">', site_html(client, world, ""))[
            1:
        ]

    assert figures() == [world.region.name]
    world.site.monitors.update(regions=["elsewhere"])
    assert figures() == []


def test_the_trend_tells_the_deploys_within_it(world: World, client: Client) -> None:
    ended(world, "probe", PROBE)
    organisation, now = world.member.organisation, timezone.now()
    for minutes, version in ((24 * 60 + 5, "too-old"), *((60 - place, f"v{place}") for place in range(7))):
        marker = DeployMarker(version=version, at=now - timedelta(minutes=minutes))
        record_deploy(actor=None, organisation=organisation, site=world.site, marker=marker)
    text = site_html(client, world, "?kind=probe")
    data = re.search(r'<script id="phase-series" type="application/json">(.*?)</script>', text)
    assert data is not None
    assert [mark["name"] for mark in json.loads(data[1])["deploys"]] == [f"v{place}" for place in range(7)]
    beneath = re.sub(r"<[^>]+>", "", text)
    assert re.search(r"Deploys: v6 .*, v5 .*, v4 .*, v3 .*, v2 .* and 2 more\.", beneath)


def test_one_region_is_drawn_with_all_its_phases(world: World, client: Client) -> None:
    ended(world, "probe", PROBE)
    text = site_html(client, world, "?kind=probe&region=eu&range=3h")
    assert '"metrics": ["ttfb_ms", "dns_ms", "connect_ms", "tls_ms", "wait_ms", "download_ms"]' in text
    assert "311 ms" in text


def test_a_run_that_was_disturbed_does_not_make_the_others_look_short(world: World, client: Client) -> None:
    for minutes, contended, ttfb_us in ((1, True, 900_000), (2, False, 100_000)):
        run = world.pending("probe", scheduled_for=NOW - timedelta(minutes=minutes))
        world.end(run, PROBE)
        Run.objects.filter(run_id=run.run_id).update(contended=contended, ttfb_us=ttfb_us)
    bars = re.findall(
        r'<li><a class="(\w+)".*?<rect width="10" height="(\d+)"', site_html(client, world, "?kind=probe")
    )
    assert sorted(bars) == [("disturbed", "48"), ("measured", "48")]


def test_the_trend_marks_stretches_whose_every_run_was_disturbed(world: World, client: Client) -> None:
    ended(world, "probe", PROBE)
    assert "disturbed all runs" not in site_html(client, world, "?kind=probe")
    Run.objects.update(contended=True)
    text = site_html(client, world, "?kind=probe")
    assert "disturbed all runs" in text
    assert '"disturbed": 1' in text


@pytest.mark.parametrize(
    ("percentile", "name", "value"),
    [("", "Medians", 109), ("75", "75th percentiles", 114), ("95", "95th percentiles", 118), ("12", "Medians", 109)],
)
def test_the_tail_of_a_trend_can_be_looked_at(
    world: World, client: Client, percentile: str, name: str, value: int
) -> None:
    begin = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=10)
    for place in range(20):
        run = world.pending("probe", scheduled_for=begin + timedelta(seconds=place))
        world.end(run, PROBE)
        Run.objects.filter(run_id=run.run_id).update(ttfb_us=1_000 * (100 + place))
    text = site_html(client, world, f"?kind=probe&range=7d&percentile={percentile}")
    assert f">{name} of each stretch of time" in text
    assert f'<td class="num">{value} ms</td>' in text


def test_a_site_without_runs_says_what_to_do(world: World, client: Client) -> None:
    text = site_html(client, world, "?kind=probe")
    assert "No scheduled run and no test is in this period" in text
    assert "A run is due every 1 min in each region." in text
    assert "beside the schedule" not in text
    assert "No runs yet" in text


def test_runs_that_no_chart_draws_are_told_to_be_beside_the_schedule(world: World, client: Client) -> None:
    look = world.pending("probe", trigger="diagnose")
    world.end(look, PROBE)
    text = site_html(client, world, "?kind=probe")
    assert "No scheduled run and no test is in this period" in text
    assert "What was measured beside the schedule, to look deeper or to make sure, is not drawn" in text
    assert reverse("web:run", args=[look.run_id]) in text


@pytest.mark.parametrize(
    "query",
    ["?kind=x&range=y&region=z&metric=q", "?before=yesterday", "?before=2026-13-45T00:00", "?metric=lcp_ms&kind=probe"],
)
def test_an_address_may_hold_anything(world: World, client: Client, query: str) -> None:
    site_html(client, world, query)


def test_no_other_figure_stands_in_for_a_largest_paint_that_was_not_seen(world: World, client: Client) -> None:
    blank = replace(measurements.page(3), vitals=Vitals(load_us=987_000))
    run = ended(world, "page", Measured(measurement=blank))
    text = site_html(client, world, "?kind=page")
    assert f'data-label="Largest paint">{units.ABSENT}</td>' in text
    assert "no largest paint was seen" in text
    assert f'<a class="measured" href="/runs/{run.run_id}/"' in text
    assert "□</a>" not in text
    assert "987 ms" not in text


def test_where_other_work_disturbed_most_page_loads_the_site_says_what_that_means(world: World, client: Client) -> None:
    seen = measurements.page(3)
    busy = replace(seen, vitals=replace(seen.vitals, contention_us=5_000_000))
    for minutes, measurement in enumerate((seen, busy, busy, busy)):
        assert "enter no baseline and no rule" not in site_html(client, world, "?kind=page")
        pending = world.pending("page", scheduled_for=NOW - timedelta(minutes=minutes))
        world.end(pending, Measured(measurement=measurement))
    told = site_html(client, world, "?kind=page")
    assert "disturbed 3 of the last 4 page loads, in " in told
    assert "enter no baseline and no rule" in told


def test_the_runs_of_a_period_are_a_table_for_spreadsheets(world: World, client: Client) -> None:
    probe, page = ended(world, "probe", PROBE), world.pending("page")
    old = world.pending("probe", scheduled_for=NOW - timedelta(hours=30))
    world.end(page)
    world.end(old, PROBE)

    def ids(query: str) -> set[str]:
        answer = client.get(reverse("web:site_runs", args=[world.site.public_id]) + query)
        assert answer.headers["Content-Disposition"] == f'attachment; filename="runs-{world.site.public_id}.csv"'
        return {row["run_id"] for row in csv.DictReader(StringIO(answer.getvalue().decode()))}

    assert ids("") == {str(page.run_id), str(probe.run_id)}
    assert ids("?kind=probe") == {str(probe.run_id)}
    assert ids("?kind=probe&range=7d&region=eu") == {str(probe.run_id), str(old.run_id)}
    # What does not exist is as if it were not said, as on the page.
    assert ids("?kind=%00&range=%00&region=%00") == {str(probe.run_id)}


def test_the_site_page_leads_to_the_runs_of_what_is_chosen(world: World, client: Client) -> None:
    ended(world, "probe", PROBE)
    address = reverse("web:site_runs", args=[world.site.public_id])
    text = site_html(client, world, "?kind=probe&range=7d&region=eu&percentile=95")
    assert f'href="{address}?kind=probe&amp;range=7d&amp;region=eu"' in text
    assert f'href="{address}?range=7d&amp;region=eu"' in text
