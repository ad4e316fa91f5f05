"""The page of one run."""

import re
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse

from backend.cast import Member
from backend.runs.ingest import ingest
from backend.runs.models import PendingRun, Run
from backend.runs.tests.factories import NOW, make_pending
from backend.runs.tests.results import FAILED, line_of
from backend.sites.actions import change_monitor
from backend.sites.models import MonitorVersion
from backend.sites.monitor_settings import stored_settings
from backend.web.tests import measurements
from backend.web.tests.run_pages import ended, html
from backend.web.tests.world import World, make_pairing
from backend.web.times import handed_on
from backend.web.views import runs
from workers.measurement.failure import FailureKind, failure
from workers.measurement.messages import Failed, Measured, Missed, MissedReason, Outcome
from workers.measurement.page_options import PageState
from workers.measurement.page_view import RepeatView
from workers.measurement.pair import PairTarget
from workers.measurement.timing import Timing
from workers.measurement.vitals import Vitals

pytestmark = pytest.mark.django_db

PAGE = Measured(measurement=measurements.page(30))
PROBE = Measured(measurement=measurements.probe())


def test_a_page_run_opens_with_its_verdict_and_shows_every_request(world: World, client: Client) -> None:
    text = html(client, ended(world, "page", PAGE))
    assert "840 ms to the largest paint: good" in text
    assert text.count('class="wf-row') == 30
    assert "404" in text
    assert "style=" not in text


def test_a_run_that_cannot_be_read_is_not_called_forgotten(world: World, client: Client) -> None:
    run = world.pending("page")
    ingest(world.region, [line_of(run, PAGE).replace(b'"flags":[]', b'"flags":["not_yet"]')], now=NOW)
    assert "or this version cannot read them, as of an agent that is newer than the service" in html(client, run)


def test_a_run_that_ends_while_its_page_is_asked_for_is_found(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.pending("page")

    def too_late(*of: object) -> None:
        world.end(run, Measured(measurement=measurements.page(3)))

    monkeypatch.setattr(runs, "site_of_pending", too_late)
    response = client.get(reverse("web:run", args=[run.run_id]))
    assert (response.status_code, response.headers["Location"]) == (302, reverse("web:run", args=[run.run_id]))
    assert client.get(response.headers["Location"]).status_code == 200


def test_the_row_in_the_address_is_the_one_looked_at(world: World, client: Client) -> None:
    run = ended(world, "page", PAGE)
    assert '<h3 class="wrap-any">1. /</h3>' in html(client, run)
    assert '<h3 class="wrap-any">18. ' in html(client, run, "?request=18")
    assert '<h3 class="wrap-any">1. /</h3>' in html(client, run, "?request=nonsense")


def test_filters_work_without_the_script(world: World, client: Client) -> None:
    text = html(client, ended(world, "page", PAGE), "?q=404&host=img.shop.example")
    assert "1 of 30" in text
    assert text.count(" hidden>") >= 29


@pytest.mark.parametrize(
    ("query", "option"),
    [
        ("?host=nowhere.example", "<option selected>nowhere.example</option>"),
        ("?kind=media", "<option selected>media</option>"),
        ("?only=differs", '<option value="differs" selected>differences</option>'),
    ],
)
def test_a_choice_that_no_row_of_this_run_has_is_told_as_such(
    world: World, client: Client, query: str, option: str
) -> None:
    """Else the page would be empty for no reason that is seen, and the script would take it for none."""
    text = html(client, ended(world, "page", PAGE), query)
    assert option in text
    assert "0 of 30" in text


def test_connections_are_another_view_of_the_same_run(world: World, client: Client) -> None:
    text = html(client, ended(world, "page", PAGE), "?view=connections")
    assert text.count('class="wf-row') == 4
    assert "tags.vendor.example" in text


def test_the_numbers_are_those_of_the_visit_that_is_shown(world: World, client: Client) -> None:
    second = measurements.page(4)
    view = RepeatView(
        state=PageState.WARM_CACHE, waterfall=second.waterfall, vitals=Vitals(lcp_us=90_000), document=second.document
    )
    run = ended(world, "page", Measured(measurement=replace(measurements.page(30), repeat=view)))
    first, repeat = html(client, run), html(client, run, "?visit=repeat")
    assert "30 requests, 4 hosts" in first
    assert "The repeat view" not in first
    assert "30 requests, 4 hosts" not in repeat
    piece = client.get(
        reverse("web:run_details", args=[run.run_id, 1]),
        {"unit": "connection", "view": "connections", "visit": "repeat"},
    )
    assert 'href="?visit=repeat&amp;request=1#details"' in piece.content.decode()
    assert '<div class="metric-value">90 ms</div>' in repeat
    assert "The repeat view" in repeat


def test_very_many_requests_come_in_windows_with_all_rows_for_the_script(world: World, client: Client) -> None:
    run = ended(world, "page", Measured(measurement=measurements.page(700)))
    text = html(client, run)
    assert text.count('class="wf-row') == 100
    assert "Rows 1 to 100 of 700" in text
    assert 'aria-rowcount="701"' in text
    later = html(client, run, "?from=101")
    assert re.findall(r'aria-rowindex="(\d+)"', later) == [str(index) for index in range(102, 202)]


def test_a_table_that_holds_all_of_its_rows_counts_them_itself(world: World, client: Client) -> None:
    assert "aria-row" not in html(client, ended(world, "page", PAGE), "?q=404")


def test_all_rows_of_a_long_waterfall_are_there_for_the_script(world: World, client: Client) -> None:
    text = html(client, ended(world, "page", Measured(measurement=measurements.page(700))))
    assert '"number": 700' in text


@pytest.mark.parametrize("query", ["?from=1001&request=1150", "?q=1150", "?view=connections&request=2"])
def test_rows_beyond_a_thousand_are_led_to_by_plain_numbers(world: World, client: Client, query: str) -> None:
    page = measurements.page(1200)
    requests = page.waterfall.requests
    later = tuple(replace(one, initiator_url=requests[1099].url) if one.number == 1150 else one for one in requests)
    run = ended(world, "page", Measured(measurement=replace(page, waterfall=replace(page.waterfall, requests=later))))
    text = html(client, run, query)
    assert re.findall(r'(?:href|id|aria-rowcount|data-row)="[^"]*\d,\d{3}[^"]*"', text) == []
    if "from" in query:
        assert "from=901" in text
        assert "from=1101" in text
        assert "1150. " in text
        assert "request=1100#details" in text


def test_a_probe_shows_hops_phases_and_round_trips(world: World, client: Client) -> None:
    text = html(client, ended(world, "probe", PROBE))
    assert "First byte after 311 ms" in text
    assert "Total, without redirects" in text
    assert text.count('class="wf-row') == 2
    assert "Where the time went" in text
    assert "1 round trip of 30 ms" in text


def test_a_failed_run_begins_with_the_reason_and_shows_what_was_seen_before(world: World, client: Client) -> None:
    outcome = Failed(failure=failure(FailureKind.PAGE_TIMEOUT), measurement=measurements.page(12))
    text = html(client, ended(world, "page", outcome))
    assert "The page did not finish loading in time." in text
    assert "The fault lies with the measured site." in text
    assert text.count('class="wf-row') == 12
    assert "seen before it failed" in text
    assert "good, limit" not in text


def test_a_failure_of_which_no_phase_was_seen_has_no_table_of_phases(world: World, client: Client) -> None:
    """A connection that was refused: neither an empty table nor a sum of nothing."""
    seen = measurements.probe()
    hop = replace(seen.hops[0], timing=Timing(start_us=0, end_us=None))
    refused = Failed(failure=failure(FailureKind.CONNECT_REFUSED), measurement=replace(seen, hops=(hop,)))
    assert "Where the time went" not in html(client, ended(world, "probe", refused))


def test_a_failure_before_anything_was_seen_has_a_page_too(world: World, client: Client) -> None:
    text = html(client, ended(world, "probe", FAILED))
    assert "The server refused the connection: 203.0.113.7" in text
    assert "wf-row" not in text


@pytest.mark.parametrize("kind", ["probe", "page"])
def test_a_run_that_measured_nothing_names_what_was_asked_for(world: World, client: Client, kind: str) -> None:
    assert "Asked for https://shop.example/<" in html(client, ended(world, kind, FAILED))


def test_a_failed_pair_names_the_addresses_of_both_legs(world: World, client: Client) -> None:
    pair = make_pending(world.fleet, make_pairing(world.site).monitor)
    world.end(pair, FAILED)
    asked = "Asked for https://cdn.shop.example/app.js and https://www.shop.example/app.js<"
    assert asked in html(client, pair)


def moved(run: PendingRun, url: str = "https://new.example/") -> None:
    change_monitor(actor=None, monitor=run.monitor, settings=replace(stored_settings(run.monitor), url=url))


def test_a_run_keeps_the_address_that_it_asked_for_when_its_monitor_moves(world: World, client: Client) -> None:
    runs = [ended(world, "probe", FAILED), ended(world, "page", Missed(reason=MissedReason.NO_AGENT))]
    for run in runs:
        moved(run)
    told = [html(client, run) for run in runs]
    assert ["Asked for https://shop.example/<" in told[0], "It was to ask for https://shop.example/<" in told[1]] == [
        True,
        True,
    ]
    assert "new.example" not in "".join(told)


def test_a_failed_pair_keeps_the_addresses_of_both_legs(world: World, client: Client) -> None:
    pair = make_pending(world.fleet, make_pairing(world.site).monitor)
    world.end(pair, FAILED)
    other = replace(stored_settings(pair.monitor), other=PairTarget(url="https://new.shop.example/app.js"))
    change_monitor(actor=None, monitor=pair.monitor, settings=other)
    asked = "Asked for https://cdn.shop.example/app.js and https://www.shop.example/app.js<"
    assert asked in html(client, pair)


def test_a_pair_that_asks_an_address_of_its_own_names_it(world: World, client: Client) -> None:
    pair = make_pending(world.fleet, make_pairing(world.site).monitor)
    there = replace(
        stored_settings(pair.monitor), other=PairTarget(url="https://cdn.shop.example/app.js", address="1.1.1.7")
    )
    change_monitor(actor=None, monitor=pair.monitor, settings=there)
    world.end(pair, FAILED)
    Run.objects.filter(run_id=pair.run_id).update(config_version=2)
    asked = "Asked for https://cdn.shop.example/app.js and https://cdn.shop.example/app.js at 1.1.1.7<"
    assert asked in html(client, pair)


def test_what_was_asked_for_is_not_told_of_settings_that_are_no_longer_those_of_the_run(
    world: World, client: Client
) -> None:
    """Of versions from before addresses were kept with them."""
    runs = [ended(world, "probe", FAILED), ended(world, "page", Missed(reason=MissedReason.NO_AGENT))]
    never_sent = world.pending("page", scheduled_for=NOW - timedelta(minutes=2))
    world.end(never_sent, Missed(reason=MissedReason.SERVICE_DOWN))
    Run.objects.filter(run_id=never_sent.run_id).update(config_version=None)
    for run in runs:
        moved(run)
    MonitorVersion.objects.all().delete()
    for run in [*runs, never_sent]:
        text = html(client, run)
        assert "The monitor may have been changed since; it asks for https://new.example/ now.<" in text
        assert "shop.example/<" not in text


def test_a_run_that_was_never_sent_out_names_what_it_would_have_asked_for(world: World, client: Client) -> None:
    run = ended(world, "probe", Missed(reason=MissedReason.SERVICE_DOWN))
    Run.objects.filter(run_id=run.run_id).update(config_version=None)
    assert "It was to ask for https://shop.example/<" in html(client, run)


def test_a_measured_run_says_what_it_asked_for_in_its_rows(world: World, client: Client) -> None:
    assert "Asked for" not in html(client, ended(world, "probe", PROBE))


def test_an_address_that_may_not_be_measured_is_told_with_what_would_allow_it(world: World, client: Client) -> None:
    text = html(client, ended(world, "probe", Failed(failure=failure(FailureKind.BLOCKED_DESTINATION, "shop.example"))))
    assert "FIRSTBYTE_PRIVATE_TARGETS" in text
    assert "The fault lies with the measured site" not in text


def test_a_missed_run_says_why_and_accuses_nobody(world: World, client: Client) -> None:
    text = html(client, ended(world, "probe", Missed(reason=MissedReason.LATE)))
    assert "This run did not take place" in text
    assert "It says nothing about the site." in text
    assert "<strong>What to do:</strong> Look at the clocks of this region" in text


def test_the_address_of_a_run_that_has_not_ended_leads_to_how_far_it_is(world: World, client: Client) -> None:
    pending = world.pending("page")
    answer = client.get(reverse("web:run", args=[pending.run_id]))
    assert answer.headers["Location"] == f"/tests/{world.site.public_id}/?run={pending.run_id}"


def test_a_run_of_others_that_has_not_ended_is_not_found(world: World, client: Client, charlie: Member) -> None:
    pending = world.pending("page")
    client.force_login(charlie.user)
    assert client.get(reverse("web:run", args=[pending.run_id])).status_code == 404


def test_runs_of_others_and_unknown_ones_are_not_found(world: World, client: Client, charlie: Member) -> None:
    run = ended(world, "page", PAGE)
    client.force_login(charlie.user)
    paths = [
        reverse("web:run", args=[run.run_id]),
        reverse("web:run_details", args=[run.run_id, 1]),
        reverse("web:run_screenshot", args=[run.run_id]),
        reverse("web:run_film", args=[run.run_id]),
        reverse("web:run", args=[uuid4()]),
        reverse("web:site", args=[world.site.public_id]),
    ]
    assert [client.get(path).status_code for path in paths] == [404] * 6


def test_the_details_of_a_row_are_a_piece_of_html_that_may_be_kept(world: World, client: Client) -> None:
    run = ended(world, "page", PAGE)
    response = client.get(reverse("web:run_details", args=[run.run_id, 18]), {"unit": "request"})
    assert "18. app.css" in response.content.decode()
    assert "<html" not in response.content.decode()
    assert "immutable" in response.headers["Cache-Control"]
    connection = client.get(reverse("web:run_details", args=[run.run_id, 2]), {"unit": "connection"})
    assert "2. cdn.shop.example" in connection.content.decode()
    assert client.get(reverse("web:run_details", args=[run.run_id, 99])).status_code == 404


def test_older_and_newer_runs_are_a_key_away(world: World, client: Client) -> None:
    older = world.pending("probe", scheduled_for=NOW - timedelta(minutes=2))
    newer = world.pending("probe")
    world.end(older, PROBE)
    world.end(newer, PROBE)
    assert f'data-key="]" href="{reverse("web:run", args=[newer.run_id])}"' in html(client, older)
    assert f'data-key="[" href="{reverse("web:run", args=[older.run_id])}"' in html(client, newer)


def test_a_run_is_compared_with_the_last_one_before_it_that_measured_something(world: World, client: Client) -> None:
    ends: tuple[Outcome, ...] = (PROBE, Missed(reason=MissedReason.NO_AGENT), FAILED, PROBE)
    runs = [world.pending("probe", scheduled_for=NOW - timedelta(minutes=9 - place)) for place in range(4)]
    for run, outcome in zip(runs, ends, strict=True):
        world.end(run, outcome)
    first, *_, last = runs
    assert f"?a={first.run_id}&amp;b={last.run_id}" in html(client, last)
    assert 'data-key="c"' not in html(client, first)


def test_below_the_waterfall_stands_what_the_page_is_made_of(world: World, client: Client) -> None:
    text = html(client, ended(world, "page", PAGE))
    assert "What the page is made of" in text
    assert "Style sheets" in text
    assert "What the page is made of" not in html(client, ended(world, "probe", PROBE))


def test_the_waterfall_is_saved_as_a_picture_that_runs_nothing(world: World, client: Client) -> None:
    run = ended(world, "page", PAGE)
    response = client.get(reverse("web:run_waterfall", args=[run.run_id]) + "?q=404")
    assert response["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert response["Content-Security-Policy"] == "default-src 'none'; img-src data:; sandbox"
    assert "1 of 30 rows" in response.content.decode()
    assert "waterfall.svg?q=404" in html(client, run, "?q=404")


def test_a_picture_is_handed_on_and_names_its_time_in_utc_whoever_saves_it(world: World, client: Client) -> None:
    run = ended(world, "page", PAGE)
    world.member.user.time_zone = "Asia/Tokyo"
    world.member.user.save()
    picture = client.get(reverse("web:run_waterfall", args=[run.run_id])).content.decode()
    at = run.scheduled_for
    assert f"{at.day} {at:%b %Y %H:%M} UTC" in picture
    assert f"{at + timedelta(hours=9):%H:%M}" not in picture
    assert handed_on(at.astimezone(ZoneInfo("Asia/Tokyo"))) == handed_on(at)


@pytest.mark.parametrize(("kind", "outcome"), [("page", PAGE), ("probe", PROBE)])
def test_a_run_is_exported_as_an_archive_with_the_rows_of_its_page(
    world: World, client: Client, kind: str, outcome: Outcome
) -> None:
    run = ended(world, kind, outcome)
    text = html(client, run)
    address = f"/api/v1/runs/{run.run_id}/har"
    assert f'data-key="e" href="{address}" download>Export HAR</a>' in text
    assert len(client.get(address).json()["log"]["entries"]) == text.count('class="wf-row')
    unseen = ended(world, "probe" if kind == "page" else "page", FAILED)
    assert "/har" not in html(client, unseen)
