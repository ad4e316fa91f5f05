"""What hosts are to a site, as a file declares it."""

import pytest
from django.utils import timezone

from backend.accounts.models import AuditEntry
from backend.api.tests.v1.calling import Program, make_token
from backend.api.tests.v1.test_declarations import Document, exported, faults, fields, site_in, told
from backend.api.tests.v1.world import World, make_world
from backend.cast import Member
from backend.sites.hosts import ProposedRole, propose_roles
from backend.sites.models import Host, HostRole

pytestmark = pytest.mark.django_db


def declared(world: World, **roles: str) -> Document:
    """Of the site, `cdn="own"` is the host cdn.example that shall be the site's own."""
    hosts = [{"name": f"{name}.example", "role": role} for name, role in roles.items()]
    return {"sites": [{"name": world.site.name, "url": world.site.url, "hosts": hosts}]}


def see(world: World, *names: str) -> None:
    proposals = [ProposedRole(name=f"{name}.example", role=HostRole.THIRD_PARTY, evidence=()) for name in names]
    propose_roles(site=world.site, proposals=proposals, now=timezone.now())


def roles(world: World) -> dict[str, str | None]:
    return {host.name: host.chosen for host in Host.objects.filter(site=world.site)}


def test_hosts_have_the_roles_that_are_declared_whether_a_page_asked_for_them_or_not(
    program: Program, world: World
) -> None:
    see(world, "seen", "other")
    made = told(program.post("declaration/apply", declared(world, seen="cdn", later="own")))
    assert made == [("create", "host", world.site.name, name) for name in ("seen.example", "later.example")]
    assert roles(world) == {"seen.example": "cdn", "later.example": "own", "other.example": None}
    assert AuditEntry.objects.filter(action="choose_host_role", actor=world.member.user).count() == 2
    later = program.get(f"sites/{world.site.public_id}/hosts").json()["items"][0]
    assert (later["role"], later["proposed"], later["first_seen_at"]) == ("own", "third_party", None)
    assert told(program.post("declaration/apply", declared(world, later="own", seen="cdn"))) == []


def test_another_role_is_told_as_such(program: Program, world: World) -> None:
    program.post("declaration/apply", declared(world, seen="cdn"))
    answer = program.post("declaration/plan", declared(world, SEEN="third_party"))
    assert fields(answer) == {"role": ("cdn", "third_party")}
    assert roles(world) == {"seen.example": "cdn"}


def test_a_role_that_a_written_list_does_not_name_goes_back_to_what_is_proposed_where_that_is_allowed(
    program: Program, world: World
) -> None:
    see(world, "seen")
    program.post("declaration/apply", declared(world, seen="cdn"))
    assert told(program.post("declaration/apply", declared(world)))[0][0] == "keep"
    assert roles(world) == {"seen.example": "cdn"}
    assert told(program.post("declaration/apply?delete=true", declared(world)))[0][0] == "delete"
    assert roles(world) == {"seen.example": None}
    assert told(program.post("declaration/apply?delete=true", declared(world))) == []


def test_an_export_makes_the_same_elsewhere(program: Program, world: World, charlie: Member) -> None:
    hosts = [{"name": "b.example", "role": "own"}]
    program.post("declaration/apply", {"sites": [{"name": "New", "url": "https://new.example/", "hosts": hosts}]})
    document = exported(program)
    assert site_in(document, "New")["hosts"] == hosts
    assert told(program.post("declaration/plan?delete=true", document)) == []
    make_world(charlie, code="eu-2")
    other = Program(make_token(charlie))
    other.post("declaration/apply", document)
    assert site_in(exported(other), "New") == site_in(document, "New")


def test_a_host_that_pages_ask_for_by_an_odd_name_is_known_by_that(program: Program, world: World) -> None:
    """Nobody types a dot behind the last label or a hyphen before the first, but pages have such addresses."""
    see(world, "-cdn")
    odd = [ProposedRole(name="cdn.example.", role=HostRole.THIRD_PARTY, evidence=())]
    propose_roles(site=world.site, proposals=odd, now=timezone.now())
    Host.objects.filter(site=world.site).update(chosen=HostRole.CDN)
    document = exported(program)
    assert [host["name"] for host in site_in(document, world.site.name)["hosts"]] == ["-cdn.example", "cdn.example."]
    assert told(program.post("declaration/plan?delete=true", document)) == []


def test_what_a_pair_says_of_its_hosts_gives_way_to_what_is_declared(program: Program, world: World) -> None:
    see(world, "cdn")
    pair = {"name": "Script", "cdn_url": "https://cdn.example/app.js", "origin": "www.example"}
    document = declared(world, cdn="own")
    document["sites"][0]["pairs"] = [pair]
    program.post("declaration/apply", document)
    assert roles(world) == {"cdn.example": "own"}
    assert told(program.post("declaration/apply", document)) == []


def test_what_cannot_be_is_refused_at_its_place(program: Program, world: World) -> None:
    wrong = declared(world, a="cdn", A="own")
    wrong["sites"][0]["hosts"].append({"name": "https://b.example/", "role": "cdn"})
    found = faults(program.post("declaration/apply", wrong))
    assert found["#/sites/0/hosts/1/name"] == "a.example is named twice."
    assert found["#/sites/0/hosts/2/name"].startswith("The name of a host is such as cdn.shop.example")
    assert roles(world) == {}
