from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.compare.actions import look_at_hosts
from backend.compare.tests.world import World
from backend.faults import InvalidError
from backend.runs.queries import host_costs
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import CERTIFICATE, FAILED, page
from backend.sites import hosts, queries
from backend.sites.hosts import choose_role, foretell_role
from backend.sites.models import Host, HostRole

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def load(world: World, minutes: float = 1) -> None:
    """A page load comes in: 12 requests over host-0.example, host-1.example and host-2.example."""
    world.measure(world.monitor("page"), page(12), minutes=minutes)


def roles(world: World) -> dict[str, str]:
    return {host.name: host.role.value for host in queries.hosts(world.site)}


def test_a_page_load_tells_which_hosts_there_are_and_what_they_seem_to_be(world: World) -> None:
    world.measure(world.monitor("page"), FAILED, minutes=2)
    assert look_at_hosts(site=world.site, now=NOW) == 0
    load(world)
    assert look_at_hosts(site=world.site, now=NOW) == 3
    # The document's own host, to which the site's address may redirect, is the origin.
    assert sorted(roles(world).values()) == ["origin", "third_party", "third_party"]
    assert all(host.evidence for host in queries.hosts(world.site))


def test_what_the_owner_says_wins_and_stays(world: World, bob: Member) -> None:
    load(world)
    look_at_hosts(site=world.site, now=NOW)
    host = Host.objects.select_related("site__organisation").get(name="host-2.example")
    choose_role(actor=bob.user, host=host, role=HostRole.CDN)
    look_at_hosts(site=world.site, now=NOW + DAY)
    host.refresh_from_db()
    assert (host.role, host.proposed, host.chosen_by) == (HostRole.CDN, HostRole.THIRD_PARTY, bob.user)
    assert host.last_seen_at == NOW + DAY
    assert AuditEntry.objects.get(action="choose_host_role").detail["after"] == "cdn"
    host = choose_role(actor=bob.user, host=host, role=None)
    assert (host.role, host.chosen_by) == (HostRole.THIRD_PARTY, None)


def test_a_host_is_forgotten_when_no_page_that_is_kept_asked_for_it_unless_the_owner_spoke(
    world: World, bob: Member, settings: Settings
) -> None:
    settings.RETENTION_DAYS = 90
    load(world)
    for name, chosen, days in (("seldom.example", None, 89), ("old.example", None, 91), ("kept.example", "origin", 91)):
        past = NOW - days * DAY
        Host.objects.create(
            site=world.site, name=name, proposed="own", chosen=chosen, first_seen_at=past, last_seen_at=past
        )
    look_at_hosts(site=world.site, now=NOW)
    assert {"seldom.example", "kept.example"} < roles(world).keys()
    assert "old.example" not in roles(world)


def test_a_host_that_was_spoken_of_before_is_seen_from_its_first_page_on(world: World, bob: Member) -> None:
    foretold = [
        foretell_role(actor=bob.user, site=world.site, name=name, role=HostRole.CDN)
        for name in ("host-2.example", "later.example", "never.example")
    ]
    assert [(host.role, host.first_seen_at) for host in foretold] == [(HostRole.CDN, None)] * 3
    choose_role(actor=bob.user, host=foretold[2], role=None)
    load(world)
    look_at_hosts(site=world.site, now=NOW)
    seen = {host.name: (host.role, host.first_seen_at, host.last_seen_at) for host in queries.hosts(world.site)}
    assert seen["host-2.example"] == (HostRole.CDN, NOW, NOW)
    assert seen["later.example"] == (HostRole.CDN, None, None)
    assert "never.example" not in seen
    look_at_hosts(site=world.site, now=NOW + DAY)
    assert Host.objects.get(name="host-2.example").first_seen_at == NOW


def test_no_more_hosts_are_spoken_of_before_than_a_person_keeps_in_view(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "MAX_CHOSEN", 1)
    foretell_role(actor=None, site=world.site, name="one.example", role=HostRole.CDN)
    with pytest.raises(InvalidError, match=r"1 hosts of this site have a role that somebody chose\."):
        foretell_role(actor=None, site=world.site, name="two.example", role=HostRole.CDN)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CDN.Shop.example", "cdn.shop.example"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("2001:DB8::1", "2001:db8::1"),
        ("192.0.2.1", "192.0.2.1"),
    ],
)
def test_hosts_are_known_by_the_name_that_pages_ask_for(text: str, name: str) -> None:
    assert hosts.canonical_host(text) == name


@pytest.mark.parametrize(
    "text",
    [
        *("https://shop.example", "shop.example/", "shop.example?a", "shop.example#a", "shop.example:443"),
        *("me@shop.example", "", "[::1]", "a b.example", "*.shop.example", "::x", "a\\b"),
    ],
)
def test_what_is_no_name_of_a_host_is_refused(text: str) -> None:
    with pytest.raises(InvalidError, match="The name of a host is such as"):
        hosts.canonical_host(text)


def test_costs_are_medians_of_connections_and_counts_of_the_period(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for minutes in (1, 2, 60 * 48):
        load(world, minutes)
    monitor = world.monitor("page")
    with django_assert_num_queries(1):
        costs = {one.host: one for one in host_costs(monitor, world.regions, NOW - DAY)}
    one = costs["host-1.example"]
    assert set(costs) == {"host-0.example", "host-1.example", "host-2.example"}
    assert (one.loads, one.connections, one.requests, one.bytes_a_load) == (2, 2, 2, 48_000)
    assert (one.dns_us, one.connect_us, one.tls_us) == (8_000, 20_000, 34_000)
    assert (one.protocol, one.tls_version) == ("h2", "TLSv1.3")
    assert one.certificate_not_after == CERTIFICATE.not_after
    assert (one.used, one.reused_share) == (2, 0.0)
    assert host_costs(monitor, [], NOW - DAY) == []
