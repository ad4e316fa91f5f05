"""What a page measures itself, followed as a metric of its monitor."""

import csv
import json
import re
from html import unescape
from io import StringIO
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from backend.alerts.models import Rule
from backend.alerts.queries.silent_timings import SilentTiming
from backend.runs.tests.results import timed_page
from backend.web.rules_page import silence_of
from backend.web.tests.monitor_form import change, text_of
from backend.web.tests.run_pages import ended, site_html
from backend.web.tests.world import World

pytestmark = pytest.mark.django_db
TIMING = "mark:<b>hero & cart</b>"


def test_what_is_followed_is_drawn_under_its_name(world: World, client: Client) -> None:
    assert change(client, world, "page", user_timings_0=TIMING, user_timings_4="measure:a:b")[0] == 200
    assert world.monitor("page").user_timings == [TIMING, "measure:a:b"]
    ended(world, "page", timed_page({TIMING: 1_234_000, "measure:other": 5_000}))
    text = site_html(client, world, f"?{urlencode({'kind': 'page', 'metric': TIMING})}")
    data = re.search(r'<script id="phase-series" type="application/json">(.*?)</script>', text)
    assert data is not None
    series = json.loads(data[1])
    assert (series["metrics"], series["names"]) == ([TIMING], ["mark <b>hero & cart</b>"])
    assert [point["values"] for point in series["regions"][0]["points"]] == [[1234.0]]
    assert f'aria-current="true">{escape("mark <b>hero & cart</b>")}</a>' in text
    assert escape(urlencode({"metric": TIMING})) in text
    assert "measure a:b</a>" in text
    assert "<b>hero" not in text
    assert "1.23 s" in text


def test_what_is_not_followed_is_no_choice(world: World, client: Client) -> None:
    ended(world, "page", timed_page({TIMING: 1_234_000}))
    assert 'aria-current="true">Largest paint' in site_html(
        client, world, f"?kind=page&{urlencode({'metric': TIMING})}"
    )


def test_a_spreadsheet_has_what_was_followed(world: World, client: Client) -> None:
    change(client, world, "page", user_timings_0=TIMING)
    ended(world, "page", timed_page({TIMING: 1_234_000}))
    answer = client.get(f"{reverse('web:site_runs', args=[world.site.public_id])}?kind=page")
    (row,) = csv.DictReader(StringIO(answer.getvalue().decode()))
    assert json.loads(row["timings_ms"]) == {TIMING: 1234.0}


def test_the_settings_offer_what_the_last_runs_told(world: World, client: Client) -> None:
    ended(world, "page", timed_page({'mark:a"b': 5, "element:hero": 7}))
    text = text_of(client, "site_settings", world.site.public_id)
    offered = re.findall(r'<option value="((?:mark|element):[^"]*)">', text)
    assert list(map(unescape, offered)) == ['mark:a"b', "element:hero"]
    assert text.count('list="timings-told"') == 5


def test_a_name_without_what_it_is_is_refused_where_it_was_written(world: World, client: Client) -> None:
    status, refused = change(client, world, "page", user_timings_1="hero")
    assert status == 400
    assert "Write what it is and its name" in refused
    assert 'value="hero"' in refused
    assert world.monitor("page").user_timings == []


def test_a_rule_can_go_by_what_is_followed_and_says_where_it_is_not_told(world: World, client: Client) -> None:
    change(client, world, "page", user_timings_0=TIMING)
    site = str(world.site.public_id)
    settings = {
        "severity": "warning",
        "delay_min": "0",
        "site": site,
        "param_metric": TIMING,
        "param_limit": "2500",
        "param_of_last": "5",
        "param_regions": "1",
    }
    client.post(f"{reverse('web:rule_add')}?kind=budget", settings)
    rule = Rule.objects.get(site=world.site, kind="budget")
    assert rule.params["metric"] == TIMING
    told = escape("mark <b>hero & cart</b>")
    text = text_of(client, "rule", rule.public_id)
    assert f'<option value="{escape(TIMING)}" selected>{told} (ms)</option>' in text
    assert f"{told} over 2.50 s; median of the last 5 runs that told it in 1 region" in text
    assert "Not all that it goes by is told" not in text
    change(client, world, "page")
    text = text_of(client, "rule", rule.public_id)
    assert f"No page that this rule looks at follows {told}: choose it in the settings of a site." in text
    assert f'<option value="{escape(TIMING)}" selected>' in text
    assert "a user timing is not told" in text_of(client, "rules")


def test_what_is_not_told_is_said_by_site_and_regions() -> None:
    silent = SilentTiming(timing="mark:hero", site="Shop", regions=("Frankfurt", "Virginia"))
    assert silence_of([silent]) == [
        "Shop: none of the last 5 page loads from Frankfurt and Virginia told mark hero.",
    ]
