"""Regions as their people see them."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest
import redis
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from backend.accounts.models import AuditEntry
from backend.alerts.models import Blindness
from backend.cast import Member
from backend.fleet.actions import record_heartbeat
from backend.fleet.models import Agent, Region
from backend.fleet.queries import region_by_token
from backend.runs.actions import reconcile_organisation
from backend.runs.tests.factories import NOW, make_agent, make_region
from backend.web.tests import measurements
from backend.web.tests.world import World, make_world
from workers.measurement.messages import Heartbeat, Measured, PageMeasurement

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client, alice: Member) -> Client:
    client.force_login(alice.user)
    return client


def page(client: Client) -> str:
    return client.get(reverse("web:regions")).content.decode()


def command_in(text: str) -> dict[str, str]:
    """The variables of the command that is shown."""
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", text, re.DOTALL)
    assert found is not None
    words = unescape(found[1]).split()
    assert words[-2:] == ["firstbyte", "agent"]
    return {name: value.strip("'") for name, _, value in (word.partition("=") for word in words[:-2])}


def test_without_regions_it_says_what_one_is(signed_in: Client, broker: str) -> None:
    text = page(signed_in)
    assert "No region yet" in text
    assert "Add a region" in text


def test_a_new_region_shows_one_command_with_working_secrets(
    signed_in: Client, broker: str, settings: Settings
) -> None:
    settings.PUBLIC_BROKER_URL = broker
    response = signed_in.post(reverse("web:region_add"), {"code": "eu-west", "name": "Dublin"})
    values = command_in(response.content.decode())
    assert values["FIRSTBYTE_REGION"] == "eu-west"
    assert values["FIRSTBYTE_SERVICE_URL"] == settings.BASE_URL
    region = region_by_token(values["FIRSTBYTE_AGENT_TOKEN"])
    assert region is not None
    with redis.Redis.from_url(values["FIRSTBYTE_BROKER_URL"]) as client:
        assert client.llen("eu-west:probe") == 0
    assert "no-store" in response.headers["Cache-Control"]


def test_a_name_that_would_change_the_line_it_stands_in_is_refused_at_its_field(signed_in: Client) -> None:
    answer = signed_in.post(reverse("web:region_add"), {"code": "eu-west", "name": "turned \u202e round"})

    assert answer.status_code == 400
    told = answer.content.decode()
    assert told.count("The name must be one line without control characters.") == 1
    assert told.index('name="code"') < told.index("The name must be one line")
    assert not Region.objects.filter(code="eu-west").exists()


def test_the_secrets_are_not_shown_a_second_time(signed_in: Client, broker: str) -> None:
    shown = signed_in.post(reverse("web:region_add"), {"code": "eu", "name": "Dublin"}).content.decode()
    token = command_in(shown)["FIRSTBYTE_AGENT_TOKEN"]
    text = page(signed_in)
    assert token not in text
    assert token[:13] in text


def test_monitors_of_all_regions_take_in_a_new_one_with_its_first_agent(
    signed_in: Client, alice: Member, broker: str
) -> None:
    schedules = make_world(alice).monitor("probe").schedules.filter(region__code="us")
    signed_in.post(reverse("web:region_add"), {"code": "us", "name": "Virginia"})
    reconcile_organisation(alice.organisation)
    assert not schedules.exists()
    beat = Heartbeat(agent="box-1", agent_version="0.1.0", sent_at=timezone.now())
    record_heartbeat(region=Region.objects.get(code="us"), heartbeat=beat, now=timezone.now())
    reconcile_organisation(alice.organisation)
    assert schedules.exists()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"code": "EU*", "name": "x"}, "lower-case letters"),
        ({"code": "taken", "name": "x"}, "choose another code"),
        ({"code": "", "name": "x"}, "This field is required"),
    ],
)
def test_a_faulty_region_is_answered_at_its_field(
    signed_in: Client, broker: str, fields: dict[str, str], sentence: str
) -> None:
    make_region("taken")
    response = signed_in.post(reverse("web:region_add"), fields)
    assert response.status_code == 400
    assert sentence in response.content.decode()
    assert Region.objects.count() == 1


def test_new_secrets_end_the_old(signed_in: Client, alice: Member, broker: str) -> None:
    make_region("eu", alice.organisation)
    values = command_in(signed_in.post(reverse("web:region_rotate", args=["eu"])).content.decode())
    assert region_by_token("token-of-eu") is None
    assert region_by_token(values["FIRSTBYTE_AGENT_TOKEN"]) is not None
    assert AuditEntry.objects.filter(action="rotate_token", actor=alice.user).exists()


def test_a_region_is_removed_after_a_question(signed_in: Client, alice: Member, broker: str) -> None:
    world = make_world(alice)
    change = reverse("web:monitor_resume", args=[world.site.public_id, "probe"])
    address = reverse("web:region_remove", args=["eu"])
    signed_in.post(change)
    assert "stays taken" in signed_in.get(address).content.decode()
    signed_in.post(address)
    assert region_by_token("token-of-eu") is None
    assert not world.monitor("probe").schedules.filter(enabled=True).exists()
    assert "No region yet" in page(signed_in)
    assert signed_in.get(address).status_code == 404


@pytest.mark.parametrize("name", ["region_rotate", "region_remove"])
def test_who_comes_too_late_for_a_region_is_told_so(
    signed_in: Client, alice: Member, broker: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    read_before = make_region("eu", alice.organisation)
    Region.objects.update(enabled=False)
    monkeypatch.setattr("backend.web.views.regions.owned_region", lambda *_: read_before)
    response = signed_in.post(reverse(f"web:{name}", args=["eu"]), follow=True)
    assert "Region eu was removed" in response.content.decode()
    assert not Region.objects.get().enabled


def test_a_shared_region_is_not_ours_to_change(signed_in: Client, broker: str) -> None:
    make_region("shared")
    for name in ("region_rotate", "region_remove"):
        assert signed_in.post(reverse(f"web:{name}", args=["shared"])).status_code == 404
    assert reverse("web:region_rotate", args=["shared"]) not in page(signed_in)


def test_without_a_broker_the_page_says_so_and_adds_nothing(
    signed_in: Client, alice: Member, settings: Settings
) -> None:
    make_region("eu", alice.organisation)
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    assert "The broker does not answer" in page(signed_in)
    response = signed_in.post(reverse("web:region_add"), {"code": "us", "name": "x"})
    assert (response.status_code, Region.objects.count()) == (400, 1)


@pytest.mark.parametrize(("age_s", "word"), [(0, "Online"), (60, "Late"), (600, "Offline"), (None, "Never seen")])
def test_the_heartbeat_is_a_word(signed_in: Client, alice: Member, broker: str, age_s: int | None, word: str) -> None:
    region = make_region("eu", alice.organisation, joined_at=None if age_s is None else NOW)
    if age_s is not None:
        make_agent(region, seen_at=timezone.now() - timedelta(seconds=age_s))
    assert f"</span> {word}</span>" in page(signed_in)


def test_an_agent_shows_its_browser_its_clock_and_what_it_holds(signed_in: Client, alice: Member, broker: str) -> None:
    Agent.objects.create(
        region=make_region("eu", alice.organisation),
        name="<box>",
        version="0.1.0",
        browser_version="Chromium 156",
        sandbox=False,
        spool_fault="No space left on <device>",
        last_seen_at=timezone.now(),
        clock_skew_us=-7_300_000,
        holding=12,
        spooled=3,
    )
    text = page(signed_in)
    for shown in ("&lt;box&gt;", "0.1.0", "Chromium 156", "without its sandbox", "7.3 s behind", ">12<", ">3<"):
        assert shown in text, shown
    assert "its disk keeps no results (No space left on &lt;device&gt;): make room" in text


@pytest.mark.usefixtures("standing_clock")
def test_how_much_waits_and_for_how_long_is_shown(signed_in: Client, alice: Member, broker: str) -> None:
    make_region("eu", alice.organisation)
    with redis.Redis.from_url(broker) as client:
        published_us = int((timezone.now() - timedelta(seconds=90)).timestamp() * 1_000_000)
        message = json.dumps({"headers": {"published_us": published_us, "expires_us": published_us * 2}})
        client.lpush("eu:probe", message, message)
    assert "2 waiting, the oldest for 90 s" in page(signed_in)


@pytest.mark.parametrize(
    ("why", "words"),
    [("cut_off", "It has reached none of its sites since"), ("idle", "It has brought no measurement since")],
)
def test_a_region_that_is_heard_of_and_sees_nothing_says_so(
    signed_in: Client, alice: Member, broker: str, why: str, words: str
) -> None:
    region, now = make_region("eu", alice.organisation), timezone.now()
    make_agent(region)
    assert words not in page(signed_in)
    Blindness.objects.create(region=region, why=why, since=now, noted_at=now, looked_at=now)
    assert words in page(signed_in)


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_region_that_filled_the_broker_says_what_to_do(
    signed_in: Client, alice: Member, broker: str, is_shared: bool
) -> None:
    region = make_region("eu", None if is_shared else alice.organisation)
    assert "filled the broker" not in page(signed_in)
    region.emptied_at = timezone.now()
    region.save()
    text = page(signed_in)
    assert "Its queues filled the broker and were emptied at" in text
    assert ("Whoever runs the service can give it others" in text) is is_shared


def test_one_of_two_agents_that_sees_nothing_is_named(signed_in: Client, alice: Member, broker: str) -> None:
    region, now = make_region("eu", alice.organisation), timezone.now()
    for name in ("well", "broken"):
        Agent.objects.create(region=region, name=name, version="1", last_seen_at=now, clock_skew_us=0)
    assert "has reached none of its sites" not in page(signed_in)
    row = Blindness.objects.create(region=region, agent="broken", why="cut_off", since=now, noted_at=now, looked_at=now)
    text = page(signed_in)
    assert text.count("has reached none of its sites since") == 1
    assert text.index("has reached none of its sites since") > text.index("broken")
    assert "It has reached none of its sites" not in text
    row.until = now
    row.save()
    assert "has reached none of its sites" not in page(signed_in)


DISTURBED = "Other work of its agents&#x27; machines disturbed"
SEEN = measurements.page(3)
BUSY = replace(SEEN, vitals=replace(SEEN.vitals, contention_us=5_000_000))


def loaded(world: World, *measurements: PageMeasurement) -> None:
    """Page loads of the last minutes arrive, the newest first."""
    for minutes, measurement in enumerate(measurements):
        pending = world.pending("page", scheduled_for=NOW - timedelta(minutes=minutes))
        world.end(pending, Measured(measurement=measurement))


@pytest.mark.parametrize(
    ("loads", "told"),
    [
        ((BUSY, BUSY), ""),
        ((BUSY, BUSY, BUSY), "3 of the last 3"),
        ((SEEN, BUSY, SEEN, BUSY, BUSY, SEEN), "3 of the last 6"),
        ((SEEN, BUSY, SEEN, BUSY, SEEN, SEEN), ""),
        # What it was like before is no matter.
        ((*[SEEN] * 6, *[BUSY] * 12), ""),
    ],
)
@pytest.mark.usefixtures("standing_clock")
def test_a_region_whose_machine_is_busy_says_what_that_means_and_what_to_do(
    signed_in: Client, world: World, broker: str, loads: tuple[PageMeasurement, ...], told: str
) -> None:
    loaded(world, *loads)
    text = page(signed_in)
    assert (DISTURBED in text) is bool(told)
    if told:
        assert f"{DISTURBED} {told} page loads: these enter no baseline and no rule." in text
        assert "A machine of its own, more processors or fewer browsers" in text


@pytest.mark.usefixtures("standing_clock")
def test_what_disturbs_one_region_or_another_organisation_is_told_of_no_other(
    signed_in: Client, client: Client, world: World, charlie: Member, broker: str
) -> None:
    make_region("us", world.member.organisation)
    loaded(world, BUSY, BUSY, BUSY)
    assert page(signed_in).count(DISTURBED) == 1
    Region.objects.update(organisation=None)
    assert page(signed_in).count(DISTURBED) == 1
    client.force_login(charlie.user)
    assert DISTURBED not in page(client)


@pytest.mark.usefixtures("standing_clock")
def test_the_page_costs_the_same_statements_for_many_regions(
    signed_in: Client, world: World, broker: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with CaptureQueriesContext(connection) as before:
        page(signed_in)
    for number in range(5):
        make_agent(make_region(f"r{number}", world.member.organisation))
    loaded(world, BUSY, BUSY, BUSY)
    with django_assert_num_queries(len(before)):
        page(signed_in)
