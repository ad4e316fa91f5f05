from dataclasses import replace

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from backend.accounts.models import AuditEntry
from backend.cast import Member
from backend.compare import actions, queries
from backend.compare.models import Pairing, StoredVerdict
from backend.compare.pairings import InvalidPairingError, PairingDraft
from backend.compare.tests.world import World
from backend.runs.models import Schedule
from backend.runs.tests.results import page
from backend.sites import hosts
from backend.sites.models import Host, HostRole, Monitor
from backend.tests.side_by_side import both_having_read

pytestmark = pytest.mark.django_db
DRAFT = PairingDraft(cdn_url="https://host-1.example/assets/2.js", origin="host-0.example")


@pytest.fixture
def pairing(world: World) -> Pairing:
    return actions.create_pairing(actor=world.member.user, site=world.site, draft=DRAFT)


def test_a_pairing_owns_a_pair_monitor_that_is_scheduled(world: World, pairing: Pairing) -> None:
    monitor = pairing.monitor
    assert (pairing.name, monitor.kind, monitor.interval_s) == ("/assets/2.js", "pair", 300)
    assert (monitor.url, pairing.other.url, pairing.other.address) == (
        "https://host-1.example/assets/2.js",
        "https://host-0.example/assets/2.js",
        None,
    )
    assert Schedule.objects.filter(monitor=monitor).count() == len(world.regions)
    entry = AuditEntry.objects.get(action="create_pairing")
    assert (entry.actor, entry.detail["origin"]) == (world.member.user, "host-0.example")


def test_two_of_one_name_get_a_number(world: World, pairing: Pairing) -> None:
    second = actions.create_pairing(actor=None, site=world.site, draft=replace(DRAFT, origin="other.example"))
    assert second.name == "/assets/2.js 2"


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"cdn_url": "nonsense://x"}, ["cdn_url"]),
        ({"cdn_url": "http://10.0.0.1/a.js"}, ["cdn_url"]),
        ({"origin": ""}, ["origin"]),
        ({"origin": "x" * 3_000}, ["origin"]),
        ({"origin": "192.168.0.1"}, ["origin"]),
        ({"name": "two\nlines"}, ["name"]),
        ({"name": "x" * 101}, ["name"]),
        ({"interval_s": 5}, ["interval_s"]),
        ({"cdn_url": "", "origin": "", "name": "\0"}, ["name", "cdn_url", "origin"]),
    ],
)
def test_each_fault_is_at_its_field_and_nothing_is_made(
    world: World, changes: dict[str, str], fields: list[str]
) -> None:
    with pytest.raises(InvalidPairingError) as caught:
        actions.create_pairing(actor=None, site=world.site, draft=replace(DRAFT, **changes))  # type: ignore[arg-type]  # some are numbers
    assert list(caught.value.faults) == fields
    assert not Pairing.objects.exists()
    assert not Monitor.objects.filter(kind="pair").exists()


def test_another_address_on_a_leg_is_another_comparison_another_name_is_not(world: World, pairing: Pairing) -> None:
    began = pairing.compared_from
    now = timezone.now()
    StoredVerdict.objects.create(
        pairing=pairing, verdict="cdn_faster", since=now, judged_at=now, pairs=20, sentence="The CDN is faster."
    )
    renamed = replace(DRAFT, name="Script", interval_s=60)
    pairing = actions.change_pairing(actor=None, pairing=pairing, draft=renamed)
    assert (pairing.name, pairing.monitor.interval_s, pairing.compared_from) == ("Script", 60, began)
    assert StoredVerdict.objects.exists()
    moved = actions.change_pairing(actor=None, pairing=pairing, draft=replace(renamed, origin="198.51.101.7"))
    assert moved.compared_from > began
    assert (moved.other.url, moved.other.address) == (DRAFT.cdn_url, "198.51.101.7")
    assert not StoredVerdict.objects.exists()
    with pytest.raises(InvalidPairingError):
        actions.change_pairing(actor=None, pairing=pairing, draft=replace(renamed, origin="10.0.0.1"))
    moved.refresh_from_db()
    assert moved.origin == "198.51.101.7"


def test_deleting_a_pairing_ends_its_monitor(world: World, pairing: Pairing) -> None:
    actions.delete_pairing(actor=world.member.user, pairing=pairing)
    assert not Pairing.objects.exists()
    assert not Schedule.objects.filter(kind="pair").exists()
    assert world.site.monitors.count() == 2


def test_who_names_cdn_and_origin_says_what_these_hosts_are(world: World) -> None:
    now = timezone.now()
    for name, role in (("host-0.example", "cdn"), ("host-1.example", "third_party"), ("host-2.example", "own")):
        Host.objects.create(site=world.site, name=name, proposed=role, first_seen_at=now, last_seen_at=now)
    kept = Host.objects.select_related("site__organisation").get(name="host-0.example")
    hosts.choose_role(actor=world.member.user, host=kept, role=HostRole.OWN)
    actions.create_pairing(actor=world.member.user, site=world.site, draft=DRAFT)
    roles = {host.name: host.role for host in Host.objects.all()}
    assert roles == {
        "host-0.example": HostRole.OWN,
        "host-1.example": HostRole.CDN,
        "host-2.example": HostRole.OWN,
    }


def test_pairs_are_proposed_from_the_newest_page_load(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    world.measure(world.monitor("page"), page(12))
    actions.look_at_hosts(site=world.site, now=timezone.now())
    host = Host.objects.select_related("site__organisation").get(name="host-2.example")
    hosts.choose_role(actor=None, host=host, role=HostRole.CDN)
    with django_assert_num_queries(5):
        found = queries.proposed_pairs(world.site)
    assert {one.cdn_url for one in found} <= {f"https://host-2.example/assets/{n}.js" for n in range(1, 13)}
    assert {one.origin for one in found} == {"https://host-1.example"}
    draft = PairingDraft(cdn_url=found[0].cdn_url, origin=found[0].origin or "")
    actions.create_pairing(actor=None, site=world.site, draft=draft)
    assert found[0].cdn_url not in {one.cdn_url for one in queries.proposed_pairs(world.site)}


def test_pairings_are_found_within_their_organisation(
    world: World, pairing: Pairing, charlie: Member, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(2):
        (found,) = queries.pairings(world.site)
        assert list(found.verdicts.all()) == []
        assert found.site.organisation == world.member.organisation
    with django_assert_num_queries(2):
        assert queries.pairing(world.member.organisation, pairing.public_id) == pairing
    assert queries.pairing(charlie.organisation, pairing.public_id) is None


@pytest.mark.django_db(transaction=True)
def test_two_that_are_made_at_once_get_names_of_their_own(world: World) -> None:
    def make(_: int) -> None:
        actions.create_pairing(actor=None, site=world.site, draft=DRAFT)

    assert both_having_read('SELECT "compare_pairing"."name"', make) == []
    names = sorted(Pairing.objects.values_list("name", flat=True))
    assert names[1] == f"{names[0]} 2"
