"""Status pages: as guests see them, and as members make them."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from redis.exceptions import ConnectionError as RedisGoneError

from backend.alerts.models import Outage
from backend.analysis.uptime import Seen
from backend.instants import to_us
from backend.runs.tests.factories import NOW
from backend.status.models import StatusPage
from backend.status.queries import Condition, Planned, PublicPage, PublicSite
from backend.web import units
from backend.web.badge import badge
from backend.web.status_page import as_json, shown, verdict_of
from backend.web.tests.world import World, make_status_page
from backend.web.waterfall.text import printable

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def site(name: str, condition: Condition = Condition.UP, *, down: tuple[float, float] | None = None) -> PublicSite:
    """Measured for two days; down from and until so many hours ago."""
    spans = () if down is None else ((to_us(AT - down[0] * HOUR), to_us(AT - down[1] * HOUR)),)
    seen = Seen(measured=((to_us(AT - 48 * HOUR), to_us(AT)),), down=spans, partly=())
    since = None if condition in (Condition.UP, Condition.UNKNOWN) else AT - HOUR
    return PublicSite(public_id=uuid4(), name=name, condition=condition, since=since, seen=seen, judged=())


def page(*sites: PublicSite, planned: tuple[Planned, ...] = ()) -> PublicPage:
    return PublicPage(title="Acme", at=AT, sites=sites, planned=planned)


@pytest.mark.parametrize(
    ("conditions", "level", "text"),
    [
        ("up", "good", "A is up"),
        ("up up", "good", "All is up"),
        ("up down", "bad", "B is down"),
        ("down partly", "bad", "A is down"),
        ("down down", "bad", "A and B are down"),
        ("down down down", "bad", "A, B and C are down"),
        ("down down down down", "bad", "A and 3 more are down"),
        ("partly up", "warn", "A is down from some regions"),
        ("up unknown maintenance", "warn", "B is not measured now"),
        ("up maintenance", "info", "B is under maintenance"),
        ("", "warn", "Nothing is measured now"),
    ],
)
def test_the_worst_is_said_first(conditions: str, level: str, text: str) -> None:
    word = verdict_of(
        page(*(site(name, Condition(one)) for name, one in zip("ABCD", conditions.split(), strict=False)))
    )

    assert (word.level, word.text) == (level, text)


def test_outages_of_two_weeks_are_told_the_newest_first_in_utc() -> None:
    found = shown(page(site("A", down=(30, 29)), site("B", down=(2, 0)), site("C", down=(24 * 20, 24 * 15))))

    assert [(one.name, one.when) for one in found.past] == [
        ("B", "since 30 Nov 2026 10:00 UTC (2 h 0 min)"),
        ("A", "29 Nov 2026 06:00 UTC to 29 Nov 2026 07:00 UTC (60 min)"),
    ]


def test_what_is_wrong_now_is_said_with_when_it_began() -> None:
    rows = shown(page(site("A", Condition.DOWN), site("B"))).rows

    assert [(row.word.text, row.since) for row in rows] == [("Down", "since 30 Nov 2026 11:00 UTC"), ("Up", "")]


def test_an_outage_that_ended_within_two_weeks_is_told_whenever_it_began() -> None:
    (one,) = shown(page(site("A", down=(24 * 15, 24 * 13)))).past

    assert one.when == "15 Nov 2026 12:00 UTC to 17 Nov 2026 12:00 UTC (2 days)"


def test_what_was_planned_is_no_outage() -> None:
    shop = site("A", down=(3, 1))
    planned = replace(shop, seen=replace(shop.seen, planned=((to_us(AT - 2 * HOUR), to_us(AT)),)))
    (one,) = shown(page(planned)).past

    assert one.when == "30 Nov 2026 09:00 UTC to 30 Nov 2026 10:00 UTC (60 min)"


def test_of_many_outages_the_newest_are_told() -> None:
    shop = site("A")
    spans = tuple((to_us(AT - n * HOUR), to_us(AT - (n - 0.5) * HOUR)) for n in range(60, 0, -1))
    found = shown(page(replace(shop, seen=replace(shop.seen, partly=spans))))

    assert len(found.past) == 50
    assert found.past[0].when.startswith("30 Nov 2026 11:00")
    assert found.past[0].what == "Down from some regions"


def test_maintenance_of_all_sites_is_said_so() -> None:
    windows = [Planned(names=names, starts_at=AT, ends_at=AT + HOUR) for names in (("A", "B"), ("B",))]
    found = shown(page(site("A"), site("B"), planned=tuple(windows)))

    assert [what for what, _ in found.planned] == ["All of it", "B"]
    assert found.planned[0][1] == "30 Nov 2026 12:00 UTC to 30 Nov 2026 13:00 UTC"


def test_programs_are_told_the_share_of_ninety_days() -> None:
    told = as_json(page(site("A", Condition.DOWN, down=(12, 0))))

    sites = told["sites"]
    assert isinstance(sites, list)
    (one,) = sites
    assert (told["status"], one["since"], one["uptime_90_days"]) == ("down", "2026-11-30T11:00:00+00:00", 0.75)


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_badge_is_a_picture_whatever_stands_in_it(name: str, state: str) -> None:
    root = ElementTree.fromstring(badge(printable(name), printable(state), "good"))
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [len(text) <= 60 for text in texts] == [True, True]


@pytest.mark.django_db
def test_guests_see_names_and_uptime_and_nothing_else(world: World) -> None:
    make_status_page(world)
    monitor = world.monitor("probe")
    Outage.objects.create(
        monitor=monitor, state="failing", regions=["eu"], began_at=NOW - HOUR, why="203.0.113.7 refused"
    )

    for name in ("web:status", "web:status_json"):
        text = Client().get(reverse(name, args=["acme"])).content.decode()
        assert world.site.name in text
        for hidden in (world.site.url, "203.0.113.7", str(monitor.public_id), world.member.user.email, "Acme</"):
            assert hidden not in text


@pytest.mark.django_db
def test_of_a_site_that_was_never_measured_no_share_is_told(world: World, client: Client) -> None:
    make_status_page(world)
    text = client.get(reverse("web:status", args=["acme"])).content.decode()

    assert "Not measured in the last 90 days" in text
    assert f"Up {units.ABSENT}" not in text


@pytest.mark.django_db
def test_what_one_was_told_is_told_to_others_for_a_while(world: World, client: Client) -> None:
    made = make_status_page(world)
    address = reverse("web:status", args=["acme"])
    client.get(address)
    StatusPage.objects.filter(pk=made.pk).update(title="Changed")

    assert "Changed" not in client.get(address).content.decode()
    cache.clear()
    assert "Changed" in client.get(address).content.decode()


@pytest.mark.django_db
def test_the_page_is_there_when_the_cache_is_gone(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_status_page(world)

    monkeypatch.setattr("backend.web.views.status.cache", Mock(get=Mock(side_effect=RedisGoneError)))
    assert client.get(reverse("web:status", args=["acme"])).status_code == 200


@pytest.mark.django_db
def test_badges_and_states_are_for_pages_of_others(world: World, client: Client) -> None:
    make_status_page(world)
    for address in (
        reverse("web:status_badge", args=["acme"]),
        reverse("web:status_site_badge", args=["acme", world.site.public_id]),
    ):
        response = client.get(address)
        assert response.headers["Content-Type"] == "image/svg+xml"
        assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert response.headers["Cache-Control"] == "public, max-age=20"
    state = client.get(reverse("web:status_json", args=["acme"]))
    assert state.headers["Access-Control-Allow-Origin"] == "*"
    assert json.loads(state.content)["sites"][0]["name"] == world.site.name


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["status", "status_json", "status_badge", "status_site_badge"])
def test_what_is_not_there_is_not_found(world: World, client: Client, name: str) -> None:
    make_status_page(world)
    address = "acme" if name == "status_site_badge" else "nobody"
    args = [address, uuid4()] if name == "status_site_badge" else [address]

    assert client.get(reverse(f"web:{name}", args=args)).status_code == 404


@pytest.mark.django_db
def test_a_member_makes_changes_and_deletes_a_page(world: World, client: Client) -> None:
    client.force_login(world.member.user)
    form = {"title": "Acme", "slug": "acme", "sites": [str(world.site.public_id)]}
    client.post(reverse("web:status_page_add"), form)
    made = StatusPage.objects.get()
    address = reverse("web:status_page", args=[made.public_id])

    text = client.get(address).content.decode()
    assert "/status/acme/badge.svg" in text
    client.post(address, form | {"title": "Acme status"})
    assert "Acme status" in client.get(reverse("web:status_pages")).content.decode()
    client.post(reverse("web:status_page_delete", args=[made.public_id]))
    assert not StatusPage.objects.exists()


@pytest.mark.django_db
def test_what_cannot_be_is_said_beside_its_field(world: World, client: Client) -> None:
    client.force_login(world.member.user)
    make_status_page(world)
    form = {"title": "Acme", "slug": "acme", "sites": [str(world.site.public_id)]}

    response = client.post(reverse("web:status_page_add"), form)
    assert response.status_code == 400
    assert "Another status page has this address already" in response.content.decode()
    assert client.post(reverse("web:status_page_add"), {"slug": "Acme!"}).status_code == 400


@pytest.mark.django_db
def test_who_saves_what_another_changed_meanwhile_is_told(world: World, client: Client) -> None:
    client.force_login(world.member.user)
    made = make_status_page(world)
    address = reverse("web:status_page", args=[made.public_id])
    (stamp,) = re.findall(r'name="seen" value="([^"]+)"', client.get(address).content.decode())
    StatusPage.objects.update(title="Theirs")
    form = {"title": "Mine", "slug": "acme", "sites": [str(world.site.public_id)], "seen": stamp}

    assert "changed after you had opened it" in client.post(address, form).content.decode()
    assert StatusPage.objects.get().title == "Theirs"
