"""The wall: all sites on one screen, for who has its link."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.alerts.models import Incident, Maintenance, Outage
from backend.cast import Member
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import FAILED
from backend.sites.models import Monitor, Site, SiteStatus
from backend.status.models import Wall
from backend.status.queries import Condition, WallSite, wall_sites
from backend.status.walls import SHOWN_FOR, organisation_of
from backend.web.tests.incidents import TITLE, make_incident
from backend.web.tests.world import World
from backend.web.wall import Shown, shown

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def site(name: str, condition: Condition | None = Condition.UP, *alerts: str, ago: timedelta | None = None) -> WallSite:
    """`alerts` are the severities of those that are open."""
    since = None if ago is None else AT - ago
    incidents = tuple(Incident(title=f"{name} is slow", severity=severity) for severity in alerts)
    return WallSite(name=name, condition=condition, since=since, alerts=incidents)


def drawn(*sites: WallSite) -> Shown:
    return shown("Acme", sites, AT)


def test_the_worst_comes_first_and_each_says_it_by_word_and_shape() -> None:
    wall = drawn(
        site("Paused", None),
        site("Up"),
        site("Planned", Condition.MAINTENANCE, ago=3 * MINUTE),
        site("Slow", Condition.UP, "warning"),
        site("Unknown", Condition.UNKNOWN),
        site("Partly", Condition.PARTLY, ago=90 * MINUTE),
        site("Expired", Condition.UP, "warning", "critical"),
        site("Down", Condition.DOWN, "critical", ago=12 * MINUTE),
    )

    told = [(tile.name, tile.word.mark, tile.word.text, tile.note) for tile in wall.tiles]
    assert told == [
        ("Expired", "✕", "Alert open", "Expired is slow"),
        ("Down", "✕", "Down", "for 12 min"),
        ("Slow", "!", "Alert open", "Slow is slow"),
        ("Unknown", "!", "Not measured now", ""),
        ("Partly", "!", "Down from some regions", "for 90 min"),
        ("Planned", "i", "Maintenance", "for 3 min"),
        ("Up", "✓", "Up", ""),
        ("Paused", "○", "Paused", ""),
    ]
    assert [(word.text, count) for word, count in wall.counts] == [
        ("in alarm", 2),
        ("to look at", 3),
        ("in maintenance", 1),
        ("up", 1),
    ]
    assert wall.at == "30 Nov 2026 12:00 UTC"


@pytest.mark.parametrize(("count", "size"), [(0, "few"), (12, "few"), (13, "some"), (40, "some"), (41, "many")])
def test_tiles_are_as_large_as_their_number_lets_them_be(count: int, size: str) -> None:
    assert drawn(*(site(f"Site {n}") for n in range(count))).size == size


@pytest.fixture
def at_the_time_of_its_runs() -> Iterator[None]:
    with time_machine.travel(NOW):
        yield


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_the_time_of_its_runs")]


def seen(world: World) -> WallSite:
    (found,) = wall_sites(world.member.organisation, now=NOW)
    return found


def outage(world: World, state: str, *, kind: str = "probe", ago: timedelta = 12 * MINUTE) -> None:
    Outage.objects.create(monitor=world.monitor(kind), state=state, began_at=NOW - ago, why="Refused.")


def measured(world: World) -> None:
    world.end(world.pending("probe", scheduled_for=NOW - MINUTE))


def test_a_single_failed_run_is_no_alarm(world: World) -> None:
    measured(world)
    world.end(world.pending("probe", scheduled_for=NOW - MINUTE / 2), FAILED)

    assert seen(world).condition is Condition.UP


def test_a_site_is_down_since_the_first_of_its_outages_that_go_on(world: World) -> None:
    measured(world)
    outage(world, "failing", ago=5 * MINUTE)
    outage(world, "failing", kind="page")
    Outage.objects.create(
        monitor=world.monitor("probe"), state="failing", began_at=NOW - 90 * MINUTE, ended_at=NOW - 80 * MINUTE
    )

    assert (seen(world).condition, seen(world).since) == (Condition.DOWN, NOW - 12 * MINUTE)


def test_what_is_down_for_one_monitor_outweighs_what_is_partly_so_for_another(world: World) -> None:
    measured(world)
    outage(world, "degraded", kind="page", ago=40 * MINUTE)
    assert (seen(world).condition, seen(world).since) == (Condition.PARTLY, NOW - 40 * MINUTE)
    outage(world, "failing")
    assert (seen(world).condition, seen(world).since) == (Condition.DOWN, NOW - 12 * MINUTE)


@pytest.mark.parametrize("everywhere", [True, False])
def test_what_is_planned_is_no_alarm(world: World, everywhere: bool) -> None:
    measured(world)
    outage(world, "failing")
    Maintenance.objects.create(
        organisation=world.member.organisation,
        site=None if everywhere else world.site,
        starts_at=NOW - 3 * MINUTE,
        ends_at=NOW + MINUTE,
    )

    assert (seen(world).condition, seen(world).since) == (Condition.MAINTENANCE, NOW - 3 * MINUTE)


def test_of_what_is_not_measured_it_says_whether_that_is_wanted(world: World) -> None:
    outage(world, "failing")
    assert (seen(world).condition, seen(world).since) == (Condition.UNKNOWN, None)
    Monitor.objects.update(paused=True)
    assert seen(world).condition is None
    Site.objects.update(status=SiteStatus.DRAFT)
    assert wall_sites(world.member.organisation, now=NOW) == ()


def test_a_wall_takes_the_same_statements_however_many_sites_there_are(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(2):
        with django_assert_num_queries(8):
            wall_sites(world.member.organisation, now=NOW)
        other = Site.objects.create(
            organisation=world.member.organisation, name="Other", url="https://o.example/", status=SiteStatus.ACTIVE
        )
        Monitor.objects.create(site=other, kind="probe", url=other.url, interval_s=60, timeout_s=10)


def made(client: Client) -> str:
    """The path of the link that a member makes, as the page shows it."""
    text = client.post(reverse("web:wall_show"), follow=True).content.decode()
    found = text.partition(f'readonly spellcheck="false" value="{settings.BASE_URL}')[2].partition('"')[0]
    assert found.startswith("/wall/")
    return found


def test_whoever_has_the_link_sees_the_wall_and_nothing_else(world: World, client: Client, charlie: Member) -> None:
    measured(world)
    make_incident(world)
    Site.objects.create(
        organisation=charlie.organisation, name="Theirs", url="https://x.example/", status=SiteStatus.ACTIVE
    )
    link, guest = made(client), Client()

    answer = guest.get(link)

    text = answer.content.decode()
    assert answer.status_code == 200
    assert TITLE in text
    assert "Shop</h2>" in text
    assert (answer.headers["X-Robots-Tag"], answer.headers["Cache-Control"]) == ("noindex", "no-store")
    hidden = (world.site.url, str(world.site.public_id), world.member.user.email, "Theirs", 'href="/sites', "csrf")
    for ours in hidden:
        assert ours not in text, ours
    assert guest.get(reverse("web:sites")).status_code == 302


def test_a_link_stays_until_it_is_taken_back_and_what_is_made_then_is_another(world: World, client: Client) -> None:
    first = made(client)
    assert made(client) == first
    client.post(reverse("web:wall_take_down"))
    assert Client().get(first).status_code == 404
    second = made(client)
    assert second != first
    assert (Client().get(first).status_code, Client().get(second).status_code) == (404, 200)
    acts = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert [act for act in acts if "wall" in act] == ["show_wall", "show_wall", "take_wall_down", "show_wall"]
    assert not any(link.split("/")[2] in str(entry.detail) for entry in AuditEntry.objects.all() for link in (first,))


def test_a_link_ends_with_its_time_and_is_not_made_anew_by_another_one(world: World, client: Client) -> None:
    link = made(client)
    with time_machine.travel(NOW + SHOWN_FOR - MINUTE):
        assert Client().get(link).status_code == 200
    with time_machine.travel(NOW + SHOWN_FOR + MINUTE):
        assert Client().get(link).status_code == 404
        client.force_login(world.member.user)
        assert made(client) != link
        assert Client().get(link).status_code == 404


def test_nothing_that_is_stored_opens_a_wall(world: World, client: Client) -> None:
    link = made(client).split("/")[2]
    public_id = Wall.objects.get().public_id
    for forged in (public_id.hex, str(public_id), f"{public_id.hex}.", link[:-1], f"{link}x", "x", "\x00"):
        assert organisation_of(forged) is None
    assert organisation_of(link) == world.member.organisation


def test_a_viewer_is_not_shown_the_link(world: World, client: Client, vera: Member) -> None:
    link = made(client)
    client.force_login(vera.user)
    text = client.get(reverse("web:status_pages")).content.decode()
    assert link not in text
    assert "Take the link back" not in text
    assert Wall.objects.get().expires_at > timezone.now()
