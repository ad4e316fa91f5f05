from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.compare.actions import look_at_hosts
from backend.compare.tests.world import World
from backend.runs.queries import host_costs
from backend.runs.tests.factories import NOW
from backend.runs.tests.results import CERTIFICATE, FAILED, page
from backend.sites import queries
from backend.sites.hosts import choose_role
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
