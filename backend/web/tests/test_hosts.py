"""Who costs what, as people see it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from backend.cast import Member
from backend.compare.actions import look_at_hosts
from backend.runs.queries import HostCosts
from backend.runs.tests.factories import NOW
from backend.sites.models import Host
from backend.web.hosts import hosts_of
from backend.web.tests import measurements
from backend.web.tests.world import World
from workers.measurement.messages import Measured

pytestmark = pytest.mark.django_db


def load(world: World) -> None:
    pending = world.pending("page")
    world.end(pending, Measured(measurement=measurements.page(40)))
    look_at_hosts(site=world.site, now=NOW)


def page(client: Client, world: World, query: str = "") -> str:
    response = client.get(reverse("web:hosts", args=[world.site.public_id]) + query)
    assert response.status_code == 200
    return response.content.decode()


def test_before_the_first_page_load_it_says_where_hosts_come_from(client: Client, world: World) -> None:
    assert "No host is known yet" in page(client, world)


def test_each_host_has_its_role_the_reasons_and_its_costs(client: Client, world: World) -> None:
    load(world)
    text = page(client, world)
    assert "4 hosts make this page: 1 origin, 1 CDN, 1 host of your own and 1 third party" in text
    assert "“cdn” in its name is usual for a CDN (weak)." in text
    assert "Its name does not belong to the site&#x27;s domain shop.example." in text
    assert "30 ms" in text
    assert "h2" in text
    assert "No page load spoke to it" not in text


def test_a_member_corrects_a_role_and_takes_it_back(client: Client, world: World, bob: Member) -> None:
    load(world)
    client.force_login(bob.user)
    address = reverse("web:host_role", args=[world.site.public_id])
    response = client.post(address, {"host": "img.shop.example", "role": "cdn"}, follow=True)
    text = response.content.decode()
    assert "img.shop.example is CDN from now on." in text
    assert "2 CDNs" in text
    assert "said by Bob" in text
    client.post(address, {"host": "img.shop.example", "role": ""})
    assert Host.objects.get(name="img.shop.example").chosen is None


def test_nonsense_is_not_found_and_a_viewer_may_not_correct(client: Client, world: World, vera: Member) -> None:
    load(world)
    address = reverse("web:host_role", args=[world.site.public_id])
    assert client.post(address, {"host": "img.shop.example", "role": "boss"}).status_code == 404
    assert client.post(address, {"host": "other.example", "role": "cdn"}).status_code == 404
    assert client.post(address, {"host": "img.shop.example\x00", "role": "cdn"}).status_code == 404
    client.force_login(vera.user)
    assert client.post(address, {"host": "img.shop.example", "role": "cdn"}).status_code == 403
    assert "Correct" not in page(client, world)


def test_another_organisation_does_not_find_them(client: Client, world: World, charlie: Member) -> None:
    load(world)
    client.force_login(charlie.user)
    assert client.get(reverse("web:hosts", args=[world.site.public_id])).status_code == 404
    address = reverse("web:host_role", args=[world.site.public_id])
    assert client.post(address, {"host": "img.shop.example", "role": "cdn"}).status_code == 404
    assert Host.objects.get(name="img.shop.example").chosen is None


def host(name: str, proposed: str) -> Host:
    return Host(name=name, proposed=proposed, first_seen_at=NOW, last_seen_at=NOW)


def costs(host: str, **changes: object) -> HostCosts:
    usual: dict[str, object] = dict.fromkeys(HostCosts.__slots__)
    counts = {"loads": 1, "connections": 1, "used": 1, "requests": 4, "bytes": 100}
    usual |= {"host": host, **counts}
    return HostCosts(**(usual | changes))  # type: ignore[arg-type]  # keyword by keyword is what a test wants


@pytest.mark.parametrize(("days", "sentence"), [(9, "ends in 9 days."), (1, "ends in 1 day."), (-2, "has expired.")])
def test_a_certificate_that_ends_soon_is_said_first(days: int, sentence: str) -> None:
    cdn = host("cdn.shop.example", "cdn")
    not_after = NOW + timedelta(days=days, hours=1)
    hosts = hosts_of([cdn], [costs("cdn.shop.example", certificate_not_after=not_after)], NOW)
    assert hosts.verdict.level == "warn"
    ending = f"The certificate of cdn.shop.example {sentence}"
    assert hosts.reason == f"{ending} cdn.shop.example sends 100 % of the bytes received, TLS included."
    assert hosts.rows[0].reused_percent == 75


@pytest.mark.parametrize(("days", "level"), [(5, "info"), (1.4, "warn")])
def test_a_certificate_that_lives_for_six_days_ends_soon_once_its_renewal_is_late(days: float, level: str) -> None:
    cdn, ends = host("cdn.shop.example", "cdn"), NOW + timedelta(days=days)
    life = {"certificate_not_before": ends - timedelta(days=6), "certificate_not_after": ends}
    hosts = hosts_of([cdn], [costs("cdn.shop.example", **life)], NOW)
    assert (hosts.verdict.level, hosts.rows[0].certificate_ends) == (level, level == "warn")


def test_connections_that_carried_nothing_take_no_request_from_those_that_found_one_open() -> None:
    cdn = host("cdn.shop.example", "cdn")
    hosts = hosts_of([cdn], [costs("cdn.shop.example", connections=6, used=1, requests=9)], NOW)
    assert hosts.rows[0].reused_percent == 89


def test_a_host_of_few_loads_sends_no_more_than_it_sent_in_all_of_them() -> None:
    hosts = [host("shop.example", "origin"), host("ads.example", "third_party")]
    often, rarely = costs("shop.example", loads=10, bytes=9_000), costs("ads.example", loads=1, bytes=1_000)
    told = hosts_of(hosts, [often, rarely], NOW)
    assert told.reason == "shop.example sends 90 % of the bytes received, TLS included."


def test_hosts_nobody_spoke_to_in_the_period_are_still_listed() -> None:
    hosts = hosts_of([host("old.example", "own")], [], NOW)
    assert hosts.verdict.text == "1 host makes this page: 1 host of your own"
    assert hosts.rows[0].costs is None


def test_hosts_that_no_page_has_asked_for_yet_make_no_page() -> None:
    said = Host(name="cdn.shop.example", proposed="third_party", chosen="cdn")
    assert hosts_of([said], [], NOW).verdict.text == "No page has asked for any of these yet"
    both = hosts_of([said, host("shop.example", "origin")], [], NOW)
    assert both.verdict.text == "1 host makes this page: 1 origin"
    assert [row.role for row in both.rows] == ["origin", "cdn"]
